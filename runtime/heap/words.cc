// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <strings.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace rondo::heap {
namespace {

bool is_one_of(const char* word, const char* const* words, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (::strcasecmp(word, words[i]) == 0) return true;
  return false;
}

/// By RONDO_LOG; what it does not name is as if it was not set.
bool shows(Importance importance) {
  constexpr const char* kTalkative[] = {"trace", "debug", "info"};
  constexpr const char* kQuiet[] = {"error", "off"};
  const char* const level = std::getenv("RONDO_LOG");
  if (level == nullptr) return importance == Importance::Warning;
  if (importance == Importance::Warning) return !is_one_of(level, kQuiet, std::size(kQuiet));
  return is_one_of(level, kTalkative, std::size(kTalkative));
}

void write_line(const char* level, const char* text, const char* detail) {
  Sentence line;
  line << "[" << static_cast<size_t>(::getpid()) << " rondo-heap " << level << "] " << text << detail << "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.text(), std::strlen(line.text()));
}

}  // namespace

Sentence& Sentence::operator<<(const char* word) {
  for (; *word != '\0' && length_ + 1 < sizeof text_; ++word) text_[length_++] = *word;
  return *this;
}

Sentence& Sentence::operator<<(size_t number) {
  char digits[24] = {};
  size_t first = sizeof digits - 1;
  do {
    digits[--first] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return *this << digits + first;
}

void say(Importance importance, const char* text, const char* detail) {
  if (shows(importance)) write_line(importance == Importance::Info ? "info" : "warning", text, detail);
}

void die(const char* text) {
  write_line("error", text, "");
  std::abort();
}

bool read_size(const char* text, size_t& bytes) {
  constexpr char kUnits[] = "KMG";
  if (*text < '0' || *text > '9') return false;
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text, &end, 10);
  int shift = 0;
  if (*end != '\0') {
    const char* const unit = std::strchr(kUnits, *end & ~0x20);
    if (unit == nullptr || *unit == '\0') return false;
    shift = 10 * static_cast<int>(unit - kUnits + 1);
    ++end;
    if (::strcasecmp(end, "B") == 0 || ::strcasecmp(end, "iB") == 0) end += std::strlen(end);
  }
  if (*end != '\0' || number > (SIZE_MAX >> shift)) return false;
  bytes = static_cast<size_t>(number) << shift;
  return true;
}

}  // namespace rondo::heap
