// SPDX-License-Identifier: Apache-2.0
// DeviceProgram: a Schedule bound to one rank's FIFOs, in its GPU's memory, for the device executor. Made
// once per plan, on the thread that makes calls; the host does not change it afterwards.
#pragma once

#include <functional>
#include <vector>

#include "gpu/memory.h"
#include "kernels/device_call.h"
#include "schedule/schedule.h"

namespace rondo {

class DeviceProgram {
 public:
  /// Returns a connection of the program's protocol, in device memory; it must outlive the program.
  using Connect = std::function<Result<device::LaneConnection*>(int peer, uint16_t port, uint32_t channel)>;
  struct ProgramSettings {
    int device = 0;
    device::Protocol protocol = device::Protocol::Simple;
    uint32_t channels = 1;
    size_t slot_bytes = 0;
  };
  static Result<DeviceProgram> make(const Schedule& schedule, const ProgramSettings& settings,
                                    const Connect& connect);

  const device::BlockProgram* program() const { return program_; }  // in device memory
  std::byte* scratch() const { return scratch_; }                   // in device memory
  uint32_t blocks() const { return blocks_; }                       // to launch
  const Chunks& chunks() const { return chunks_; }                  // of the call's buffers
  /// The connected ranks, by the connection index that the device executor reports, modulo their number.
  const std::vector<int>& peers() const { return peers_; }

 private:
  DeviceProgram() = default;
  gpu::Memory memory_;
  const device::BlockProgram* program_ = nullptr;
  std::byte* scratch_ = nullptr;
  uint32_t blocks_ = 0;
  Chunks chunks_{};
  std::vector<int> peers_;
};

}  // namespace rondo
