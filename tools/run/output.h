// SPDX-License-Identifier: Apache-2.0
// Forwards a rank's standard output or error to rondo-run's. Used by rondo-run's only thread.
#pragma once

#include <cstddef>
#include <string>

#include "lines.h"

namespace rondo::run {

class Output {
 public:
  Output(int rank, int to) : to_(to), lines_("[" + std::to_string(rank) + "] ") {}
  Output(Output&& other) noexcept;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  /// Creates the pipe. False on failure.
  bool open();

  int rank_end() const { return rank_end_; }  // for the rank's process
  int own_end() const { return own_end_; }    // to poll; -1 after end of file
  void close_rank_end();

  /// Forwards what has arrived, without waiting for more. False if writing fails.
  bool pass_on();

  /// Closes this end and forwards an unterminated last line. False if writing fails.
  bool finish();

 private:
  bool pass_bytes(const char* bytes, size_t count);

  int to_;
  int rank_end_ = -1, own_end_ = -1;
  LinePrefixer lines_;
};

/// Writes all of `text`; false on failure.
bool write_all(int fd, const std::string& text);

}  // namespace rondo::run
