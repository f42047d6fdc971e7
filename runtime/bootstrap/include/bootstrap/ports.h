// SPDX-License-Identifier: Apache-2.0
// Port: the numbers that identify the sockets between two ranks of a communicator by use. The lanes of a
// Schedule count from 0, those of calls on GPUs from FirstGpuLane; uses with one socket, or with a set of
// their own, are listed after them. Plain data.
#pragma once

#include <cstdint>

namespace rondo {

enum class Port : uint16_t {
  FirstGpuLane = 0x4000,
  Shrink = 0xfffc,  // the rest are numbered by the compiler, so that no two are equal
  HostSegment,
  Staging,
  Messages,
};

}  // namespace rondo
