// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the C API on GPU memory. They run on a GPU if there is one, and everywhere on the
// stand-in for CUDA's driver.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "catch.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/stream.h"
#include "worlds.h"

namespace rondo::test {

/// Whether there are fewer GPUs than needed; reports that the test is skipped.
inline bool lacks_gpus(int needed = 1) {
  const auto count = gpu::device_count();
  if (count.ok() && count.value() >= needed) return false;
  WARN("skipped: " << (count.ok() ? "needs " + std::to_string(needed) + " GPUs" : count.status().message()));
  return true;
}

/// The same for ranks that are forked processes: if a process has used CUDA itself, its children cannot.
inline bool children_lack_gpus(int needed = 1) {
  const auto outcome = Process([=] {
                         const auto count = gpu::device_count();
                         const int found = count.ok() ? count.value() : 0;
                         require(found >= needed, "there are " + std::to_string(found));
                       }).wait();
  if (!outcome.ok) WARN("skipped: needs " << needed << " GPUs, " << outcome.failure());
  return !outcome.ok;
}

/// Whether this is a real GPU, on which a test cannot make the driver fail; reports that the test is skipped.
inline bool lacks_standin() {
  if (std::getenv("RONDO_STANDIN_PROCESSORS") != nullptr) return false;
  WARN("skipped: needs the stand-in for CUDA's driver");
  return true;
}

inline void require_ok(const Status& status) { require(status.ok(), status.message()); }

/// Memory of one kind on one device.
inline ForeignMemory foreign_memory(gpu::MemoryKind kind, int device) {
  return {.allocate =
              [=](size_t bytes) {
                auto memory = gpu::Memory::allocate(kind, device, bytes);
                require_ok(memory.status());
                const auto kept = std::make_shared<gpu::Memory>(memory.take());
                return std::shared_ptr<std::byte>(kept, kept->data());
              },
          .copy =
              [=](void* to, const void* from, size_t bytes) {
                const gpu::Current current(device);
                require_ok(current.status());
                require_ok(gpu::copy(to, from, bytes));
              }};
}

/// Ranks of this process that one thread drives, each with its own stream.
class Party {
 public:
  explicit Party(int nranks, const std::string& devices, const char* transport = nullptr)
      : ranks_(nranks, config_of(devices, transport)) {
    const int ndevices = 1 + static_cast<int>(std::count(devices.begin(), devices.end(), ','));
    for (int rank = 0; rank < nranks; ++rank) {
      devices_.push_back(rank % ndevices);
      memories_.push_back(foreign_memory(gpu::MemoryKind::Device, devices_.back()));
      auto stream = gpu::OwnedStream::create(devices_.back());
      require_ok(stream.status());
      streams_.push_back(stream.take());
    }
  }

  int size() const { return static_cast<int>(ranks_.comms.size()); }
  rondo_comm_t comm(int rank) const { return ranks_.comms[index(rank)]; }
  int device(int rank) const { return devices_[index(rank)]; }
  gpu::Stream stream(int rank) const { return streams_[index(rank)].get(); }
  rondo_stream_t handle(int rank) const { return rondo_cuda_stream(stream(rank)); }
  const ForeignMemory& memory(int rank) const { return memories_[index(rank)]; }
  Rank rank(int rank) const { return {comm(rank), rank, size(), &memory(rank)}; }

  void synchronize() const {
    for (int rank = 0; rank < size(); ++rank) {
      const gpu::Current current(device(rank));
      require_ok(current.status());
      require_ok(gpu::synchronize(stream(rank)));
    }
  }

 private:
  static size_t index(int rank) { return static_cast<size_t>(rank); }
  static rondo_config_t config_of(const std::string& devices, const char* transport) {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.device = devices.c_str();
    config.transport = transport;
    config.timeout_ms = 30'000;
    return config;
  }

  LocalRanks ranks_;
  std::vector<int> devices_;
  std::vector<ForeignMemory> memories_;
  std::vector<gpu::OwnedStream> streams_;
};

}  // namespace rondo::test
