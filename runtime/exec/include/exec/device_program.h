// DeviceProgram: a Schedule bound to one rank's FIFOs, in the memory of its GPU, for the device's executor.
// Made once a plan, on the thread that makes calls; immutable for the host afterwards.
#pragma once

#include <functional>
#include <vector>

#include "gpu/memory.h"
#include "kernels/device_call.h"
#include "schedule/schedule.h"

namespace rondo {

class DeviceProgram {
 public:
  /// A connection of the Program's protocol, in the device's memory; it outlives the program.
  using Connect = std::function<Result<device::LaneConnection*>(int peer, uint16_t port, uint32_t channel)>;
  struct Settings {
    int device = 0;
    device::Protocol protocol = device::Protocol::Simple;
    uint32_t channels = 1;
    size_t slot_bytes = 0;
  };
  static Result<DeviceProgram> make(const Schedule& schedule, const Settings& settings,
                                    const Connect& connect);

  const device::Program* program() const { return program_; }  // the device's
  std::byte* scratch() const { return scratch_; }              // likewise
  uint32_t blocks() const { return blocks_; }                  // that carry it out
  const Chunks& chunks() const { return chunks_; }             // of the call's buffers
  /// The ranks that it is connected with, by the index that the device's executor reports, of any channel.
  const std::vector<int>& peers() const { return peers_; }

 private:
  DeviceProgram() = default;
  gpu::Memory memory_;
  const device::Program* program_ = nullptr;
  std::byte* scratch_ = nullptr;
  uint32_t blocks_ = 0;
  Chunks chunks_{};
  std::vector<int> peers_;
};

}  // namespace rondo
