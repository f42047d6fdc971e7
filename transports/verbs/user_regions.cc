// SPDX-License-Identifier: Apache-2.0
#include "verbs/user_regions.h"

#include "base/log.h"

namespace rondo::verbs {

void UserRegions::add(const ExportableMemory& piece) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = pieces_.try_emplace(piece.begin);
  if (!is_new && found->second.number == piece.number) return;
  found->second = {piece.number, nullptr};
  auto made = register_({piece.begin, piece.bytes});
  if (made.ok()) {
    found->second.region = made.take();
    log().debug("messages from {} bytes of registered memory leave from where they are", piece.bytes);
  } else {
    log().info("messages from {} bytes of registered memory are copied: {}", piece.bytes,
               made.status().message());
  }
  const bool is_alive = when_freed(piece, [self = weak_from_this(), piece] {
    if (const auto regions = self.lock()) regions->forget(piece);
  });
  if (!is_alive) pieces_.erase(found);
}

std::shared_ptr<const Region> UserRegions::find(const std::byte* at, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto after = pieces_.upper_bound(at);
  if (after == pieces_.begin()) return nullptr;
  const auto& region = std::prev(after)->second.region;
  if (region == nullptr) return nullptr;
  const auto offset = static_cast<uint64_t>(at - region->place().at);
  return offset <= region->place().bytes && bytes <= region->place().bytes - offset ? region : nullptr;
}

void UserRegions::clear() {
  const std::lock_guard lock(mutex_);
  pieces_.clear();
}

void UserRegions::forget(const ExportableMemory& piece) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(piece.begin);
  if (found != pieces_.end() && found->second.number == piece.number) pieces_.erase(found);
}

}  // namespace rondo::verbs
