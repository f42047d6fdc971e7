// Phased: one rank's GPU calls on a communicator whose ranks are in several processes of a host. No kernel
// waits for another: streams do, for words of memory, between kernels. Used by the thread that makes the
// calls.
#pragma once

#include "comm/crew.h"
#include "comm/introduction.h"
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

 private:
  Progress introduce();
  Progress fail(const Task& by);

  Communicator& communicator_;
  int self_;
  std::optional<Introduction> introduction_;  // until it is over
  std::unique_ptr<Neighbourhood> neighbourhood_;
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
