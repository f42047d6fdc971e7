// Where a call finds its two buffers: apart, or within one. Pure functions: any thread.
#pragma once

#include <algorithm>

#include "layout.h"

namespace rondo::perf {

struct Place {
  bool apart = true;
  const Layout* layout = nullptr;
  const std::vector<Piece>* expect = nullptr;  // in `recv`
  std::byte* send = nullptr;
  std::byte* recv = nullptr;
  size_t send_bytes = 0;  // of the buffers that are in use
  size_t recv_bytes = 0;
  size_t element_bytes = 0;
};

inline Place out_of_place(const Layout& layout, std::byte* send, std::byte* recv, size_t element_bytes) {
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
inline Place in_place(const Layout& layout, std::byte* base, size_t element_bytes) {
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
