// SPDX-License-Identifier: Apache-2.0
// Buffers in GPU-accessible memory, filled from the host and checked by the GPU.
#pragma once

#include "buffers.h"
#include "gpu/memory.h"
#include "gpu/stream.h"

namespace rondo::perf {

class DeviceBuffers final : public Buffers {
 public:
  /// All work on the buffers is ordered in `stream`.
  static rondo_status_t make(const BufferSizes& sizes, gpu::MemoryKind kind, int device, gpu::Stream stream,
                             std::unique_ptr<Buffers>& made);

  std::byte* send() override { return send_; }
  std::byte* recv() override { return recv_; }
  rondo_status_t clear(const BufferPlace& place) override;
  rondo_status_t rewrite(const BufferPlace& place) override;
  rondo_status_t prepare(const BufferPlace& place, Checker& checker, uint64_t round) override;
  rondo_status_t count_wrong(const BufferPlace& place, Checker& checker, uint64_t round,
                             size_t& wrong) override;

 private:
  Status allocate(const BufferSizes& sizes, gpu::MemoryKind kind);
  Status zero(const BufferPlace& place) const;
  Status poison(std::byte* at, size_t bytes) const;
  Status write(const BufferPlace& place, Checker& checker, uint64_t round) const;
  Status stage(const DataPiece& part, Checker& checker, uint64_t round, std::byte* to) const;
  Status count(const std::vector<DataPiece>& pieces, const std::byte* at, Checker& checker,
               uint64_t round) const;
  Status count_damage(const std::byte* at, size_t bytes) const;
  Status check(const BufferPlace& place, Checker& checker, uint64_t round, size_t& wrong) const;

  int device_ = 0;
  gpu::Stream stream_ = nullptr;
  gpu::Memory send_memory_, recv_memory_;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
  gpu::Memory staged_;    // host staging for known data
  gpu::Memory expected_;  // device memory of the same size
  gpu::Memory wrong_;     // a counter that the device increments and the host reads
};

}  // namespace rondo::perf
