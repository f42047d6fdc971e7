// Phased: one rank's GPU calls on a communicator whose ranks are in several processes of a host. No kernel
// waits for another: streams do, for words of memory, between kernels. Used by the thread that makes the
// calls.
#pragma once

#include "comm/crew.h"
#include "comm/introduction.h"
#include "comm/own_windows.h"
#include "comm/peer_windows.h"
#include "comm/phased_issue.h"
#include "comm/watch.h"

namespace rondo {

class Phased final : public Task {
 public:
  /// `here`: the communicator's ranks in this process.
  Phased(Communicator& communicator, Introduction::Parties parties, std::vector<int> here);
  ~Phased() override;

  /// The call outlives the run.
  void begin(const Call& call, const Signature& signature);

  Progress advance() override;
  Status status() const override { return failure_; }
  bool refused() const override { return refused_; }
  int blocked_on() const override;
  void abandon() override;

  /// Waits until nothing of what was issued uses memory that is shared; false at the deadline.
  bool settle(const Deadline& deadline);

  /// Registered memory of the own GPU, by the handle of its registration: peers may read it in place once
  /// they see it. Any thread.
  void open_window(const void* key, std::byte* at, size_t bytes, std::shared_ptr<const void> kept) {
    own_windows_->add(key, at, bytes, std::move(kept));
  }
  /// Returns when no peer has it any more, at once where something keeps the memory for them. InProgress: a
  /// peer has it whose stream waits for this rank; Timeout: one that is named. It is closed nevertheless, and
  /// this may be called again.
  Status close_window(const void* key);
  /// All of them, after which this rank sees no window of others either. False: some peer has one for longer.
  bool close_windows();

 private:
  Progress introduce();
  PeerWindows::Parties window_parties() const;
  void plan();
  Progress fail(const Task& by);
  bool waits_for_self(int rank) const;
  Status await_holders(const void* key);

  Communicator& communicator_;
  int self_;
  std::optional<Introduction> introduction_;  // until it is over
  std::unique_ptr<Neighbourhood> neighbourhood_;
  std::shared_ptr<OwnWindows> own_windows_;
  std::shared_ptr<PeerWindows> peer_windows_;
  std::optional<Watch> watch_;
  CrewRun run_;
  PhasedPart part_;
  std::shared_ptr<StreamTail> latest_tail_;
  const Call* call_ = nullptr;
  Signature signature_;
  bool running_ = false;
  bool unusable_ = false;  // the devices cannot do it, and never will
  bool refused_ = false;
  Status failure_;
};

/// What staging takes of a GPU's memory, by RONDO_STAGING_BYTES.
Result<size_t> staging_bytes_setting(int nranks);

}  // namespace rondo
