// Devices and their primary contexts. Guarded by Driver::mutex where nothing else is said.
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

/// A device's primary context; there are no others.
struct CUctx_st {
  rondo::standin::Device* device = nullptr;
  unsigned retained = 0;
  unsigned flags = 0;
  uint64_t generation = 0;     // counts up whenever it is destroyed
  std::atomic<int> error = 0;  // CUresult of the kernel that broke it
  std::set<CUcontext> peers;   // whose memory it may use
  std::shared_ptr<CUstream_st> legacy;
  std::set<std::shared_ptr<CUstream_st>> streams;  // with work or open, the legacy stream among them

  /// The queues of a priority, by the last item in each.
  struct Queues {
    std::vector<rondo::standin::CompletionPtr> last;
    size_t next = 0;  // takes the next stream
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
  int physical;  // its number in the machine, which does not change with CUDA_VISIBLE_DEVICES
  std::atomic<uint64_t> used_bytes = 0;
  KernelTurn turn;
  Context context;

  std::array<unsigned char, 16> uuid() const;
};

CUresult find_device(CUdevice ordinal, Device*& found);
/// Null where the machine's device is not visible.
Device* device_in_machine(int physical);

/// The calling thread's context, usable.
CUresult use_context(Context*& found);
/// What is current, usable or not; null: nothing.
Context* current_context();

}  // namespace rondo::standin
