// SPDX-License-Identifier: Apache-2.0
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <optional>
#include <vector>

#include "child.h"
#include "environment.h"
#include "heap_library.h"
#include "input.h"
#include "keeper.h"
#include "output.h"

namespace rondo::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLauncherFailed = 125;  // as in env(1) and timeout(1)
constexpr int kTimedOut = 124;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

struct RankProcess {
  pid_t pid = -1;  // also its process group
  bool ended = false;
};

class Supervisor {
 public:
  explicit Supervisor(const RunOptions& options) : options_(options) {}
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  int run();

 private:
  bool prepare();
  bool start_ranks();
  bool start_rank(int rank);
  void loop();
  void poll_once();
  void pass_output(size_t rank);
  void take_signals();
  void take_signal(int signal);
  void look_for_ends();
  void note_end(int rank, const siginfo_t& info);
  std::optional<int> exec_failure();
  void end_all(int exit_code);
  void send(int signal, bool ended_too);
  void check_clock();
  void clean_up();
  int refuse(const char* what);
  int wait_ms() const;

  const RunOptions& options_;
  JobInfo job_;
  Keeper keeper_;
  Input input_;
  int null_ = -1;
  int signals_ = -1;
  int failures_[2] = {-1, -1};
  sigset_t old_mask_{};
  std::deque<Output> outputs_;  // two per rank if output gets a prefix
  std::vector<RankProcess> ranks_;
  size_t alive_ = 0;
  int exit_code_ = 0;
  bool ending_ = false;
  Clock::time_point kill_at_ = Clock::time_point::max();
  Clock::time_point time_out_at_ = Clock::time_point::max();
};

void say(const std::string& text) { write_all(STDERR_FILENO, "rondo-run: " + text + "\n"); }

Clock::duration seconds(double number) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(number));
}

// Two pipes per rank can exceed the usual limit of 1024 descriptors.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Supervisor::refuse(const char* what) {
  say(fmt::format("{}: {}", what, strerror(errno)));
  return kLauncherFailed;
}

bool Supervisor::prepare() {
  job_.ranks = options_.ranks;
  job_.port = free_port();
  const char* secret = std::getenv("RONDO_SECRET");
  job_.secret = secret != nullptr && *secret != '\0' ? secret : random_secret();
  if (job_.port == 0 || job_.secret.empty()) return false;
  if (!keeper_.start()) return false;
  if (options_.ranks > 256) allow_many_files();
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, &old_mask_);
  std::signal(SIGPIPE, SIG_IGN);  // write() reports it as well
  std::signal(SIGTTIN, SIG_IGN);  // in the background, read() fails instead
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  null_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return signals_ >= 0 && null_ >= 0 && pipe2(failures_, O_CLOEXEC | O_NONBLOCK) == 0 && input_.open();
}

bool Supervisor::start_rank(int rank) {
  ChildSetup setup;
  setup.command = options_.command;
  setup.variables = rank_variables(job_, rank);
  setup.in = rank == 0 ? input_.rank_end() : null_;
  setup.failure = failures_[1];
  setup.signal_mask = old_mask_;
  if (options_.prefix) {
    for (const int to : {STDOUT_FILENO, STDERR_FILENO}) {
      if (!outputs_.emplace_back(rank, to).open()) return false;
    }
    setup.out = outputs_[outputs_.size() - 2].rank_end();
    setup.err = outputs_.back().rank_end();
  }
  const pid_t pid = start_child(setup);
  if (pid < 0) return false;
  keeper_.add(pid);
  ranks_.push_back({pid, false});
  ++alive_;
  if (options_.prefix) {
    outputs_[outputs_.size() - 2].close_rank_end();
    outputs_.back().close_rank_end();
  }
  return true;
}

bool Supervisor::start_ranks() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    if (start_rank(rank)) continue;
    exit_code_ = refuse(fmt::format("cannot start rank {}", rank).c_str());
    end_all(exit_code_);
    return false;
  }
  input_.close_rank_end();
  return true;
}

// Signals the ranks' process groups; `ended_too` includes groups whose first process has ended.
void Supervisor::send(int signal, bool ended_too) {
  for (const RankProcess& rank : ranks_) {
    if (!rank.ended || ended_too) kill(-rank.pid, signal);
  }
}

void Supervisor::end_all(int exit_code) {
  if (exit_code_ == 0) exit_code_ = exit_code;
  if (ending_) return;
  ending_ = true;
  send(SIGTERM, true);
  send(SIGCONT, true);  // a stopped process handles no other signal
  kill_at_ = Clock::now() + seconds(options_.grace_s);
}

std::optional<int> Supervisor::exec_failure() {
  int why = 0;
  if (read(failures_[0], &why, sizeof(why)) != static_cast<ssize_t>(sizeof(why))) return std::nullopt;
  return why;
}

