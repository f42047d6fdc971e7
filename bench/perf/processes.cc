// SPDX-License-Identifier: Apache-2.0
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "exit_code.h"

namespace rondo::perf {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{3};  // after a failure, for the others to report what they saw
constexpr int kCannotStart = 3;

struct Pipe {
  int read_end = -1, write_end = -1;

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  void close_read() { close_end(read_end); }
  void close_write() { close_end(write_end); }

 private:
  static void close_end(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

/// The first process has several descriptors for each of the others.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class Family {
 public:
  bool start(int processes, const std::function<int(int, const ChildPipes&)>& child);
  int watch(const std::function<void(const std::string&)>& on_line);

 private:
  [[noreturn]] void become(int number, pid_t parent, const std::function<int(int, const ChildPipes&)>& child);
  void kill_all(int signal);
  void reap();
  void note_end(int number, int wait_status);
  void take_signal();
  void take_rows(const std::function<void(const std::string&)>& on_line);
  int wait_ms() const;

  std::vector<pid_t> pids_;  // 0: has exited
  size_t alive_ = 0;
  Pipe id_, rows_;
  sigset_t old_mask_{};
  int signals_ = -1;
  int result_ = 0;
  Clock::time_point kill_at_ = Clock::time_point::max();
  std::string partial_;
};

void Family::become(int number, pid_t parent, const std::function<int(int, const ChildPipes&)>& child) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // the parent died before prctl() took effect
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  close(signals_);
  rows_.close_read();
  // Keeps each end open only in the process that uses it, so that a death closes the pipe.
  if (number == 0) {
    id_.close_read();
  } else {
    id_.close_write();
  }
  std::exit(with_output([&] { return child(number, {id_.read_end, id_.write_end, rows_.write_end}); }));
}

bool Family::start(int processes, const std::function<int(int, const ChildPipes&)>& child) {
  if (!id_.open() || !rows_.open()) return false;
  const sigset_t watched = watched_signals();
  sigprocmask(SIG_BLOCK, &watched, &old_mask_);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  const pid_t parent = getpid();
  allow_many_files();
  fflush(nullptr);  // otherwise every child prints the buffered output again
  for (int number = 0; number < processes; ++number) {
    const pid_t pid = fork();
    if (pid == 0) become(number, parent, child);
    if (pid < 0) {
      fmt::print(stderr, "rondo-perf: cannot start process {} of {}: {}\n", number, processes,
                 strerror(errno));
      result_ = kCannotStart;
      kill_all(SIGKILL);
      break;
    }
    pids_.push_back(pid);
    ++alive_;
  }
  id_.close_read();
  id_.close_write();
  rows_.close_write();
  return true;
}

void Family::kill_all(int signal) {
  for (const pid_t pid : pids_) {
    if (pid > 0) kill(pid, signal);
  }
}

void Family::note_end(int number, int wait_status) {
  const bool by_signal = WIFSIGNALED(wait_status);
  const int code = by_signal ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  if (code == 0) return;
  const bool first = result_ == 0;
  if (first) {
    result_ = code;
    kill_at_ = Clock::now() + kGrace;
    if (by_signal)
      fmt::print(stderr, "rondo-perf: process {} was ended by signal {} ({})\n", number,
                 WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
  }
}

void Family::reap() {
  int wait_status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    for (size_t number = 0; number < pids_.size(); ++number) {
      if (pids_[number] != pid) continue;
      pids_[number] = 0;
      --alive_;
      note_end(static_cast<int>(number), wait_status);
    }
  }
}

void Family::take_signal() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    const auto number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) continue;  // reap() runs after every poll
    result_ = 128 + number;
    kill_all(SIGKILL);
  }
}

void Family::take_rows(const std::function<void(const std::string&)>& on_line) {
  char bytes[4096];
  const ssize_t got = read(rows_.read_end, bytes, sizeof(bytes));
  if (got <= 0) {
    rows_.close_read();
    return;
  }
  partial_.append(bytes, static_cast<size_t>(got));
  for (size_t end = 0; (end = partial_.find('\n')) != std::string::npos;) {
    on_line(partial_.substr(0, end));
    partial_.erase(0, end + 1);
  }
}

int Family::wait_ms() const {
  if (kill_at_ == Clock::time_point::max()) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(kill_at_ - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) + 1 : 0;
}

int Family::watch(const std::function<void(const std::string&)>& on_line) {
  while (alive_ > 0 || rows_.read_end >= 0) {
    pollfd fds[] = {{signals_, POLLIN, 0}, {rows_.read_end, POLLIN, 0}};
    const int ready = poll(fds, 2, wait_ms());
    if (ready < 0 && errno != EINTR) break;
    if (fds[0].revents != 0) take_signal();
    if (fds[1].revents != 0) take_rows(on_line);
    reap();
    if (Clock::now() >= kill_at_) {
      kill_all(SIGKILL);
      kill_at_ = Clock::time_point::max();
    }
  }
  close(signals_);
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
  return result_;
}

}  // namespace

int run_processes(int processes, const std::function<int(int, const ChildPipes&)>& child,
                  const std::function<void(const std::string&)>& on_line) {
  Family family;
  if (!family.start(processes, child)) {
    fmt::print(stderr, "rondo-perf: cannot start processes: {}\n", strerror(errno));
    return kCannotStart;
  }
  return family.watch(on_line);
}

int with_output(const std::function<int()>& part) {
  try {
    const int code = part();
    if (fflush(stdout) == 0 && ferror(stdout) == 0) return code;
  } catch (const std::system_error&) {  // of fmt::print(), if it is more than a buffer holds
  }
  fmt::print(stderr, "rondo-perf: cannot write standard output: {}\n", strerror(errno));
  return kLibraryFailed;
}

bool write_all(int fd, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

bool read_all(int fd, void* data, size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = read(fd, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace rondo::perf
