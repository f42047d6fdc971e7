// A rank's standard output or error on its way to rondo-run's. Used by the one thread of rondo-run.
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

  /// Makes the pipe. False where the system refuses.
  bool open();

  int rank_end() const { return rank_end_; }  // for the rank's process
  int own_end() const { return own_end_; }    // to poll; -1 at its end
  void close_rank_end();

  /// Passes on what has arrived, without waiting for more. False where nobody takes it.
  bool pass_on();

  /// The same, and the line that never got its end.
  bool finish();

 private:
  bool pass_bytes(const char* bytes, size_t count);

  int to_;
  int rank_end_ = -1, own_end_ = -1;
  LinePrefixer lines_;
};

/// All of `text`, or false.
bool write_all(int fd, const std::string& text);

}  // namespace rondo::run
