// SPDX-License-Identifier: Apache-2.0
// The process: what it and its forked children may do, and what a test may ask of the stand-in.
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "context.h"
#include "send_command.h"

namespace rondo::fabric {
namespace {

void before_fork() { process().mutex.lock(); }

/// Without copy-on-fork a fork leaves the device the pages of before, while parent and child write to copies.
void after_fork_in_parent() {
  Process& self = process();
  if (!self.settings.copies_on_fork && !self.is_fork_safe)
    for (Context* const context : self.contexts) ask(*context, *make_request(Call::Forked));
  self.mutex.unlock();
}

void after_fork_in_child() {
  Process& self = process();
  self.contexts.clear();
  ++self.generation;
  self.mutex.unlock();
}

Process* make_process() {
  auto* const made = new Process;
  const auto named = made->settings.variables.find("");
  if (named != made->settings.variables.end() && !named->second.empty()) {
    made->folder = named->second;
  } else {
    made->folder = "/tmp/rondo-verbs-" + std::to_string(::getpid()) + "-" +
                   std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
    made->owns_folder = true;
  }
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  return made;
}

constexpr const char* kCounted[] = {"post_send",     "post_recv", "poll_cq",  "empty_poll",
                                    "req_notify_cq", "reg_mr",    "dereg_mr", "ring"};

}  // namespace

Process& process() {
  static Process* const self = make_process();
  return *self;
}

}  // namespace rondo::fabric

using namespace rondo::fabric;

/// How many calls the process has made of this kind.
EXPORTED uint64_t rondo_standin_verbs_calls(const char* name) {
  for (size_t i = 0; i < std::size(kCounted); ++i)
    if (std::strcmp(kCounted[i], name) == 0) return process().calls[i].load(std::memory_order_relaxed);
  return 0;
}

/// Has the fabric carry out a command of README.md. Returns an errno.
EXPORTED int rondo_standin_verbs_command(const char* command) {
  return send_command(process().folder, command);
}

EXPORTED int ibv_fork_init() {
  Process& self = process();
  if (self.settings.copies_on_fork || self.is_fork_safe) return 0;
  if (self.registrations != 0) return EINVAL;
  self.is_fork_safe = true;
  return 0;
}

EXPORTED ibv_fork_status ibv_is_fork_initialized() {
  const Process& self = process();
  if (self.settings.copies_on_fork) return IBV_FORK_UNNEEDED;
  return self.is_fork_safe ? IBV_FORK_ENABLED : IBV_FORK_DISABLED;
}
