// SPDX-License-Identifier: Apache-2.0
// Standard input for rank 0. A file or pipe is simply inherited. A terminal cannot be, because it stops
// readers outside the foreground process group, so its lines are forwarded. Used by rondo-run's only thread.
#pragma once

namespace rondo::run {

class Input {
 public:
  Input() = default;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  /// Detects the kind of standard input. False if creating a pipe fails.
  bool open();

  int rank_end() const { return rank_end_; }  // rank 0's standard input; -1: inherited
  int own_end() const;                        // to poll; -1: nothing to forward
  void close_rank_end();

  /// Forwards typed input.
  void pass_on();

 private:
  void stop();

  int rank_end_ = -1, to_rank_ = -1;
};

}  // namespace rondo::run
