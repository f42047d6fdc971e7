// SPDX-License-Identifier: Apache-2.0
// Devices and their primary contexts. Guarded by Driver::mutex unless noted otherwise.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "completion.h"
#include "kernel_turn.h"

namespace rondo::standin {
struct Device;
}

/// A device's primary context; there are no other contexts.
struct CUctx_st {
  rondo::standin::Device* device = nullptr;
  unsigned retained = 0;
  unsigned flags = 0;
  uint64_t generation = 0;     // incremented at each destruction
  std::atomic<int> error = 0;  // CUresult of the kernel that broke it
  std::set<CUcontext> peers;   // contexts whose memory it may use
  std::shared_ptr<CUstream_st> legacy;
  std::set<std::shared_ptr<CUstream_st>> streams;  // open or with work pending, including the legacy stream

  /// The hardware queues of one priority, each represented by its last item.
  struct Queues {
    std::vector<rondo::standin::CompletionPtr> last;
    size_t next = 0;  // queue for the next stream
  };
  std::map<int, Queues> queues;

  bool active() const { return retained > 0; }
  bool failed() const { return error.load(std::memory_order_relaxed) != 0; }
};

namespace rondo::standin {

using Context = CUctx_st;

struct Device {
  Device(int number, int in_machine, bool alone, const std::string& turn_path)
      : ordinal(number), physical(in_machine), turn(alone, turn_path) {
    context.device = this;
  }
  int ordinal;
  int physical;  // index in the machine, independent of CUDA_VISIBLE_DEVICES
  std::atomic<uint64_t> used_bytes = 0;
  KernelTurn turn;
  Context context;

  std::array<unsigned char, 16> uuid() const;
};

CUresult find_device(CUdevice ordinal, Device*& found);
/// Null if the machine's device is not visible.
Device* device_in_machine(int physical);

/// The calling thread's context, if it is usable.
CUresult use_context(Context*& found);
/// The current context, usable or not; null if there is none.
Context* current_context();

}  // namespace rondo::standin
