// SPDX-License-Identifier: Apache-2.0
#include "verbs/user_regions.h"

#include <algorithm>

#include "base/log.h"

namespace rondo::verbs {
namespace {

/// Such memory has no pages of this process.
bool is_of_gpu(const std::byte* at, size_t bytes) {
  const auto piece = find_accessible(at, bytes);
  return piece && piece->gpu != nullptr;
}

}  // namespace

/// Where it is, or the end. Under the lock.
UserRegions::Pieces::iterator UserRegions::known(const ExportableMemory& piece) {
  auto [at, end] = pieces_.equal_range(piece.begin);
  while (at != end && at->second.number != piece.number) ++at;
  return at != end ? at : pieces_.end();
}

/// Registering may take long: others copy meanwhile.
void UserRegions::add(const ExportableMemory& piece) {
  {
    const std::lock_guard lock(mutex_);
    if (known(piece) != pieces_.end()) return;
    if (!when_freed(piece, weak_from_this(), [this, piece] { forget(piece); })) return;
    pieces_.emplace(piece.begin, KnownPiece{piece.number, nullptr});
  }
  auto made = register_(piece);
  if (!made.ok()) {
    log().info("messages from and to {} bytes of registered memory are copied: {}", piece.bytes,
               made.status().message());
    return;
  }
  log().debug("messages from {} bytes of registered memory leave from where they are", piece.bytes);
  const std::lock_guard lock(mutex_);
  if (const auto found = known(piece); found != pieces_.end()) found->second.region = made.take();
}

std::shared_ptr<const Region> UserRegions::find(const std::byte* at, size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto piece = pieces_.upper_bound(at);
  for (int i = 0; piece != pieces_.begin() && i < kMaxOverlaps; ++i)
    if (const auto& region = (--piece)->second.region; region != nullptr && region->holds(at, bytes))
      return region;
  return everything_ != nullptr && !is_of_gpu(at, bytes) ? everything_ : nullptr;
}

bool UserRegions::clear() {
  const std::lock_guard lock(mutex_);
  const bool had_any = std::any_of(pieces_.begin(), pieces_.end(),
                                   [](const auto& piece) { return piece.second.region != nullptr; });
  pieces_.clear();
  return had_any;
}

void UserRegions::forget(const ExportableMemory& piece) {
  const std::lock_guard lock(mutex_);
  if (const auto found = known(piece); found != pieces_.end()) pieces_.erase(found);
}

}  // namespace rondo::verbs
