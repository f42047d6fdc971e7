// SPDX-License-Identifier: Apache-2.0
#include "host_buffers.h"

#include <fmt/format.h>

#include <cstring>

#include "failure.h"

namespace rondo::perf {

rondo_status_t HostBuffers::make(const BufferSizes& sizes, BenchBuffer::BufferMemory memory,
                                 std::unique_ptr<Buffers>& made) {
  auto buffers = std::make_unique<HostBuffers>();
  if (!buffers->send_.allocate(sizes.send, sizes.unalign, memory) ||
      !buffers->recv_.allocate(sizes.recv, sizes.unalign, memory)) {
    note_failure(fmt::format("no memory for buffers of {} and {} bytes", sizes.send, sizes.recv));
    return RONDO_OUT_OF_MEMORY;
  }
  made = std::move(buffers);
  return RONDO_OK;
}

rondo_status_t HostBuffers::clear(const BufferPlace& place) {
  if (place.send_bytes > 0) std::memset(send_.data(), 0, place.send_bytes);
  if (place.recv_bytes > 0) std::memset(recv_.data(), 0, place.recv_bytes);
  return RONDO_OK;
}

rondo_status_t HostBuffers::rewrite(const BufferPlace& place) {
  for (const DataPiece& piece : place.layout->send)
    std::memset(place.send + piece.offset * place.element_bytes, 0, piece.count * place.element_bytes);
  return RONDO_OK;
}

rondo_status_t HostBuffers::prepare(const BufferPlace& place, Checker& checker, uint64_t round) {
  send_.poison(place.send_bytes);
  recv_.poison(place.recv_bytes);
  checker.fill(*place.layout, place.send, round);
  return RONDO_OK;
}

rondo_status_t HostBuffers::count_wrong(const BufferPlace& place, Checker& checker, uint64_t round,
                                        size_t& wrong) {
  wrong += checker.count_wrong(*place.expect, place.recv, round);
  if (place.apart) wrong += checker.count_wrong(place.layout->send, place.send, round);  // must be unchanged
  wrong += recv_.damaged(place.recv_bytes) ? 1 : 0;
  wrong += send_.damaged(place.send_bytes) ? 1 : 0;
  return RONDO_OK;
}

}  // namespace rondo::perf
