// DeviceCalls: GPU collectives of a communicator by the device's executor: one launch carries out the Program
// of a call over FIFOs, and the Proxy relays their messages over the communicator's connections. For ranks on
// several hosts, and where a transport is asked for. Used by the thread that makes calls, except where it
// says otherwise.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "algorithms/algorithm.h"
#include "base/clock.h"
#include "comm/call.h"
#include "comm/crew.h"
#include "comm/selector.h"
#include "exec/device_program.h"
#include "exec/proxy.h"
#include "kernels/device_call.h"
#include "transports/relay.h"

namespace rondo {

/// A Crew::Issue; payloads are DeviceCalls.
Status issue_device_calls(std::span<const Crew::Seat> seats);

class DeviceCalls final : public Proxy::Work {
 public:
  /// What the communicator does for them. fail() and look() are called on the proxy's thread.
  struct Owner {
    std::function<Result<Connection*>(int peer, uint16_t port)> connect;
    std::function<bool()> failed;
    std::function<void(const Status& cause)> fail;
    std::function<Status(int peer, const Signature& came)> mismatch;  // with this rank's latest call
    std::function<Status(bool last)>
        look;  // at a call that lasts: Ok, a mismatch, or, the last time, a timeout
  };
  struct Settings {
    int rank = 0;
    int nranks = 1;
    int device = 0;
    ConnectionParams params;
    int64_t timeout_ms = 0;
  };
  static Result<std::unique_ptr<DeviceCalls>> make(const Settings& settings, Owner owner);
  ~DeviceCalls() override;

  /// Gets a call ready to be issued by the crew; one at a time.
  Status prepare(const Call& call, const Decision& decision, const Signature& signature);

  /// Waits until all messages of calls that have ended are on their way.
  Status drain(const Deadline& deadline);

  bool advance() override;
  bool busy() const override { return busy_; }

 private:
  using PlanKey = std::tuple<const Algorithm*, int, bool, bool>;  // root, varying, commutative
  struct Link {
    gpu::Memory fifos;  // of the relay
    gpu::Memory connection;
    Relay relay;

    device::LaneConnection* on_device() const {
      return reinterpret_cast<device::LaneConnection*>(connection.data());
    }
  };
  /// The lengths and offsets of a _v call, where the GPU reads them.
  struct Tables {
    gpu::Memory memory;
    gpu::Event behind;      // the call
    bool of_graph = false;  // which may need them at any time
    bool in_use = false;
  };
  DeviceCalls(const Settings& settings, Owner owner);
  Result<DeviceProgram*> plan(const Algorithm& algorithm, const Shape& shape);
  Result<device::LaneConnection*> link(int peer, uint16_t port);
  Status copy_tables(Layout& layout);
  Result<Tables*> free_tables(size_t bytes);
  friend Status issue_device_calls(std::span<const Crew::Seat> seats);
  Status issued(gpu::Stream stream);

  // On the proxy's thread:
  bool pump();
  void watch(bool moved);
  void report_mismatch();

  Settings settings_;
  Owner owner_;
  gpu::Memory health_memory_;
  device::CallHealth* health_ = nullptr;  // the GPU's as well
  std::map<PlanKey, DeviceProgram> plans_;
  std::deque<Tables> tables_;
  Tables* tables_at_hand_ = nullptr;
  DeviceCall call_;

  std::mutex mutex_;  // guards links_ and peers_
  std::map<std::pair<int, uint16_t>, Link> links_;
  std::vector<int> peers_;  // of the latest call's Program, by its connections
  // The proxy's:
  bool busy_ = false;
  int64_t stuck_since_ns_ = 0;
  int64_t next_look_ns_ = 0;
  uint64_t last_seen_ = 0;
};

}  // namespace rondo
