// SPDX-License-Identifier: Apache-2.0
// IpcHandleExchange: gives a rank's GPU access to its peers' staging, in any process of the host. Each pair
// of ranks has a socket, over which both first offer their own memory and then report whether they could open
// the others'; so all ranks reach the same result. Used by the thread that makes calls; nothing here waits.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/handle_exchange.h"
#include "base/shared_segment.h"
#include "bootstrap/membership.h"
#include "exec/task.h"
#include "gpu/offered_memory.h"
#include "gpu/shared_memory.h"
#include "staging.h"
#include "window_table.h"

namespace rondo {

/// The result: a rank's mappings of all ranks' memory.
struct PeerMappings {
  StagingGeometry geometry;
  bool on_host = false;             // staging is in host memory
  std::vector<std::byte*> staging;  // by rank; addresses for this rank's device
  WordTable words;                  // at its address for this rank's device
  WordTable host_words;             // the same, at its host address
  WindowTable window_table;         // after the words; not mapped on any device

  // Owners of the memory above.
  std::vector<gpu::OfferedMemory> staging_memory;
  SharedSegment words_memory;                    // with the window table
  gpu::HostWindow words_window;                  // onto words_memory; destroyed before it
  std::shared_ptr<const void> exported_windows;  // set if peers still have one open
};

class IpcHandleExchange final : public Task {
 public:
  /// `staging_bytes`: per rank, the same at all ranks.
  IpcHandleExchange(MembershipPtr membership, size_t staging_bytes)
      : membership_(std::move(membership)), staging_bytes_(staging_bytes) {}

  Progress advance() override;
  Status status() const override { return failure_; }
  /// Whether all ranks failed alike, before anything was done.
  bool refused() const override { return failure_.code() == Code::Unsupported; }
  int blocked_on() const override;
  void abandon() override { exchanges_.clear(); }

  /// The result, once Done.
  std::unique_ptr<PeerMappings> take() { return std::move(made_); }

 private:
  enum class ExchangeStage { Offer, HearOffers, HearVerdicts };
  struct Offer;

  int self() const { return membership_->rank(); }
  int size() const { return membership_->size(); }
  Result<bool> step();
  Result<bool> find_sockets();
  Status make_own();
  Status make_staging();
  Status make_words();
  Status offer();
  Result<bool> hear_offers();
  Status believe(int rank, const Offer& offer, std::vector<Fd> attached);
  Status judge();
  Result<bool> hear_verdicts();
  Result<bool> conclude();
  void keep(int rank, gpu::OfferedMemory staging);
  void keep_words(SharedSegment segment);
  bool all_heard() const { return static_cast<int>(heard_.size()) + 1 == size(); }

  const MembershipPtr membership_;
  const size_t staging_bytes_;
  ExchangeStage stage_ = ExchangeStage::Offer;
  bool on_host_ = false;                     // second attempt, with staging in host memory
  std::map<int, HandleExchange> exchanges_;  // by rank
  std::map<int, std::string> heard_;         // objections heard in this stage, by rank; "": none
  std::unique_ptr<PeerMappings> made_;
  Fd staging_fd_;
  Fd words_fd_;
  size_t staging_size_ = 0;  // of this rank's staging, rounded up to allocation granularity
  std::string objection_;    // why this rank cannot share memory; "": it can
  Status failure_;
};

}  // namespace rondo
