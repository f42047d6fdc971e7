// Standard input for rank 0. A file or pipe is simply inherited; a terminal cannot be, because it stops
// readers outside of the foreground process group, so that its lines are handed on. Used by the one thread of
// rondo-run.
#pragma once

namespace rondo::run {

class Input {
 public:
  Input() = default;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  /// Looks at what standard input is. False where the system refuses a pipe.
  bool open();

  int rank_end() const { return rank_end_; }  // rank 0's standard input; -1: to be inherited
  int own_end() const;                        // to poll; -1: nothing to hand on
  void close_rank_end();

  /// Hands on what was typed.
  void pass_on();

 private:
  void stop();

  int rank_end_ = -1, to_rank_ = -1;
};

}  // namespace rondo::run
