// Buffers in memory that a GPU reaches, filled from the host and checked by the GPU.
#pragma once

#include "buffers.h"
#include "gpu/memory.h"
#include "gpu/stream.h"

namespace rondo::perf {

class DeviceBuffers final : public Buffers {
 public:
  /// All that is done with them takes its place in the stream.
  static rondo_status_t make(const BufferSizes& sizes, gpu::MemoryKind kind, int device, gpu::Stream stream,
                             std::unique_ptr<Buffers>& made);

  std::byte* send() override { return send_; }
  std::byte* recv() override { return recv_; }
  rondo_status_t clear(const Place& place) override;
  rondo_status_t prepare(const Place& place, Checker& checker, uint64_t round) override;
  rondo_status_t count_wrong(const Place& place, Checker& checker, uint64_t round, size_t& wrong) override;

 private:
  Status allocate(const BufferSizes& sizes, gpu::MemoryKind kind);
  Status zero(const Place& place) const;
  Status poison(std::byte* at, size_t bytes) const;
  Status write(const Place& place, Checker& checker, uint64_t round) const;
  Status stage(const Piece& part, Checker& checker, uint64_t round, std::byte* to) const;
  Status count(const std::vector<Piece>& pieces, const std::byte* at, Checker& checker, uint64_t round) const;
  Status count_damage(const std::byte* at, size_t bytes) const;
  Status check(const Place& place, Checker& checker, uint64_t round, size_t& wrong) const;

  int device_ = 0;
  gpu::Stream stream_ = nullptr;
  gpu::Memory send_memory_, recv_memory_;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
  gpu::Memory staged_;    // memory of the host through which known data go
  gpu::Memory expected_;  // memory of the device for as much of them
  gpu::Memory wrong_;     // a number that the device adds to and the host reads
};

}  // namespace rondo::perf
