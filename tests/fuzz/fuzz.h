// SPDX-License-Identifier: Apache-2.0
// What fuzzers say of the readers that they feed: see run_fuzzer.py.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/status.h"

namespace rondo::fuzz {

constexpr const char* kSource = "fuzzed";  // the name of the input

/// Ends the program unless it holds, so that libFuzzer keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// A reader that refuses a file says which, and nothing that a terminal would obey.
inline void require_named(const Status& failure) {
  const std::string& message = failure.message();
  require(failure.code() == Code::InvalidArgument, "a refused input is an invalid argument");
  require(message.starts_with(kSource), "an error begins with the name of the input");
  for (const unsigned char c : message) require(c >= ' ' && c != 0x7f, "an error is plain text of one line");
}

}  // namespace rondo::fuzz
