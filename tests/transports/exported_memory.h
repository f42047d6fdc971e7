// SPDX-License-Identifier: Apache-2.0
// ExportedMemory: memory that any transport can post from, including those that export it to another process.
#pragma once

#include <span>

#include "base/exportable.h"
#include "catch.h"

namespace rondo::test {

class ExportedMemory {
 public:
  explicit ExportedMemory(size_t bytes) : bytes_(bytes) {
    auto made = allocate_exportable(bytes);
    REQUIRE(made.ok());
    data_ = made.value();
  }
  ~ExportedMemory() { free_exportable(data_); }
  ExportedMemory(const ExportedMemory&) = delete;
  ExportedMemory& operator=(const ExportedMemory&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }
  ExportableMemory exportable() const { return *find_exportable(data_, bytes_); }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_;
};

}  // namespace rondo::test
