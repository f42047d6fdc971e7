// SPDX-License-Identifier: Apache-2.0
#include "verbs/slot_memory.h"

#include <sys/mman.h>

namespace rondo::verbs {

/// Whole pages of its own: where the kernel does not copy registered pages at a fork, the library keeps them
/// from the child, and nothing else may lie in them.
Result<std::shared_ptr<const SlotPages>> SlotPages::make(const RingLayout& layout) {
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

Result<std::unique_ptr<SlotMemory>> SlotMemory::make(std::shared_ptr<Domain> domain,
                                                     std::shared_ptr<const SlotPages> pages,
                                                     WrittenBy writer) {
  auto made = std::unique_ptr<SlotMemory>(new SlotMemory(std::move(domain), std::move(pages)));
  const Region::PinnedRange place{made->pages_->memory(), made->pages_->bytes()};
  auto region = made->domain_->register_memory(place, writer);
  const bool is_over_limit = region.status().code() == Code::InvalidUsage;
  // Slots must be registered, the user's memory need not.
  if (is_over_limit && made->domain_->user_regions().clear())
    region = made->domain_->register_memory(place, writer);
  RONDO_TRY_ASSIGN(made->region_, std::move(region));
  return made;
}

}  // namespace rondo::verbs
