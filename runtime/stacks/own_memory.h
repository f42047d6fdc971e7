// SPDX-License-Identifier: Apache-2.0
// OwnMemory: this process's memory as the kernel reads it, so that an address that is not mapped, or is
// unmapped meanwhile, is an answer and not a fault. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/fd.h"

namespace rondo {

class OwnMemory {
 public:
  OwnMemory();

  bool copy(uint64_t address, std::span<std::byte> to) const;
  template <typename T>
  requires std::is_trivially_copyable_v<T> std::optional<T> read(uint64_t address)
  const {
    T value;
    if (!copy(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }

 private:
  Fd file_;
};

}  // namespace rondo
