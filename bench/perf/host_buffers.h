// SPDX-License-Identifier: Apache-2.0
// Buffers in plain host memory, or in memory from rondo_mem_alloc().
#pragma once

#include "buffer.h"
#include "buffers.h"

namespace rondo::perf {

class HostBuffers final : public Buffers {
 public:
  static rondo_status_t make(const BufferSizes& sizes, BenchBuffer::BufferMemory memory,
                             std::unique_ptr<Buffers>& made);

  std::byte* send() override { return send_.data(); }
  std::byte* recv() override { return recv_.data(); }
  rondo_status_t clear(const BufferPlace& place) override;
  rondo_status_t rewrite(const BufferPlace& place) override;
  rondo_status_t prepare(const BufferPlace& place, Checker& checker, uint64_t round) override;
  rondo_status_t count_wrong(const BufferPlace& place, Checker& checker, uint64_t round,
                             size_t& wrong) override;

 private:
  BenchBuffer send_;
  BenchBuffer recv_;
};

}  // namespace rondo::perf
