// SPDX-License-Identifier: Apache-2.0
// AlignedBytes: memory for slots, 64-byte aligned and not zeroed, so that its pages stay untouched until
// used. Single owner.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace rondo {

struct AlignedDelete {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

inline AlignedBytes allocate_aligned(size_t bytes) {
  return AlignedBytes(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})));
}

/// `bytes` rounded up to the slot alignment.
constexpr size_t aligned_size(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace rondo
