// DeviceCalls: GPU collectives of a communicator by the device's executor: one launch carries out the Program
// of a call over FIFOs, in memory that GPUs share or relayed by the Proxy. For ranks on several hosts, and
// where a transport or an algorithm is asked for. A Task of one call at a time; used by the thread that makes
// calls, except where it says otherwise.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <tuple>

#include "algorithms/algorithm.h"
#include "base/clock.h"
#include "comm/call.h"
#include "comm/crew.h"
#include "comm/device_links.h"
#include "comm/execution.h"
#include "exec/device_program.h"
#include "exec/proxy.h"
#include "exec/task.h"

namespace rondo {

/// A Crew::Issue; payloads are DeviceCalls.
Status issue_device_calls(std::span<const Crew::Seat> seats);

class DeviceCalls final : public Task, public Proxy::Work {
 public:
  /// What the communicator does for them. All but ways are called on the proxy's thread as well.
  struct Owner {
    DeviceLinks::Ways ways;
    std::function<bool()> failed;
    std::function<Status()> cause;  // of the failure
    std::function<void(const Status& cause)> fail;
    std::function<Status(int peer, const Signature& came)> mismatch;  // with this rank's latest call
    std::function<Status(bool last)>
        look;  // at a call that lasts: Ok, a mismatch, or, the last time, a timeout
  };
  struct Settings {
    int rank = 0;
    int nranks = 1;
    int group = 1;  // of the ranks, see Shape
    int device = 0;
    int channels = 1;  // at most
    ConnectionParams params;
    int64_t timeout_ms = 0;
  };
  /// `run`: the rank's part in the crew of its process, whose Issue is issue_device_calls().
  static Result<std::unique_ptr<DeviceCalls>> make(const Settings& settings, Owner owner, CrewRun run);
  ~DeviceCalls() override;

  /// The call outlives the run.
  Status begin(const Call& call, const Execution& execution, const Signature& signature);

  Progress advance() override;
  Status status() const override { return failure_; }
  bool refused() const override { return refused_; }
  int blocked_on() const override;
  void abandon() override;

  /// Waits until the GPU has done the latest call and all messages are on their way.
  Status drain(const Deadline& deadline);

  bool serve() override;
  bool busy() const override { return busy_; }

 private:
  /// Root, varying, commutative; protocol and channels.
  using PlanKey = std::tuple<const Algorithm*, int, bool, bool, device::Protocol, int>;
  /// The lengths and offsets of a _v call, where the GPU reads them.
  struct Tables {
    gpu::Memory memory;
    gpu::Event behind;      // the call
    bool of_graph = false;  // which may need them at any time
    bool in_use = false;
  };
  DeviceCalls(const Settings& settings, Owner owner, CrewRun run);
  Result<DeviceProgram*> plan(const Execution& execution, const Shape& shape);
  Status copy_tables(Layout& layout);
  Result<Tables*> free_tables(size_t bytes);
  friend Status issue_device_calls(std::span<const Crew::Seat> seats);
  Status issued(gpu::Stream stream);

  Result<Progress> step();
  Status outcome();
  void report_mismatch();  // any thread

  // On the proxy's thread:
  void watch(bool moved);

  Settings settings_;
  Owner owner_;
  gpu::Memory health_memory_;
  device::CallHealth* health_ = nullptr;  // the GPU's as well
  std::map<PlanKey, DeviceProgram> plans_;
  std::deque<Tables> tables_;
  Tables* tables_at_hand_ = nullptr;
  DeviceLinks links_;
  CrewRun run_;
  const Call* asked_ = nullptr;
  DeviceCall call_;
  bool running_ = false;
  bool refused_ = false;
  Status failure_;

  std::mutex mutex_;        // guards peers_
  std::vector<int> peers_;  // of the latest call's Program, by its connections
  // The proxy's:
  bool busy_ = false;
  int64_t stuck_since_ns_ = 0;
  int64_t next_look_ns_ = 0;
  uint64_t last_seen_ = 0;
};

}  // namespace rondo
