// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <mutex>

#include "base/file_name.h"
#include "base/saved_costs.h"
#include "base/settings.h"
#include "base/words.h"
#include "kernels/vector_target.h"
#include "topology/binding.h"
#include "topology/cache.h"
#include "topology/memory_nodes.h"

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
/// parent's death; once, as its own files get the same numbers.
void in_child() {
  if (poller_at_fork != nullptr) {
    poller_at_fork->close_in_child();
    poller_at_fork->release_handlers();
    poller_at_fork = nullptr;
  }
  in_parent();
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
  std::shared_ptr<Context> made;  // ends after the lock, which its destructor takes
  std::unique_lock lock(context_mutex());
  RONDO_TRY(refuse_disowned());
  if (auto existing = the_context().lock()) return existing;
  // Forks wait for the lock, files may be far away, and what opens devices is foreign code that may have
  // locks of its own for forks.
  lock.unlock();
  RONDO_TRY_ASSIGN(UsableFabrics fabrics, setting(Setting::Transport) ? Result<UsableFabrics>(UsableFabrics())
                                                                      : UsableFabrics::find());
  const auto saved = saved_costs();
  find_vector_target();
  lock.lock();
  RONDO_TRY(refuse_disowned());
  if (auto existing = the_context().lock()) return existing;
  static const int registered = pthread_atfork(before_fork, in_parent, in_child);
  static_cast<void>(registered);
  made.reset(new Context);
  made->fabrics_ = std::move(fabrics);
  if (saved) made->costs_ = std::make_shared<const HostCosts>(saved->costs);
  RONDO_TRY(made->listen());
  the_context() = made;
  poller_at_fork = made->event_loop_.get();
  return made;
}

Status Context::listen() {
  RONDO_TRY_ASSIGN(const bool answers_ps, switch_setting(Setting::Ps, true));
  process_ = random_u64();
  host_name_ = host_name();
  host_ = identify_host(host_name_);
  RONDO_TRY_ASSIGN(interfaces_, offered_interfaces());
  RONDO_TRY_ASSIGN(tcp_listener_, listen_tcp(tcp_port_));
  RONDO_TRY_ASSIGN(unix_listener_, listen_unix(unix_name(process_)));
  RONDO_TRY_ASSIGN(event_loop_, EventLoop::start());
  listeners_ = std::make_unique<Listeners>(*event_loop_);
  listeners_->add(tcp_listener_);
  listeners_->add(unix_listener_);
  if (answers_ps) ps_ = start_ps_server(*event_loop_);
  ras_ = RasService::start(*event_loop_);
  return {};
}

Context::~Context() {
  if (!event_loop_) return;  // listen() failed
  {
    std::lock_guard lock(context_mutex());
    if (poller_at_fork == event_loop_.get()) poller_at_fork = nullptr;
  }
  ras_.reset();
  ps_.reset();
  listeners_.reset();
  event_loop_.reset();
}

PeerInfo Context::self(const PeerGpu& device) const {
  PeerInfo member;
  member.endpoint = {host_, process_, fabrics_.of_rank(device.bus_id)};
  member.device = device;
  member.pid = ::getpid();
  member.tcp_port = tcp_port_;
  for (const Interface& one : interfaces_) member.addresses.push_back(one.ip);
  member.host_name = host_name_;
  member.costs = costs_;
  if (const auto cpus = bound_cpus(); cpus.ok()) {
    member.allowed_cpus = static_cast<int32_t>(cpus.value().size());
    member.first_cpu = cpus.value().front();
    member.cache = shared_last_level_cache(cpus.value());
    member.memory_node = local_memory_node(memory_distances(cpus.value()));
  }
  return member;
}

}  // namespace rondo
