// SPDX-License-Identifier: Apache-2.0
// A call like an earlier one costs no allocation, no lock and no system call, also if calls of other lengths
// came in between. Each rank is measured only where it need not wait for another.
#include <dlfcn.h>
#include <linux/prctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>

#include "catch.h"
#include "worlds.h"

namespace {

/// What the observed code did.
struct Counts {
  int allocations = 0;
  int locks = 0;
  int system_calls = 0;
  long first_system_call = -1;
};

thread_local bool observed = false;
thread_local Counts counts;
/// Read by the kernel at each system call of a thread that enabled it.
thread_local volatile char dispatch = SYSCALL_DISPATCH_FILTER_ALLOW;

}  // namespace

// The library's own calls of these come here, since the linker looks into the program first.

extern "C" void* __libc_malloc(size_t bytes);
extern "C" void* malloc(size_t bytes) {
  if (observed) ++counts.allocations;
  return __libc_malloc(bytes);
}

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (observed) ++counts.locks;
  return real(mutex);
}

namespace rondo::test {
namespace {

/// Lets the system calls after the first pass: one is too many.
void note_system_call(int, siginfo_t* info, void*) {
  dispatch = SYSCALL_DISPATCH_FILTER_ALLOW;
  ++counts.system_calls;
  counts.first_system_call = info->si_syscall;
}

/// Whether this kernel reports system calls (Linux 5.11).
bool catch_system_calls() {
  struct sigaction action {};
  action.sa_sigaction = note_system_call;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSYS, &action, nullptr);
  return ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &dispatch) == 0;
}

template <typename Code>
Counts observe(bool system_calls, Code&& code) {
  counts = {};
  observed = true;
  if (system_calls) dispatch = SYSCALL_DISPATCH_FILTER_BLOCK;
  code();
  dispatch = SYSCALL_DISPATCH_FILTER_ALLOW;
  observed = false;
  return counts;
}

void require_none(const Counts& made, const std::string& what) {
  require(made.allocations == 0, what + ": " + std::to_string(made.allocations) + " allocations");
  require(made.locks == 0, what + ": " + std::to_string(made.locks) + " locks");
  require(made.system_calls == 0, what + ": system call " + std::to_string(made.first_system_call));
}

constexpr std::array<size_t, 3> kCounts{2, 16, 100};  // of floats
using Floats = std::array<float, 100>;

/// How a call is made: ordinarily, or prepared by its first use.
class Repeated {
 public:
  using Call = std::function<rondo_status_t(size_t count)>;
  Repeated(bool prepares, Call call) : prepares_(prepares), call_(std::move(call)) {}
  ~Repeated() {
    for (const auto& [count, request] : requests_) rondo_request_free(request);
  }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  rondo_status_t operator()(size_t count) {
    if (!prepares_) return call_(count);
    if (const auto known = requests_.find(count); known != requests_.end())
      return rondo_request_run(known->second);
    check(rondo_group_start());
    check(call_(count));
    check(rondo_group_prepare(&requests_[count]));
    return rondo_request_run(requests_[count]);
  }

 private:
  bool prepares_;
  Call call_;
  std::map<size_t, rondo_request_t> requests_;
};

/// Broadcasts from rank 0, which never waits: there are more slots than calls.
void repeat_broadcasts(const Rank& rank, bool system_calls, bool prepares) {
  Floats values{};
  Repeated call(prepares, [&](size_t count) {
    return rondo_broadcast(values.data(), values.data(), count, RONDO_FLOAT32, 0, rank.comm, nullptr);
  });
  for (const size_t count : kCounts) check(call(count), rank.comm);
  check(rondo_barrier(rank.comm, nullptr), rank.comm);
  if (rank.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until all is there
  rondo_status_t status = RONDO_OK;
  require_none(observe(system_calls,
                       [&] {
                         for (const size_t count : kCounts)
                           if (status == RONDO_OK) status = call(count);
                       }),
               "broadcast at rank " + std::to_string(rank.rank));
  check(status, rank.comm);
  if (rank.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));  // not in a call meanwhile
}

/// All_reduces, measured at the rank that comes last. It has to wake a peer that sleeps already, so only one
/// of several attempts must do without a system call.
void repeat_all_reduces(const Rank& rank, bool system_calls, bool prepares) {
  constexpr int kAttempts = 20;
  Floats from{};
  Floats to{};
  Repeated call(prepares, [&](size_t count) {
    return rondo_all_reduce(from.data(), to.data(), count, RONDO_FLOAT32, RONDO_SUM, rank.comm, nullptr);
  });
  for (const size_t count : kCounts) check(call(count), rank.comm);
  for (const size_t count : kCounts) {
    Counts least{.system_calls = kAttempts};
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      if (rank.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rondo_status_t status = RONDO_OK;
      const Counts made = observe(system_calls, [&] { status = call(count); });
      check(status, rank.comm);
      least.allocations += made.allocations;
      least.locks += made.locks;
      if (made.system_calls > least.system_calls) continue;
      least.system_calls = made.system_calls;
      least.first_system_call = made.first_system_call;
    }
    if (rank.rank == 1) require_none(least, "all_reduce");
  }
}

TEST_CASE("a repeated call allocates nothing, takes no lock and makes no system call, prepared or not") {
  const bool prepares = GENERATE(false, true);
  for (const char* executor : {"shm_pull", "connections"}) {
    INFO(executor << (prepares ? ", prepared" : ""));
    const std::string algorithm =
        std::string("broadcast=@") + executor + ";all_reduce=one_shot@" + executor + ";barrier=@" + executor;
    expect_success(
        run_world({.nranks = 2, .transport = "shm", .algorithm = algorithm}, [prepares](Rank& rank) {
          const bool system_calls = catch_system_calls();
          repeat_broadcasts(rank, system_calls, prepares);
          repeat_all_reduces(rank, system_calls, prepares);
        }));
  }
}

TEST_CASE("allocations, locks and system calls are observed") {
  const bool system_calls = catch_system_calls();
  const Counts made = observe(system_calls, [] {
    ::free(::malloc(100));  // NOLINT
    std::mutex mutex;
    mutex.lock();
    mutex.unlock();
    ::syscall(SYS_getpid);
  });
  CHECK(made.allocations == 1);
  CHECK(made.locks == 1);
  CHECK(made.first_system_call == (system_calls ? SYS_getpid : -1));
  if (!system_calls) WARN("this kernel does not report system calls, so those were not counted");
}

}  // namespace
}  // namespace rondo::test
