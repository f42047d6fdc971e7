// Port: the numbers that tell apart what two ranks of a communicator have sockets for. The lanes of a
// Schedule count from 0, those of calls on GPUs from FirstGpuLane; what has one socket, or a set of its own,
// is listed after them. Plain data.
#pragma once

#include <cstdint>

namespace rondo {

enum class Port : uint16_t {
  FirstGpuLane = 0x4000,
  Shrink = 0xfffc,  // the rest is numbered by the compiler, so that no two are equal
  CommonMemory,
  Staging,
  Messages,
};

}  // namespace rondo
