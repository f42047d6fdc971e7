// SPDX-License-Identifier: Apache-2.0
// Rules: the choices that RONDO_ALGORITHM requests, by collective and by size. Parsed when a communicator is
// made, constant afterwards; read by its Selector, on the thread that uses the communicator.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "call/call.h"

namespace rondo {

struct ForcedChoice {
  std::string algorithm;  // empty: any
  std::string executor;   // empty: any
};

class Rules {
 public:
  /// `text`: "all_reduce=two_shot:64K,ring;broadcast=chain@connections;reduce=@gpu_staged;@rules.txt", or
  /// empty; docs/algorithms.md has the syntax. InvalidArgument says what is wrong, and in which line of a
  /// file.
  static Result<Rules> parse(std::string_view text);
  /// A file's contents; `source` is its name in errors.
  static Result<Rules> of_file(std::string_view text, const std::string& source);

  /// The choice for the call's size; a size that some ranks do not know counts as longer than every limit.
  ForcedChoice choice(const Call& call, int nranks) const;

 private:
  struct SizedChoice {
    size_t max_bytes;
    ForcedChoice choice;
  };
  static Result<SizedChoice> parse_sized(CollectiveKind kind, std::string_view text);
  Status add(std::string_view rule);
  Status append(CollectiveKind kind, std::string_view text);
  Status add_file(const std::string& path);
  Status add_line(std::string line);
  Status add_lines(std::string_view text, const std::string& source);

  std::map<CollectiveKind, std::vector<SizedChoice>> choices_;  // by ascending max_bytes
};

}  // namespace rondo
