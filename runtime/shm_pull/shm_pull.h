// SPDX-License-Identifier: Apache-2.0
// ShmPull: carries out a PullPlan over a MailboxTable. Each rank posts its Input and folds what it needs of
// the others' Inputs directly into its Output: a round costs one write that all see and one read from each
// peer. Every post carries the call's Signature, which readers compare with their own before they use a byte,
// and a hash of the previous ones, since a rank may have made calls in which it heard from no peer. Used by
// the thread that makes the calls.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "exec/task.h"
#include "host_segment.h"
#include "mailbox_table.h"
#include "pull_call.h"

namespace rondo {

class ShmPull final : public Task {
 public:
  /// The first call sets up the shared memory.
  explicit ShmPull(const MembershipPtr& membership);

  /// Starts a call; both arguments must stay valid until it ends.
  void start(const PullCall& call, const Signature& signature) {
    call_ = &call;
    signature_ = &signature;
    if (has_table_) begin();
  }

  Progress advance() override;
  void poll_briefly() const override;
  Status status() const override { return failure_; }
  int blocked_on() const override { return has_table_ ? blocked_on_ : memory_.blocked_on(); }
  Awaited awaited() override;
  bool may_block_others(bool oversubscribed) override;
  /// Mismatch that names a peer's post that differs from this rank's call.
  Status connection_status() const override { return has_table_ ? find_disagreement() : Status(); }

  /// After the last call: Mismatch that names a call that a peer has posted and this rank never made, or made
  /// differently.
  Status check_nothing_left() const;

 private:
  Result<bool> find_table();
  void begin();
  int next_slot(const PullCall& call);
  bool may_post();
  bool is_done_with(int peer, uint64_t round);
  void post();
  void post_rest(Mailbox& post, std::byte* to, size_t end);
  void publish(Mailbox& post, size_t bytes);
  std::byte* posted(int rank, int slot) const {
    return call_->place == 0 ? table_.bulk(rank, slot)
                             : reinterpret_cast<std::byte*>(&table_.post(rank, slot)) + call_->place;
  }
  void fetch_to_post(int slot) const;
  void fetch_to_post_mutual() const;
  void touch_bulk();
  void touch(int first, int end, size_t bytes, size_t& touched);
  void put(std::byte* to, size_t offset, size_t bytes) const;
  bool read_mailboxes();
  void fold_reads(size_t end);
  bool read_pieces();
  bool read_next();
  bool has_arrived(int peer, size_t from, size_t end);
  bool hear(int peer, const Mailbox& post);
  void refuse(int peer, const Mailbox& post);
  void fold_piece(const PullCall::PullOperand& read, size_t offset, size_t bytes);
  void end_round();
  void note_cpu();
  uint64_t whole_round(uint64_t ready) const;
  Status find_disagreement() const;
  template <typename Judge>
  Status find_post(const Judge& judge) const;

  static constexpr size_t kRemembered = 2 * MailboxTable::kShortSlots;  // rounds
  Signature& signature_of(uint64_t round) { return recent_[round % kRemembered]; }
  const Signature& signature_of(uint64_t round) const { return recent_[round % kRemembered]; }

  HostSegment memory_;
  MailboxTable table_;  // in memory_, if has_table_
  bool has_table_ = false;
  int self_;
  std::vector<uint64_t> done_;                 // by rank: rounds that it is known to have completed
  std::vector<uint64_t> heard_;                // by rank: the last round in which its post was checked
  std::vector<const void*> operands_;          // of the current fold
  uint64_t all_done_ = 0;                      // rounds that all peers had completed at this rank's last post
  uint64_t used_[MailboxTable::kSlots] = {};   // the round in which this rank posted there
  std::array<Signature, kRemembered> recent_;  // by round
  uint64_t history_ = 0;
  uint64_t round_ = 0;
  uint64_t mutual_rounds_ = 0;
  uint64_t long_rounds_ = 0;
  uint64_t short_rounds_ = 0;
  uint32_t cpu_ = 0;  // this rank's, as in the table

  const PullCall* call_ = nullptr;
  const Signature* signature_ = nullptr;  // of that call
  int slot_ = 0;
  bool has_posted_ = false;
  bool has_moved_ = false;  // in this advance()
  size_t touched_short_bytes_ = 0;
  size_t touched_long_bytes_ = 0;
  size_t read_ = 0;     // index of the current read
  size_t offset_ = 0;   // bytes of it done
  size_t arrived_ = 0;  // peers that have posted, as far as read_mailboxes() has looked
  int blocked_on_ = -1;
  uint64_t seen_ = 0;                  // `ready` in that rank's post
  const std::byte* wanted_ = nullptr;  // its awaited bytes
  Status failure_;
};

}  // namespace rondo
