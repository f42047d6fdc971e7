// SPDX-License-Identifier: Apache-2.0
// StagedExecutor: one rank's GPU calls on a communicator whose ranks are in several processes of a host.
// Kernels never wait: between kernels, streams wait for words of memory. Used by the thread that makes calls.
#pragma once

#include "base/clock.h"
#include "bootstrap/membership.h"
#include "gpu_group/local_group.h"

namespace rondo {

class ExportedWindows;
class ImportedWindows;
class IpcHandleExchange;
struct PeerMappings;
struct StagedPart;
class StreamTail;
class Watchdog;

class StagedExecutor final : public Task {
 public:
  /// `here`: the communicator's ranks in this process.
  StagedExecutor(const MembershipPtr& membership, size_t staging_bytes, std::vector<int> here);
  ~StagedExecutor() override;

  /// The call must outlive the run.
  void begin(const Call& call, const Signature& signature);

  Progress advance() override;
  Status status() const override { return failure_; }
  bool refused() const override { return refused_; }
  int blocked_on() const override;
  void abandon() override;

  /// Waits until no issued call uses shared memory any more; false at the deadline.
  bool settle(const Deadline& deadline);

  /// Exports registered memory of this rank's GPU, under its registration handle: peers may read it in place
  /// once they have mapped it. Any thread.
  void open_window(const void* key, std::byte* at, size_t bytes, std::shared_ptr<const void> kept);
  /// Returns when no peer maps it any more, or at once if `kept` owns the memory. InProgress: a peer still
  /// maps it, and its stream waits for this rank. Timeout: the named peer still maps it. Either way the
  /// window is closed, and this may be called again.
  Status close_window(const void* key);
  /// Closes all of them, and unmaps the peers' windows. False: timed out.
  bool close_windows();

 private:
  Progress exchange_handles();
  std::shared_ptr<ImportedWindows> import_windows() const;
  void plan();
  Progress fail(const Task& by);
  bool waits_for_self(int rank) const;
  Status await_holders(const void* key);

  const MembershipPtr membership_;
  int self_;
  std::unique_ptr<IpcHandleExchange> handle_exchange_;  // until it is done
  std::unique_ptr<PeerMappings> mappings_;
  std::shared_ptr<ExportedWindows> exported_windows_;
  std::shared_ptr<ImportedWindows> imported_windows_;
  std::unique_ptr<Watchdog> watchdog_;
  LocalLaunch run_;
  std::unique_ptr<StagedPart> part_;
  std::shared_ptr<StreamTail> latest_tail_;
  const Call* call_ = nullptr;
  Signature signature_;
  bool running_ = false;
  bool unusable_ = false;  // permanently: the devices do not support it
  bool refused_ = false;
  Status failure_;
};

/// How often the streams of a call wait for one another, apart from how long it is.
int staged_steps(const Call& call, int nranks);

/// The vectors, each the longer of a rank's input and output, that go from one rank's GPU to another's.
double staged_volume(const Call& call, int nranks, int from, int to);

/// The size of a rank's staging, from RONDO_STAGING_BYTES.
Result<size_t> staging_bytes_setting(int nranks);

}  // namespace rondo
