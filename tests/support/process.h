// SPDX-License-Identifier: Apache-2.0
// Pieces of code that run in processes of their own, and how they ended.
//
//     CHECK(Process([] { require(fork_safe(), "it is not"); }).wait().failure() == "");
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <array>
#include <concepts>
#include <functional>
#include <new>
#include <string>

namespace rondo::test {

/// Throws `what` unless `condition`.
void require(bool condition, const std::string& what);
/// For the elements of long vectors: the text is made only if it is thrown.
inline void require(bool condition, const char* what) {
  if (!condition) require(false, std::string(what));
}
template <std::invocable Describe>
void require(bool condition, const Describe& describe) {
  if (!condition) require(false, std::string(describe()));
}

struct Outcome {
  bool ok = false;
  bool hung = false;
  int signal = 0;     // that ended the process
  int status = 0;     // with which it exited
  std::string error;  // thrown by the body

  /// All of this as text; empty if it is ok.
  std::string failure() const;
};

/// A value in memory that is shared with the processes forked during its lifetime.
template <typename Value>
class Shared {
 public:
  Shared() {
    void* const memory =
        ::mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(memory != MAP_FAILED, "no shared memory");
    value_ = new (memory) Value{};
  }
  ~Shared() { ::munmap(static_cast<void*>(value_), sizeof(Value)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  Value& operator*() const { return *value_; }
  Value* operator->() const { return value_; }

 private:
  Value* value_;
};

/// A child process that runs `body` and exits at once, without exit handlers. A body reports its failure by
/// an exception. The child ends with this object, and with the thread that made it.
class Process {
 public:
  explicit Process(const std::function<void()>& body);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  /// Waits for the end; a process that takes longer than `limit_s` hangs, and is killed.
  Outcome wait(double limit_s = 60);

 private:
  Shared<std::array<char, 16'384>> error_;
  pid_t pid_ = 0;  // 0: it has ended
};

}  // namespace rondo::test
