// SPDX-License-Identifier: Apache-2.0
#include "allocation.h"

#include <utility>

#include "driver.h"

namespace rondo::standin {

int Allocation::ordinal() const {
  if (memory != nullptr) return memory->device().ordinal;
  return context->device->ordinal;
}

bool Allocation::reached_by(CUcontext user) const {
  switch (kind) {
    case Kind::Host:
    case Kind::Registered:
    case Kind::Managed: return true;
    case Kind::Virtual: return (devices_allowed >> user->device->ordinal & 1) != 0;
    case Kind::Imported: return context == user;
    case Kind::Device: break;
  }
  return context == user || user->peers.count(context) != 0;
}

Allocation& Allocations::add(Allocation allocation) {
  allocation.id = driver().next_id();
  const uintptr_t base = allocation.base;
  return all_.insert_or_assign(base, std::move(allocation)).first->second;
}

Allocation* Allocations::find(CUdeviceptr address) {
  auto after = all_.upper_bound(address);
  if (after == all_.begin()) return nullptr;
  Allocation& candidate = std::prev(after)->second;
  return address - candidate.base < candidate.bytes ? &candidate : nullptr;
}

Allocation* Allocations::at(CUdeviceptr address, Allocation::Kind kind) {
  const auto found = all_.find(address);
  return found == all_.end() || found->second.kind != kind ? nullptr : &found->second;
}

bool Allocations::overlaps(uintptr_t begin, size_t bytes) const {
  const auto after = all_.lower_bound(begin + bytes);
  if (after == all_.begin()) return false;
  const Allocation& last = std::prev(after)->second;
  return last.base + last.bytes > begin;
}

Allocation Allocations::take(uintptr_t base) {
  const auto found = all_.find(base);
  Allocation taken = std::move(found->second);
  all_.erase(found);
  return taken;
}

}  // namespace rondo::standin
