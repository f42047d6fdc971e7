// SPDX-License-Identifier: Apache-2.0
// FileText: the bytes of a file or a pipe, piece by piece, without a wait that has no end. Used by the
// readers of this room; one thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/fd.h"
#include "base/status.h"

namespace rondo {

/// No description of a host is near this limit.
constexpr size_t kMaxDescriptionBytes = size_t{4} << 20;

class FileText {
 public:
  /// SystemError if there is no such file.
  static Result<FileText> open(const std::string& path);

  /// Some of the bytes that follow, at least one; 0: the file has ended. SystemError if it cannot be read,
  /// Timeout if nothing is written to a pipe for five seconds.
  Result<size_t> read(char* to, size_t bytes);

 private:
  FileText(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Fd file_;
  std::string path_;
};

/// All of a description of a host; InvalidArgument if it is larger than kMaxDescriptionBytes.
Result<std::string> read_file(const std::string& path);

}  // namespace rondo
