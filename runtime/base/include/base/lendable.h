// Lendable: memory of this process that others can map, each piece a memfd of its own, and the record of all
// such memory. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/status.h"

namespace rondo {

struct Lendable {
  std::byte* begin = nullptr;
  size_t bytes = 0;
  uint64_t number = 0;  // no other piece has ever had it
  std::shared_ptr<const Fd> memfd;

  bool holds(const std::byte* at, size_t length) const {
    return at >= begin && length <= bytes && static_cast<size_t>(at - begin) <= bytes - length;
  }
};

/// Page-aligned zeros.
Result<std::byte*> allocate_lendable(size_t bytes);
/// Frees what allocate_lendable() gave, wherever it is mapped still; false where it gave no such thing.
bool free_lendable(void* begin);

/// The piece in which all of this lies; nothing where it lies in none, or in one that cannot be lent because
/// this process had few descriptors left when it was allocated.
std::optional<Lendable> find_lendable(const std::byte* at, size_t bytes);
/// Whether the piece has not been freed.
bool is_alive(const Lendable& piece);
/// How many have been freed.
uint64_t lendable_frees();

}  // namespace rondo
