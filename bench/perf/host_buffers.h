// Buffers in plain memory of the host, or in memory of rondo_mem_alloc().
#pragma once

#include "buffer.h"
#include "buffers.h"

namespace rondo::perf {

class HostBuffers final : public Buffers {
 public:
  static rondo_status_t make(const BufferSizes& sizes, Buffer::Memory memory, std::unique_ptr<Buffers>& made);

  std::byte* send() override { return send_.data(); }
  std::byte* recv() override { return recv_.data(); }
  rondo_status_t clear(const Place& place) override;
  rondo_status_t prepare(const Place& place, Checker& checker, uint64_t round) override;
  rondo_status_t count_wrong(const Place& place, Checker& checker, uint64_t round, size_t& wrong) override;

 private:
  Buffer send_;
  Buffer recv_;
};

}  // namespace rondo::perf
