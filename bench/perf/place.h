// SPDX-License-Identifier: Apache-2.0
// Where a call's two buffers are: separate, or within one. Pure functions: any thread.
#pragma once

#include <algorithm>

#include "layout.h"

namespace rondo::perf {

struct BufferPlace {
  bool apart = true;
  const DataLayout* layout = nullptr;
  const std::vector<DataPiece>* expect = nullptr;  // in `recv`
  std::byte* send = nullptr;
  std::byte* recv = nullptr;
  size_t send_bytes = 0;  // in use
  size_t recv_bytes = 0;
  size_t element_bytes = 0;
};

inline BufferPlace out_of_place(const DataLayout& layout, std::byte* send, std::byte* recv,
                                size_t element_bytes) {
  return {.apart = true,
          .layout = &layout,
          .expect = &layout.expect,
          .send = send,
          .recv = recv,
          .send_bytes = layout.send_extent * element_bytes,
          .recv_bytes = layout.recv_extent * element_bytes,
          .element_bytes = element_bytes};
}

/// Both in the buffer at `base`.
inline BufferPlace in_place(const DataLayout& layout, std::byte* base, size_t element_bytes) {
  return {.apart = false,
          .layout = &layout,
          .expect = &layout.expect_in_place,
          .send = base + layout.in_place_send * element_bytes,
          .recv = base + layout.in_place_recv * element_bytes,
          .send_bytes = layout.send_extent * element_bytes,
          .recv_bytes = std::max(layout.send_extent, layout.recv_extent) * element_bytes,
          .element_bytes = element_bytes};
}

}  // namespace rondo::perf
