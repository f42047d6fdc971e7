// SPDX-License-Identifier: Apache-2.0
// verbs_fabric FOLDER [private]: the fabric of all processes that name the folder. The library starts it; it
// ends shortly after its last device is closed. private: the folder is the fabric's own, and goes with it.
// verbs_fabric FOLDER command TEXT...: has the fabric carry out a command of README.md.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "../send_command.h"
#include "fabric.h"

namespace rondo::fabric {
namespace {

constexpr uint64_t kUnused_ns = 1'000'000'000;  // without a device for this long the fabric ends
constexpr uint64_t kFirst_ns = 10'000'000'000;  // or if none comes at the beginning
constexpr uint64_t kMaxSleep_ns = 100'000'000;
constexpr int kTurnsPerService = 8;

uint64_t clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Doorbell& doorbell_of(Fabric& fabric) { return *static_cast<Doorbell*>(fabric.doorbell.data()); }

void run_commands(Fabric& fabric) {
  for (size_t i = 0; i < fabric.commands.size();) {
    if (fabric.commands[i].first > fabric.now_ns) {
      ++i;
      continue;
    }
    carry_out(fabric, fabric.commands[i].second);
    fabric.commands.erase(fabric.commands.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Everything advances a little. Returns whether there may be more to do at once.
bool turn(Fabric& fabric) {
  fabric.now_ns = clock_ns();
  run_commands(fabric);
  bool is_busy = false;
  for (const auto& [number, pair] : fabric.pairs)
    if (!pair->connection.device->is_dead && advance(fabric, *pair)) is_busy = true;
  for (Connection& connection : fabric.connections)
    for (const auto& [handle, queue] : connection.queues)
      if (!connection.device->is_dead && release(fabric, *queue)) is_busy = true;
  return is_busy;
}

bool has_posts(Fabric& fabric) {
  for (const auto& [number, pair] : fabric.pairs) {
    if (pair->connection.device->is_dead) continue;
    const bool is_error = pair->state == IBV_QPS_ERR;
    if ((is_error || pair->state == IBV_QPS_RTS) && pair->sends->head.load() != pair->seen) return true;
    if (is_error && pair->receives->head.load() != pair->seen_receives) return true;
  }
  return false;
}

/// When something happens by itself.
uint64_t next_time_ns(const Fabric& fabric) {
  uint64_t next = fabric.now_ns + kMaxSleep_ns;
  for (const auto& [number, pair] : fabric.pairs) {
    if (pair->connection.device->is_dead) continue;
    if (!pair->active.empty()) next = std::min(next, std::max(pair->wake_ns, fabric.now_ns));
    if (!pair->unacknowledged.empty()) next = std::min(next, std::max(pair->acknowledge_ns, fabric.now_ns));
  }
  for (const Connection& connection : fabric.connections)
    for (const auto& [handle, queue] : connection.queues)
      if (!queue->hidden.empty() && !connection.device->is_dead) next = std::min(next, queue->wake_ns);
  for (const auto& [when, command] : fabric.commands) next = std::min(next, when);
  return next;
}

/// False: the process has closed the device, or ended.
bool answer(Fabric& fabric, Connection& connection) {
  static Request request;
  std::vector<Descriptor> fds;
  std::vector<int> reply_fds;
  const long received = receive_message(connection.socket.get(), &request, sizeof request, fds);
  if (received < 0) return true;
  if (received != sizeof request) return false;
  request.text[sizeof request.text - 1] = 0;
  const Reply reply = serve(fabric, connection, request, fds, reply_fds);
  return send_message(connection.socket.get(), &reply, sizeof reply, reply_fds);
}

class Service {
 public:
  Service(Fabric& fabric, Descriptor listener, std::string folder, bool owns_folder)
      : fabric_(fabric),
        listener_(std::move(listener)),
        folder_(std::move(folder)),
        owns_folder_(owns_folder) {}

  void run() {
    unused_until_ns_ = clock_ns() + kFirst_ns;
    for (int turns = 0; !is_unused(); ++turns) {
      const bool is_busy = turn(fabric_);
      if (!is_busy)
        sleep();
      else if (turns % kTurnsPerService == 0)
        wait(0);
    }
    ::unlink((folder_ + "/fabric").c_str());
    if (!owns_folder_) return;
    ::unlink((folder_ + "/lock").c_str());
    ::rmdir(folder_.c_str());
  }

 private:
  bool is_unused() {
    if (!fabric_.connections.empty()) unused_until_ns_ = clock_ns() + (owns_folder_ ? 0 : kUnused_ns);
    return fabric_.connections.empty() && clock_ns() > unused_until_ns_;
  }

  /// The exchange and the loads of has_posts() are sequentially consistent, as are a post's store to its ring
  /// and its load of `sleeps`: either the post is seen here, or it rings.
  void sleep() {
    doorbell_of(fabric_).sleeps.exchange(1);
    if (!has_posts(fabric_)) {
      const uint64_t next = next_time_ns(fabric_), now = clock_ns();
      wait(next > now ? next - now : 0);
    }
    doorbell_of(fabric_).sleeps.store(0);
  }

  void wait(uint64_t limit_ns) {
    std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}, {fabric_.doorbell_event.get(), POLLIN, 0}};
    for (const Connection& connection : fabric_.connections)
      fds.push_back({connection.socket.get(), POLLIN, 0});
    const timespec limit{static_cast<time_t>(limit_ns / 1'000'000'000),
                         static_cast<long>(limit_ns % 1'000'000'000)};
    if (::ppoll(fds.data(), fds.size(), &limit, nullptr) <= 0) return;
    fabric_.now_ns = clock_ns();
    uint64_t rings = 0;
    if (fds[1].revents != 0) [[maybe_unused]]
      const ssize_t got = ::read(fds[1].fd, &rings, sizeof rings);
    size_t at = 2;
    for (auto connection = fabric_.connections.begin(); connection != fabric_.connections.end(); ++at) {
      const auto current = connection++;
      if (fds[at].revents == 0 || answer(fabric_, *current)) continue;
      destroy_all(fabric_, *current);
      fabric_.connections.erase(current);
    }
    if (fds[0].revents != 0) accept();
  }

  void accept() {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.get() < 0) return;
    fabric_.connections.emplace_back().socket = std::move(socket);
  }

  Fabric& fabric_;
  Descriptor listener_;
  std::string folder_;
  bool owns_folder_;
  uint64_t unused_until_ns_ = 0;
};

/// Leaves the process that started this one, which waits for main() to return.
void detach() {
  if (::fork() != 0) ::_exit(0);
  ::setsid();
  ::close_range(3, ~0U, 0);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  for (int signal = 1; signal < 32; ++signal) std::signal(signal, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

int run(const std::string& folder, bool owns_folder) {
  detach();
  if (owns_folder) ::mkdir(folder.c_str(), 0700);  // anew, if an earlier fabric of the process has removed it
  const int lock = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0 || ::flock(lock, LOCK_EX | LOCK_NB) != 0) return 0;  // another one serves the folder
  ::unlink((folder + "/fabric").c_str());
  Fabric fabric;
  fabric.doorbell_memory = make_memory(sizeof(Doorbell));
  fabric.doorbell_event = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  fabric.doorbell = SharedMemory(fabric.doorbell_memory.get(), sizeof(Doorbell));
  Descriptor listener = listen_at(folder + "/fabric");
  if (listener.get() < 0 || fabric.doorbell.data() == nullptr) return 1;
  Service(fabric, std::move(listener), folder, owns_folder).run();
  return 0;
}

int command(const std::string& folder, const std::string& text) {
  const int error = send_command(folder, text);
  if (error == 0) return 0;
  std::fprintf(stderr, "verbs_fabric: '%s' at %s: %s\n", text.c_str(), folder.c_str(), std::strerror(error));
  return 1;
}

}  // namespace
}  // namespace rondo::fabric

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 1) return rondo::fabric::run(words[0], false);
  if (words.size() == 2 && words[1] == "private") return rondo::fabric::run(words[0], true);
  if (words.size() < 3 || words[1] != "command") {
    std::fprintf(stderr, "usage: verbs_fabric FOLDER [private | command TEXT...]\n");
    return 2;
  }
  std::string text;
  for (size_t i = 2; i < words.size(); ++i) text += (i == 2 ? "" : " ") + words[i];
  return rondo::fabric::command(words[0], text);
}
