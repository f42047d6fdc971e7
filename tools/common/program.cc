// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rondo::tool {

void require(rondo_status_t status) {
  if (status != RONDO_OK) fail(rondo_last_error(nullptr));
}

void fail(const std::string& cause) {
  fmt::print(stderr, "{}: {}\n", kProgramName, cause);
  std::exit(kFailed);
}

void refuse(const std::string& problem) {
  fmt::print(stderr, "{}: {}\n", kProgramName, problem);
  std::exit(kBadOptions);
}

std::string option_error(const std::string& problem) {
  return fmt::format("{0}: {1} ({0} --help lists the options)\n", kProgramName, problem);
}

void require_options(rondo_status_t status) {
  if (status == RONDO_INVALID_ARGUMENT || status == RONDO_INVALID_USAGE) refuse(rondo_last_error(nullptr));
  require(status);
}

int ended(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "%s: standard output: %s\n", kProgramName, std::strerror(errno));
  return kFailed;
}

std::string version_text() {
  return fmt::format("{} {}.{}.{}", kProgramName, RONDO_VERSION / 10000, RONDO_VERSION / 100 % 100,
                     RONDO_VERSION % 100);
}

namespace {

/// The bytes of the UTF-8 character at `at`; 0: there is none, or it is a control character.
size_t character_bytes(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  if (first < 0x80) return first >= ' ' && first != 0x7f ? 1 : 0;
  const size_t bytes = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  return first < 0xf5 ? bytes : 0;
}

}  // namespace

std::string printable(const std::string& text) {
  std::string result;
  for (size_t at = 0; at != text.size();) {
    const size_t bytes = character_bytes(text, at);
    result += bytes == 0 ? "?" : text.substr(at, bytes);
    at += std::max<size_t>(bytes, 1);
  }
  return result;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : printable(text))
    result += c == '&'   ? "&amp;"
              : c == '<' ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  return result;
}

}  // namespace rondo::tool
