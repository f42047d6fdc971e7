// SPDX-License-Identifier: Apache-2.0
// Ranks in processes that use GPUs, and their GPU memory and streams.
#pragma once

#include <functional>

#include "driver_calls.h"
#include "folder.h"
#include "gpu.h"

namespace rondo::test {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// The folder where the stand-in's processes take turns on a device, so that only one of them runs a kernel.
class TurnsFolder : public Folder {
 public:
  Variables with(Variables more = {}) const {
    more.emplace_back("RONDO_STANDIN_DIR", path());
    return more;
  }
};

/// So small that most calls need many tiles.
inline const std::pair<std::string, std::string> kTight{"RONDO_STAGING_BYTES", "28672"};

inline WorldOptions processes(int nranks, std::vector<std::string> devices, Variables environment = {}) {
  return {.nranks = nranks, .devices = std::move(devices), .environment = std::move(environment)};
}

inline void require_cu(CUresult result, const char* what) { require(result == CUDA_SUCCESS, what); }

/// A rank's GPU: current for this object's lifetime, with memory and a stream.
class Device {
 public:
  explicit Device(int ordinal) : ordinal_(ordinal), current_(ordinal) {
    require_ok(current_.status());
    require_cu(CU(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }

  CUstream stream() const { return stream_; }
  rondo_stream_t handle() const { return rondo_cuda_stream(stream_); }
  int64_t* ints(size_t count, int64_t value) {
    auto memory = gpu::Memory::allocate(gpu::MemoryKind::Device, ordinal_, count * sizeof(int64_t));
    require_ok(memory.status());
    memory_.push_back(memory.take());
    auto* const data = reinterpret_cast<int64_t*>(memory_.back().data());
    const std::vector<int64_t> values(count, value);
    require_ok(gpu::copy(data, values.data(), count * sizeof(int64_t)));
    return data;
  }
  std::vector<int64_t> read(const int64_t* data, size_t count) const {
    std::vector<int64_t> values(count);
    require_ok(gpu::copy(values.data(), data, count * sizeof(int64_t)));
    return values;
  }
  bool all_are(const int64_t* data, size_t count, int64_t value) const {
    return read(data, count) == std::vector<int64_t>(count, value);
  }
  /// Time until the stream's work is done.
  double drain_s() const {
    const double start = seconds_now();
    require_cu(CU(cuStreamSynchronize)(stream_), "cuStreamSynchronize");
    return seconds_now() - start;
  }

 private:
  int ordinal_;
  gpu::Current current_;
  CUstream stream_ = nullptr;
  std::vector<gpu::Memory> memory_;
};

}  // namespace rondo::test
