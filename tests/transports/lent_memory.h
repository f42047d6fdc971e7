// LentMemory: memory that any transport can post from, also those that lend it to another process.
#pragma once

#include <span>

#include "base/lendable.h"
#include "catch.h"

namespace rondo::test {

class LentMemory {
 public:
  explicit LentMemory(size_t bytes) : bytes_(bytes) {
    auto made = allocate_lendable(bytes);
    REQUIRE(made.ok());
    data_ = made.value();
  }
  ~LentMemory() { free_lendable(data_); }
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }
  Lendable lendable() const { return *find_lendable(data_, bytes_); }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_;
};

}  // namespace rondo::test
