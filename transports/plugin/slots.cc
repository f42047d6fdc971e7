// SPDX-License-Identifier: Apache-2.0
#include "plugin/slots.h"

#include <sys/mman.h>

#include "base/log.h"

namespace rondo::plugin {

Result<std::unique_ptr<PluginSlots>> PluginSlots::make(const PluginTerms& terms, CommUse use, void* comm) {
  auto made = std::unique_ptr<PluginSlots>(new PluginSlots(terms, use, comm));
  RONDO_TRY(made->prepare());
  return made;
}

/// Whole pages of its own, since a plugin may pin them, or keep them from a forked child.
Status PluginSlots::prepare() {
  void* const pages =
      ::mmap(nullptr, layout_.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return out_of_memory();
  memory_ = static_cast<std::byte*>(pages);
  RONDO_TRY(terms_.net().register_memory(comm_, memory_, layout_.bytes(), region_));
  is_registered_ = true;
  return {};
}

Status PluginSlots::close() {
  const Status deregistered = is_registered_ ? terms_.net().deregister_memory(comm_, region_) : Status();
  const Status closed =
      use_ == CommUse::Send ? terms_.net().close_send(comm_) : terms_.net().close_receive(comm_);
  return deregistered.ok() ? closed : deregistered;
}

/// A plugin that does not close while requests are outstanding, as receives nearly always are, may write to
/// the slots for ever.
PluginSlots::~PluginSlots() {
  const Status closed = close();
  if (!closed.ok())
    log().debug("slots of a connection to rank {} stay in memory: {}", terms_.peer, closed.message());
  else if (memory_ != nullptr)
    ::munmap(memory_, layout_.bytes());
}

}  // namespace rondo::plugin