void Supervisor::note_end(int rank, const siginfo_t& info) {
  const bool by_signal = info.si_code != CLD_EXITED;
  const int code = by_signal ? 128 + info.si_status : info.si_status;
  if (code == 0 || ending_) return;
  if (const auto why = exec_failure()) {
    say(fmt::format("cannot run {}: {}", options_.command[0], strerror(*why)));
    return end_all(*why == ENOENT ? kNotFound : kCannotRun);
  }
  const std::string how =
      by_signal ? fmt::format("was ended by signal {} ({})", info.si_status, strsignal(info.si_status))
                : fmt::format("exited with code {}", code);
  const char* then = options_.keep_going || alive_ == 0 ? "" : "; ending the others";
  say(fmt::format("rank {} (process {}) {}{}", rank, info.si_pid, how, then));
  if (exit_code_ == 0) exit_code_ = code;
  if (!options_.keep_going) end_all(code);
}

// The processes stay zombies until the end, so that their group ids cannot be reused.
void Supervisor::look_for_ends() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    RankProcess& rank = ranks_[i];
    siginfo_t info{};
    if (rank.ended) continue;
    if (waitid(P_PID, static_cast<id_t>(rank.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
      continue;
    rank.ended = true;
    --alive_;
    pass_output(i);  // its last output precedes the message about its end
    note_end(static_cast<int>(i), info);
  }
}

void Supervisor::take_signal(int signal) {
  switch (signal) {
    case SIGCHLD: return;
    case SIGUSR1:
    case SIGUSR2: return send(signal, false);
    default: break;
  }
  if (ending_) return send(SIGKILL, true);  // the second request kills
  say(fmt::format("signal {} ({}) ends the ranks", signal, strsignal(signal)));
  send(signal, true);
  send(SIGCONT, true);
  if (exit_code_ == 0) exit_code_ = 128 + signal;
  ending_ = true;
  kill_at_ = Clock::now() + seconds(options_.grace_s);
}

void Supervisor::take_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info)))
    take_signal(static_cast<int>(info.ssi_signo));
}

void Supervisor::pass_output(size_t rank) {
  if (!options_.prefix) return;
  for (size_t i = 2 * rank; i < 2 * rank + 2; ++i) {
    if (!outputs_[i].pass_on()) end_all(128 + SIGPIPE);
  }
}

int Supervisor::wait_ms() const {
  const auto until = std::min(kill_at_, time_out_at_);
  if (until == Clock::time_point::max()) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min<int64_t>(left + 1, 3'600'000));
}

void Supervisor::check_clock() {
  const auto now = Clock::now();
  if (now >= time_out_at_) {
    time_out_at_ = Clock::time_point::max();
    say(fmt::format("{} of {} ranks still run after {} s; ending them", alive_, ranks_.size(),
                    options_.timeout_s));
    end_all(kTimedOut);
  }
  if (now >= kill_at_) {
    kill_at_ = Clock::time_point::max();
    send(SIGKILL, true);
  }
}

void Supervisor::poll_once() {
  std::vector<pollfd> fds{{signals_, POLLIN, 0}, {input_.own_end(), POLLIN, 0}};
  for (const Output& output : outputs_) fds.push_back({output.own_end(), POLLIN, 0});
  poll(fds.data(), fds.size(), wait_ms());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (fds[i + 2].revents != 0 && !outputs_[i].pass_on()) end_all(128 + SIGPIPE);
  }
  if (fds[1].revents != 0) input_.pass_on();
  if (fds[0].revents != 0) take_signals();
}

void Supervisor::loop() {
  while (alive_ > 0) {
    poll_once();
    look_for_ends();
    check_clock();
  }
}

// Kills everything that the ranks left behind in their groups, then forwards its remaining output.
void Supervisor::clean_up() {
  send(SIGKILL, true);
  for (Output& output : outputs_) {
    output.pass_on();
    output.finish();
  }
  for (const RankProcess& rank : ranks_) waitpid(rank.pid, nullptr, 0);
}

int Supervisor::run() {
  if (options_.heap) {
    job_.preload = preload_with_heap();
    if (job_.preload.empty()) {
      say("--heap: there is no librondo-heap.so beside rondo-run");
      return kLauncherFailed;
    }
  }
  if (!prepare()) return refuse("cannot start");
  if (options_.timeout_s > 0) time_out_at_ = Clock::now() + seconds(options_.timeout_s);
  start_ranks();
  loop();
  clean_up();
  return exit_code_;
}

Supervisor::~Supervisor() {
  for (const int fd : {null_, signals_, failures_[0], failures_[1]}) {
    if (fd >= 0) close(fd);
  }
}

}  // namespace

int supervise(const RunOptions& options) { return Supervisor(options).run(); }

}  // namespace rondo::run
