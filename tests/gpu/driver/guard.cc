// SPDX-License-Identifier: Apache-2.0
#include "guard.h"

#include <sys/mman.h>

#include "driver.h"

namespace rondo::standin {
namespace {

unsigned accesses = 0;  // guarded by Driver::mutex

void protect_all() {
  for (const auto& [base, allocation] : driver().allocations) protect(allocation);
}

bool of_device(const Allocation& allocation) {
  return !allocation.on_host() && allocation.kind != Allocation::Kind::Managed;
}

}  // namespace

bool protect(const Allocation& allocation) {
  if (!of_device(allocation)) return true;
  const bool is_virtual = allocation.kind == Allocation::Kind::Virtual;
  const bool open =
      (!is_virtual || allocation.devices_allowed != 0) && (!driver().settings.guard || accesses > 0);
  void* const begin = is_virtual ? at(allocation.base) : allocation.mapping.begin();
  const size_t bytes = is_virtual ? allocation.bytes : allocation.mapping.bytes();
  return ::mprotect(begin, bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

DeviceAccess::DeviceAccess() {
  const std::lock_guard lock(driver().mutex);  // so that memory opened by earlier calls is in the table
  if (!driver().settings.guard) return;
  if (accesses++ == 0) protect_all();
}

DeviceAccess::~DeviceAccess() {
  if (!driver().settings.guard) return;
  const std::lock_guard lock(driver().mutex);
  if (--accesses == 0) protect_all();
}

}  // namespace rondo::standin
