// SPDX-License-Identifier: Apache-2.0
// What librondo-heap.so says, and how it reads sizes. It is loaded into programs
// of any kind, so it takes no memory for that and uses the C library alone. Any thread.
#pragma once

#include <cstddef>

namespace rondo::heap {

enum class Importance { Info, Warning };

/// A line on standard error, if RONDO_LOG lets it through: the text and a detail.
void say(Importance importance, const char* text, const char* detail = "");
/// The same, and then abort().
[[noreturn]] void die(const char* text);

/// A line of words and numbers, cut off where it gets too long.
class Sentence {
 public:
  Sentence& operator<<(const char* word);
  Sentence& operator<<(size_t number);
  const char* text() const { return text_; }

 private:
  char text_[400] = {};
  size_t length_ = 0;
};

/// As in "262144", "256K", "1M" and "1G"; false if it is no size.
bool read_size(const char* text, size_t& bytes);

}  // namespace rondo::heap
