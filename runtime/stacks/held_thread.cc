// SPDX-License-Identifier: Apache-2.0
#include "held_thread.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/clock.h"
#include "base/per_process.h"
#include "program_threads.h"

namespace rondo {
namespace {

constexpr int kSignal = SIGURG;
/// How long a thread may take to come to the handler, and how long it stays there at most.
constexpr int64_t kMaxArrival_ms = 100;
constexpr int64_t kMaxHeld_ns = 100'000'000;

enum class Hold : int { None, Wanted, Held, Released, Expired };

// What the handler and the thread that waits for it share. Used by the handler, so constant-initialized and
// never freed.
constinit std::atomic<Hold> hold{Hold::None};
constinit std::atomic<pid_t> held_thread{0};
constinit std::array<std::atomic<uint64_t>, DwarfRegister::kCount> held_registers{};

/// Guards the handler.
struct HandlerMutex {
  std::mutex one_at_a_time;
};
std::mutex& handler_mutex() { return per_process<HandlerMutex>().one_at_a_time; }

int64_t handler_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

#if defined(__x86_64__)
/// By DWARF's numbers.
constexpr int kPlaces[DwarfRegister::kCount] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

void copy_registers(const void* context) {
  const auto& values = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  for (size_t i = 0; i < held_registers.size(); ++i)
    held_registers[i].store(static_cast<uint64_t>(values[kPlaces[i]]), std::memory_order_relaxed);
}
#else
void copy_registers(const void*) {}
#endif

/// Calls nothing that is not async-signal-safe, and waits for a bounded time. A signal that is not for this
/// thread, or comes too late, does nothing.
void stay(int, siginfo_t*, void* context) {
  const int error_number = errno;
  if (held_thread.load() == static_cast<pid_t>(::syscall(SYS_gettid))) {
    copy_registers(context);
    Hold wanted = Hold::Wanted;
    if (hold.compare_exchange_strong(wanted, Hold::Held)) {
      const int64_t until_ns = handler_clock_ns() + kMaxHeld_ns;
      while (hold.load() == Hold::Held && handler_clock_ns() < until_ns) ::sched_yield();
      Hold held = Hold::Held;
      hold.compare_exchange_strong(held, Hold::Expired);
    }
  }
  errno = error_number;
}

/// Ours may be there if this process was forked while its parent held a thread.
bool may_replace(const struct sigaction& handler) {
  return (handler.sa_flags & SA_SIGINFO) != 0 ? handler.sa_sigaction == stay : handler.sa_handler == SIG_DFL;
}

bool install() {
  struct sigaction ours {};
  ours.sa_sigaction = stay;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  struct sigaction now {};
  return ::sigaction(kSignal, nullptr, &now) == 0 && may_replace(now) &&
         ::sigaction(kSignal, &ours, nullptr) == 0;
}

/// Only if the program has not set one meanwhile.
void uninstall() {
  struct sigaction now {};
  const bool is_ours = ::sigaction(kSignal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
                       now.sa_sigaction == stay;
  struct sigaction none {};
  none.sa_handler = SIG_DFL;
  if (is_ours) ::sigaction(kSignal, &none, nullptr);
}

/// A thread that was held before may still be in the handler, where it takes no signal.
bool will_take_signal(pid_t thread) {
  const Deadline deadline = Deadline::in_ms(held_thread == thread ? kMaxArrival_ms : 0);
  while (!takes_signal(thread, kSignal)) {
    if (deadline.passed()) return false;
    ::sched_yield();
  }
  return true;
}

}  // namespace

HeldThread::HeldThread(pid_t thread, const std::string& waited) {
#if defined(__x86_64__)
  handler_mutex().lock();
  if (!will_take_signal(thread) || !install()) return;
  is_installed_ = true;
  if (times_waited(thread) != waited) return;
  held_thread = thread;
  hold = Hold::Wanted;
  if (::syscall(SYS_tgkill, ::getpid(), thread, kSignal) == 0) {
    const Deadline deadline = Deadline::in_ms(kMaxArrival_ms);
    while (hold.load() == Hold::Wanted && !deadline.passed()) ::sched_yield();
  }
  Hold wanted = Hold::Wanted;
  is_held_ = !hold.compare_exchange_strong(wanted, Hold::None);
#else
  static_cast<void>(thread);
  static_cast<void>(waited);
  handler_mutex().lock();
#endif
}

HeldThread::~HeldThread() {
  release();
  if (is_installed_) uninstall();
  handler_mutex().unlock();
}

std::optional<ThreadRegisters> HeldThread::registers() const {
  if (!is_held_) return std::nullopt;
  ThreadRegisters values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = held_registers[i].load();
  return values;
}

bool HeldThread::release() {
  if (!is_held_) return false;
  is_held_ = false;
  Hold held = Hold::Held;
  return hold.compare_exchange_strong(held, Hold::Released);
}

}  // namespace rondo
