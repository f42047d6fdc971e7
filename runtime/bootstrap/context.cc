// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>

#include "base/log.h"
#include "topology/binding.h"
#include "topology/cache.h"

namespace rondo {
namespace {

std::mutex& context_mutex() {
  static auto& mutex = *new std::mutex;  // never freed: used during process exit
  return mutex;
}

std::weak_ptr<Context>& the_context() {
  static auto& context = *new std::weak_ptr<Context>;
  return context;
}

EventLoop* poller_at_fork = nullptr;  // guarded by context_mutex(), which before_fork() holds across the fork

void before_fork() {
  context_mutex().lock();
  if (poller_at_fork != nullptr) poller_at_fork->hold_handlers();
}

void in_parent() {
  if (poller_at_fork != nullptr) poller_at_fork->release_handlers();
  context_mutex().unlock();
}

/// The child of a fork closes the descriptors that would keep its parent's connections open after the
/// parent's death.
void in_child() {
  if (poller_at_fork != nullptr) poller_at_fork->close_in_child();
  in_parent();
}

uint64_t hash_text(const std::string& text) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

/// Processes that see the same kernel and the same network namespace are on one host: they can reach one
/// another's abstract Unix sockets.
uint64_t identify_host(const std::string& host_name) {
  std::string boot_id = host_name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
  struct stat network {};
  ::stat("/proc/self/ns/net", &network);
  return hash_text(fmt::format("{} {} {}", boot_id, network.st_dev, network.st_ino));
}

}  // namespace

Result<std::shared_ptr<Context>> Context::get() {
  std::lock_guard lock(context_mutex());
  RONDO_TRY(refuse_disowned());
  if (auto existing = the_context().lock()) return existing;
  static const int registered = pthread_atfork(before_fork, in_parent, in_child);
  static_cast<void>(registered);
  std::shared_ptr<Context> made(new Context);
  RONDO_TRY(made->listen());
  the_context() = made;
  poller_at_fork = made->event_loop_.get();
  return made;
}

Status Context::listen() {
  process_ = random_u64();
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  host_name_ = name;
  host_ = identify_host(host_name_);
  RONDO_TRY_ASSIGN(interfaces_, offered_interfaces());
  RONDO_TRY_ASSIGN(tcp_listener_, listen_tcp(tcp_port_));
  RONDO_TRY_ASSIGN(unix_listener_, listen_unix(unix_name(process_)));
  RONDO_TRY_ASSIGN(event_loop_, EventLoop::start());
  complaints_ = std::make_unique<RateLimitedWarnings>(*event_loop_);
  handshakes_.reset(new PendingHandshakes(*event_loop_, *this));
  listen_at(tcp_listener_);
  listen_at(unix_listener_);
  return {};
}

Context::~Context() {
  if (!event_loop_) return;  // listen() failed, and get() still holds the lock
  {
    std::lock_guard lock(context_mutex());
    if (poller_at_fork == event_loop_.get()) poller_at_fork = nullptr;
  }
  event_loop_->call([this] {
    handshakes_.reset();
    complaints_.reset();
    event_loop_->unwatch(tcp_listener_.get());
    event_loop_->unwatch(unix_listener_.get());
    for (const auto& [fd, timer] : pauses_) event_loop_->cancel(timer);
  });
  event_loop_.reset();
}

PeerInfo Context::self() const {
  PeerInfo member;
  member.endpoint = {host_, process_};
  member.pid = ::getpid();
  member.tcp_port = tcp_port_;
  for (const Interface& one : interfaces_) member.addresses.push_back(one.ip);
  member.host_name = host_name_;
  if (const auto cpus = bound_cpus(); cpus.ok()) {
    member.allowed_cpus = static_cast<int32_t>(cpus.value().size());
    member.first_cpu = cpus.value().front();
    member.cache = shared_last_level_cache(cpus.value());
  }
  return member;
}

void Context::open(const Credentials& credentials, int rank, Admit admit) {
  event_loop_->call([&] {
    doors_[{credentials.session, rank}] = Acceptor{credentials.secret, std::move(admit)};
  });
}

void Context::close(uint64_t session, int rank) {
  event_loop_->call([&] { doors_.erase({session, rank}); });
}

void Context::listen_at(const Fd& listener) {
  event_loop_->call([&] {
    event_loop_->watch(listener.get(), EPOLLIN, [this, raw = &listener](uint32_t) { greet(*raw); });
  });
}

void Context::stop_listening(const Fd& listener) {
  event_loop_->call([&] {
    if (const auto pause = pauses_.extract(listener.get())) event_loop_->cancel(pause.mapped());
    event_loop_->unwatch(listener.get());
  });
}

void Context::greet(const Fd& listener) {
  constexpr int kAtATime = 64;  // a flood of connections must not keep this thread from its other work
  for (int taken = 0; taken < kAtATime;) {
    Address from;
    Fd fd = accept_pending(listener, from);
    if (!fd.valid()) {
      if (make_room(listener, errno)) continue;
      return;
    }
    ++taken;
    if (!handshakes_->add(std::move(fd), from))
      complaints_->warn("full", fmt::format("dropped the connection that had been silent longest: too many "
                                            "arrive that do not prove who they are, the latest from {}",
                                            from.text()));
  }
}

/// Called when accept() has failed. True: try again.
bool Context::make_room(const Fd& listener, int error_number) {
  if (error_number != EMFILE && error_number != ENFILE) return false;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  complaints_->warn("limit",
                    fmt::format("a connection has to wait, or to come again: {} (this process may have {}; "
                                "raise the limit, see ulimit -n)",
                                std::strerror(error_number), limit.rlim_cur));
  if (handshakes_->drop_one()) return true;
  pause(listener);
  return false;
}

/// Stops watching the listener for a while: its pending connections would keep this thread awake.
void Context::pause(const Fd& listener) {
  constexpr int64_t kPause_ms = 500;
  const int fd = listener.get();
  event_loop_->change(fd, 0);
  pauses_[fd] = event_loop_->after_ms(kPause_ms, [this, fd] {
    pauses_.erase(fd);
    event_loop_->change(fd, EPOLLIN);
  });
}

const Secret* Context::secret_of(uint64_t session) {
  const auto door = doors_.lower_bound({session, kRoot});
  return door != doors_.end() && door->first.first == session ? &door->second.secret : nullptr;
}

void Context::admit(uint64_t session, const ConnectRequest& purpose, Fd fd) {
  const auto door = doors_.find({session, purpose.to_rank});
  if (door == doors_.end()) {
    log().info("a connection for rank {} arrived, which has left", purpose.to_rank);
    return;
  }
  const Admit call = door->second.admit;  // a copy: the callback may close this acceptor
  call(purpose, std::move(fd));
}

void Context::turned_away(const std::string& why, const Address& from) {
  const bool local = from.storage.ss_family == AF_UNIX;
  complaints_->warn(why, fmt::format("turned a connection away: {} (from {})", why,
                                     local ? std::string("this host") : from.text()));
}

}  // namespace rondo
