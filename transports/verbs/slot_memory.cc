// SPDX-License-Identifier: Apache-2.0
#include "verbs/slot_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>

namespace rondo::verbs {

/// Whole pages of its own: where the kernel does not copy registered pages at a fork, the library keeps them
/// from the child, and nothing else may lie in them.
Result<std::shared_ptr<const SlotPages>> SlotPages::make(const SlotLayout& layout) {
  std::shared_ptr<SlotPages> made(new SlotPages(layout));
  void* const pages =
      ::mmap(nullptr, bytes(layout), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return out_of_memory();
  made->memory_ = static_cast<std::byte*>(pages);
  return std::shared_ptr<const SlotPages>(std::move(made));
}

SlotPages::~SlotPages() {
  if (memory_ != nullptr) ::munmap(memory_, bytes());
}

/// Relaxed ordering lets bytes land in any order, which is right where only completions are believed. Devices
/// without it ignore it.
Status SlotMemory::register_for(WrittenBy writer) {
  const Library& verbs = domain_->device().verbs();
  unsigned access = IBV_ACCESS_RELAXED_ORDERING;
  if (writer == WrittenBy::Peer) access |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  region_ = verbs.reg_mr_iova2(domain_->pd(), pages_->memory(), pages_->bytes(), address(), access);
  return region_ != nullptr ? Status() : cannot_register(errno);
}

/// Registered memory counts as locked.
Status SlotMemory::cannot_register(int cause) const {
  const std::string what =
      fmt::format("registering {} bytes with {}", pages_->bytes(), domain_->device().name());
  rlimit limit{};
  if (cause != ENOMEM || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return system_error(what, cause);
  return error(
      Code::InvalidUsage,
      "{}: the limit on locked memory, RLIMIT_MEMLOCK, is {} KiB; raise it by memlock in "
      "/etc/security/limits.d, LimitMEMLOCK=infinity in a unit of systemd, or --ulimit memlock=-1 for "
      "a container",
      what, limit.rlim_cur / 1024);
}

Result<std::unique_ptr<SlotMemory>> SlotMemory::make(std::shared_ptr<Domain> domain,
                                                     std::shared_ptr<const SlotPages> pages,
                                                     WrittenBy writer) {
  auto made = std::unique_ptr<SlotMemory>(new SlotMemory(std::move(domain), std::move(pages)));
  RONDO_TRY(made->register_for(writer));
  return made;
}

void SlotMemory::deregister() {
  if (region_ != nullptr) domain_->device().verbs().dereg_mr(region_);
  region_ = nullptr;
}

}  // namespace rondo::verbs
