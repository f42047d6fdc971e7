// SPDX-License-Identifier: Apache-2.0
// Where the program's threads are said to be, and that they go on as if they had not been asked. Under
// ThreadSanitizer a handler runs only when its thread calls the C library, so a thread in a loop is not found
// there.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "catch.h"
#include "clock.h"
#include "sanitized.h"
#include "scoped_environment.h"
#include "stacks/process_trouble.h"
#include "stacks/program_place.h"
#include "stacks_places.h"

namespace rondo::test {
namespace {

using Catch::Matchers::Contains;

struct NamedFunctions {
  std::string kind;
  PlaceFunctions functions;
};
const NamedFunctions kKinds[] = {
    {"optimized", optimized::functions()}, {"framed", framed::functions()}, {"plain", plain::functions()}};

/// A thread in one of the functions.
class BusyThread {
 public:
  BusyThread(PlaceFunctions::Function function, Pastime& pastime)
      : thread_([this, function, &pastime] {
          id_ = static_cast<pid_t>(::syscall(SYS_gettid));
          function(pastime);
        }) {
    while (id_ == 0) sleep_ms(1);
    sleep_ms(20);  // it comes to its innermost function
  }
  ~BusyThread() { join(); }
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;

  pid_t id() const { return id_; }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<pid_t> id_{0};
  std::thread thread_;
};

/// Ends what is under way in the functions at the end of its scope.
class Pipe {
 public:
  explicit Pipe(Pastime& pastime) : pastime_(pastime) { REQUIRE(::pipe(pastime.pipe) == 0); }
  ~Pipe() {
    for (const int fd : pastime_.pipe) ::close(fd);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void write() const { CHECK(::write(pastime_.pipe[1], "x", 1) == 1); }

 private:
  Pastime& pastime_;
};

bool has_default_action() {
  struct sigaction now {};
  return ::sigaction(SIGURG, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

std::string function_text(const std::string& kind, const std::string& name) {
  return "rondo::test::" + kind + "::" + name + "() (test_runtime_stacks+0x";
}

std::string waiting_text(const std::string& call, const std::string& kind, const std::string& name) {
  return "is in " + call + "() of the C library, called from " + function_text(kind, name);
}

}  // namespace

TEST_CASE("a thread in a loop is found, and goes on") {
  if (kThreadSanitizer) return;
  for (const auto& [kind, functions] : kKinds) {
    Pastime pastime;
    BusyThread thread(functions.turn, pastime);
    int found = 0;
    for (int look = 0; look < 20; ++look) {
      const std::string text = place_text(thread.id());
      if (text == "runs") continue;  // the host is busy: the thread came too late
      CHECK_THAT(text, Contains(function_text(kind, "turn")));
      ++found;
    }
    CHECK(found > 0);
    CHECK(has_default_action());
    pastime.ends = true;
  }
}

TEST_CASE("several that ask for a thread at the same time find it") {
  if (kThreadSanitizer) return;
  constexpr int kAsking = 4;
  constexpr int kLooks = 10;
  Pastime pastime;
  BusyThread thread(kKinds[0].functions.turn, pastime);
  std::atomic<int> found = 0;
  std::vector<std::thread> asking;
  for (int i = 0; i < kAsking; ++i)
    asking.emplace_back([&] {
      for (int look = 0; look < kLooks; ++look) found += place_text(thread.id()) != "runs" ? 1 : 0;
    });
  for (std::thread& one : asking) one.join();
  CHECK(2 * found > kAsking * kLooks);  // if the host is busy, the thread may come too late
  pastime.ends = true;
}

TEST_CASE("a thread that waits is found, and its system call goes on") {
  for (const auto& [kind, functions] : kKinds) {
    INFO(kind);
    Pastime pastime;
    const Pipe pipe(pastime);
    constexpr int kLooks = 20;
    {
      BusyThread thread(functions.read_byte, pastime);
      for (int look = 0; look < kLooks; ++look) {
        const std::string text = place_text(thread.id());
        CHECK_THAT(text, Contains(function_text(kind, "read_byte")));
        if (!kSanitized) CHECK_THAT(text, Contains(waiting_text("read", kind, "read_byte")));
      }
      pipe.write();
    }
    CHECK(pastime.error_number == 0);
    {
      BusyThread thread(functions.await_byte, pastime);
      for (int look = 0; look < kLooks; ++look)
        CHECK_THAT(place_text(thread.id()), Contains(function_text(kind, "await_byte")));
      pipe.write();
    }
    CHECK(pastime.error_number == 0);
    ::pthread_mutex_lock(&pastime.mutex);
    {
      BusyThread thread(functions.take_lock, pastime);
      for (int look = 0; look < kLooks; ++look)
        CHECK_THAT(place_text(thread.id()), Contains(function_text(kind, "take_lock")));
      ::pthread_mutex_unlock(&pastime.mutex);
    }
    CHECK(pastime.error_number == 0);
    constexpr double kNap_s = 0.5;
    pastime.sleep_ns = static_cast<long>(kNap_s * 1e9);
    const double start_s = seconds_now();
    {
      BusyThread thread(functions.take_nap, pastime);
      for (int look = 0; look < kLooks && seconds_now() - start_s < kNap_s / 2; ++look)
        CHECK_THAT(place_text(thread.id()), Contains(function_text(kind, "take_nap")));
    }
    CHECK(pastime.error_number == 0);
    CHECK(seconds_now() - start_s >= kNap_s);
  }
}

TEST_CASE("a thread that sleeps again and again is not interrupted") {
  std::atomic<bool> ends{false};
  std::atomic<pid_t> id{0};
  int interrupted = 0;
  std::thread thread([&] {
    id = static_cast<pid_t>(::syscall(SYS_gettid));
    const timespec span{.tv_sec = 0, .tv_nsec = 200'000};
    while (!ends)
      if (::nanosleep(&span, nullptr) != 0) ++interrupted;
  });
  while (id == 0) sleep_ms(1);
  for (int look = 0; look < 100; ++look) place_text(id);
  ends = true;
  thread.join();
  CHECK(interrupted == 0);
}

TEST_CASE("a thread is not interrupted if the program uses the signal or blocks it") {
  const PlaceFunctions functions = optimized::functions();
  static std::atomic<int> urgent{0};
  struct sigaction own {};
  own.sa_handler = [](int) { ++urgent; };
  struct sigaction before {};
  REQUIRE(::sigaction(SIGURG, &own, &before) == 0);
  {
    Pastime pastime;
    BusyThread thread(functions.turn, pastime);
    CHECK(place_text(thread.id()) == "runs");
    pastime.ends = true;
  }
  CHECK(urgent == 0);
  REQUIRE(::sigaction(SIGURG, &before, nullptr) == 0);
  Pastime pastime;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGURG);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // the thread inherits it
  {
    BusyThread thread(functions.turn, pastime);
    CHECK(place_text(thread.id()) == "runs");
    pastime.ends = true;
  }
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

TEST_CASE("all threads of the program are listed, the main thread first, and those of the library are not") {
  const PlaceFunctions functions = plain::functions();
  Pastime pastime;
  const Pipe pipe(pastime);
  BusyThread thread(functions.read_byte, pastime);
  std::atomic<bool> ends{false};
  std::atomic<pid_t> own_id{0};
  std::thread own([&] {
    ::pthread_setname_np(::pthread_self(), "rondo-service");
    own_id = static_cast<pid_t>(::syscall(SYS_gettid));
    while (!ends) sleep_ms(1);
  });
  while (own_id == 0) sleep_ms(1);
  const ProgramPlace program = program_place(WhileRunning::LeaveAlone);
  ends = true;
  own.join();
  pipe.write();
  REQUIRE_FALSE(program.threads.empty());
  CHECK(program.threads.front().thread == ::getpid());
  CHECK(std::ranges::count(program.threads, own_id.load(), &ThreadPlace::thread) == 0);
  const auto found = std::ranges::find(program.threads, thread.id(), &ThreadPlace::thread);
  REQUIRE(found != program.threads.end());
  const ThreadPlace& other = *found;
  CHECK_FALSE(other.runs);
  CHECK(other.python.empty());
  const auto frame = std::ranges::find(other.native, "rondo::test::plain::read_byte", &NativePlace::function);
  REQUIRE(frame != other.native.end());
  CHECK_THAT(frame->module, Contains("test_runtime_stacks"));
  CHECK(frame->build_id.size() % 2 == 0);
  CHECK(program.obstacle.empty());
}

TEST_CASE("RONDO_STACKS turns it off, and must be a switch") {
  {
    const Environment off("RONDO_STACKS", "0");
    REQUIRE(read_stacks_setting().ok());
    CHECK(place_text(::getpid()).empty());
    CHECK(program_place(WhileRunning::Signal).threads.empty());
  }
  {
    const Environment wrong("RONDO_STACKS", "perhaps");
    CHECK_THAT(read_stacks_setting().message(), Contains("RONDO_STACKS is 'perhaps'"));
  }
  REQUIRE(read_stacks_setting().ok());
  CHECK_FALSE(program_place(WhileRunning::LeaveAlone).threads.empty());
}

TEST_CASE("what precedes main() is not shown of a stripped program either") {
  const std::string c = "the C library";
  const ThreadPlace place{
      .native = {
          {.function = "", .module = "/job/train", .build_id = "", .offset = 16},
          {.function = "", .module = "/lib/libc.so.6", .build_id = "", .offset = 7, .library = c},
          {.function = "__libc_start_main",
           .module = "/lib/libc.so.6",
           .build_id = "",
           .offset = 9,
           .library = c},
          {.function = "", .module = "/job/train", .build_id = "", .offset = 48},
      }};
  CHECK(place.text() == "is in train+0x10");
}

TEST_CASE("a line is short and has no control characters") {
  CHECK(clean_place("a\x1b[2J\nb") == "a?[2J?b");
  CHECK(clean_place(std::string(10'000, 'a')).size() == kMaxPlaceBytes);
}

namespace {

/// A child that does as it is told, until the end of the scope.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    body();
    ::_exit(0);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  /// As soon as there is any.
  std::string trouble() const {
    std::string text;
    for (int look = 0; look < 5000 && text.empty(); ++look, sleep_ms(1)) text = process_trouble(pid_);
    return text;
  }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("it is said of a process that it is stopped, is traced or has ended") {
  const Child stopped([] { ::raise(SIGSTOP); });
  CHECK(stopped.trouble() == "is stopped (SIGSTOP or job control)");
  const Child traced([] {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
  });
  CHECK(traced.trouble() ==
        "is held by process " + std::to_string(::getpid()) + " (test_runtime_st), which traces it");
  const Child ended([] {});
  CHECK(ended.trouble() == "has ended, and its parent has not waited for it (zombie)");
  const Child healthy([] { sleep_ms(60'000); });
  CHECK(process_trouble(healthy.pid()).empty());
}

}  // namespace rondo::test
