// SPDX-License-Identifier: Apache-2.0
// PathAttempt: a queue pair and slots on one path between two ports. A path is proved before it is believed:
// each end sends a short message and one of the path's MTU, and waits a second or more for those of the
// other. Used by the thread that connects.
#pragma once

#include <limits>
#include <string>

#include "verbs/conversation.h"
#include "verbs/pair_set.h"
#include "verbs/terms.h"

namespace rondo::verbs {

class PathAttempt {
 public:
  /// In INIT: receives are posted, so the peer may send as soon as it knows contact(). `others`: of the same
  /// connection, with which pairs of their device share slots.
  static Result<std::unique_ptr<PathAttempt>> make(const std::shared_ptr<Devices>& devices,
                                                   const VerbsPort& own, const VerbsTerms& terms,
                                                   const ConnectionPages& pages,
                                                   const std::vector<PairEnd>& others = {});

  const PairContact& contact() const { return contact_; }
  /// The kernel may take a second to resolve an address. `own`: this end's address on the path.
  Status connect(const Path& path, const PairContact& peer, const ReadBack::OwnAddress& own = {});

  struct ProofResult {
    std::string failure;    // empty: the path carries messages of its MTU
    uint32_t too_long = 0;  // the bytes of messages that fail while short ones pass
  };
  /// Sends and awaits the messages, and tells the peer what came of it; the outcome is the same at both ends.
  /// `connected`: of connect(). A failure is one of the whole connection.
  Result<ProofResult> prove(Conversation& conversation, const Status& connected);

  PairEnd take_end() { return std::move(end_); }

 private:
  enum Message : uint32_t { kShort, kFull, kMessages };
  explicit PathAttempt(const VerbsTerms& terms) : terms_(terms) {}
  Status find_slots(const std::shared_ptr<Domain>& domain, const ConnectionPages& pages,
                    const std::vector<PairEnd>& others);
  Status prepare(const std::shared_ptr<Domain>& domain, const VerbsPort& port);
  void tell_ece(const ibv_ece& ece);
  uint32_t length(Message message) const;
  Status post(Message message);
  Status exchange(Conversation& conversation);
  int64_t proof_ms() const;
  Status await_progress(Conversation& conversation);
  bool advance();
  void take(const ibv_wc& completion);
  void fail(const Status& status) {
    if (failure_.ok()) failure_ = status;
  }
  bool is_proved() const { return sent_ == kMessages && arrived_ == kMessages; }

  const VerbsTerms terms_;
  PairEnd end_;
  PairContact contact_;
  std::shared_ptr<Domain> domain_;
  uint16_t pkey_index_ = 0;
  uint32_t mtu_ = 0;
  Status failure_;     // of the path
  uint32_t sent_ = 0;  // and acknowledged
  uint32_t arrived_ = 0;
  std::optional<PathVerdict> peers_;  // once it has come
  /// Begins with the own first message: the peer's kernel may take long until it can send or receive.
  Deadline deadline_ = Deadline::in_ms(std::numeric_limits<int64_t>::max());
};

}  // namespace rondo::verbs
