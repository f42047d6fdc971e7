// Introduction: how a rank's GPU gets to reach what its peers stage, in whatever process of the host they
// are. Each pair of ranks has a socket for it, over which both say what they have and then whether they could
// open what the others have; so all come to the same end. Used by the thread that makes the calls; nothing
// here waits.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_segment.h"
#include "comm/health.h"
#include "comm/session.h"
#include "comm/staging.h"
#include "comm/window_table.h"
#include "exec/task.h"
#include "gpu/shared_memory.h"

namespace rondo {

/// What a rank has of all ranks in the end.
struct Neighbourhood {
  StagingGeometry geometry;
  bool on_host = false;             // staging lies in memory of the host
  std::vector<std::byte*> staging;  // by rank, as the own device sees it
  WordTable words;                  // as the own device sees them
  WordTable host_words;             // as the host does
  WindowTable window_table;         // behind the words; no device sees it

  // What keeps all of this there.
  std::vector<gpu::SharedMemory> device_memory;
  std::vector<SharedSegment> host_memory;
  std::vector<gpu::HostWindow> windows;     // onto host_memory; go first
  std::shared_ptr<const void> own_windows;  // where peers still have one open
};

class Introduction final : public Task {
 public:
  struct Parties {
    std::shared_ptr<Session> session;
    uint64_t communicator = 0;
    std::vector<int> ranks;  // of the session, by the communicator's ranks
    int self = 0;
    int device = 0;
    std::shared_ptr<Health> health;
    int64_t timeout_ms = 0;
    size_t staging_bytes = 0;
  };
  explicit Introduction(Parties parties);

  Progress advance() override;
  Status status() const override { return failure_; }
  /// All ranks fail alike, before anything was done.
  bool refused() const override { return failure_.code() == Code::Unsupported; }
  int blocked_on() const override;
  void abandon() override { sockets_.clear(); }

  /// Once it is Done.
  std::unique_ptr<Neighbourhood> take() { return std::move(made_); }

 private:
  enum class Stage { Offer, HearOffers, HearVerdicts };
  struct Offer;
  struct Verdict;

  int size() const { return static_cast<int>(parties_.ranks.size()); }
  const Member& member(int rank) const {
    return parties_.session->member(parties_.ranks[static_cast<size_t>(rank)]);
  }
  Result<bool> step();
  Result<bool> find_sockets();
  Status make_own();
  Status make_staging();
  Status make_words();
  Status offer();
  Result<bool> hear_offers();
  Status believe(int rank, const Offer& offer, std::vector<Fd> attached);
  void open_staging(int rank, const Fd& fd);
  Status judge();
  Result<bool> hear_verdicts();
  Result<bool> conclude();
  void keep(int rank, SharedSegment segment, size_t reached_bytes);
  void keep_words(SharedSegment segment);
  bool all_heard() const { return heard_.size() + 1 == parties_.ranks.size(); }

  Parties parties_;
  Stage stage_ = Stage::Offer;
  bool on_host_ = false;              // the second attempt
  std::map<int, Fd> sockets_;         // by rank
  std::map<int, std::string> heard_;  // of this stage
  std::unique_ptr<Neighbourhood> made_;
  Fd staging_fd_;
  Fd words_fd_;
  size_t staging_size_ = 0;  // of the own, in whole units of the memory it lies in
  std::string objection_;    // why this rank cannot do it; "": it can
  Status failure_;
};

}  // namespace rondo
