// SPDX-License-Identifier: Apache-2.0
#include "witness.h"

#include <fcntl.h>
#include <sys/mman.h>

namespace rondo::heap {
namespace {

constexpr size_t kPageBytes = 4096;

bool can_be_sealed(const OwnFile& file) {
  const int fd = file.descriptor();
  return fd >= 0 && ::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
}

}  // namespace

void Witnesses::before_fork(bool is_new) {
  const bool is_watched = page_ != nullptr && (!is_new || !set_aside());
  ++latest_;
  if (is_watched) return;
  if (!now_.file.make(kPageBytes, 0)) {
    blind_ = latest_;
    return;
  }
  void* const page =
      ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, now_.file.descriptor(), 0);
  if (page == MAP_FAILED) {
    blind_ = latest_;
    return now_.file.close();
  }
  now_.first = latest_;
  page_ = page;
}

/// The page stays mapped, for this process's parent.
void Witnesses::after_fork_in_child() {
  now_.file.close();
  for (Witness& witness : waiting_) witness.file.close();
  page_ = nullptr;
  blind_ = 0;
}

/// False if there are too many to set one more aside.
bool Witnesses::set_aside() {
  for (Witness& witness : waiting_) {
    if (witness.file.is_made() && can_be_sealed(witness.file)) witness.file.close();
    if (witness.file.is_made()) continue;
    ::munmap(page_, kPageBytes);
    page_ = nullptr;
    now_.last = latest_;
    witness = now_;
    now_ = Witness();
    return true;
  }
  return false;
}

bool Witnesses::any_left(uint64_t from, uint64_t to) {
  bool any = blind_ >= from || (page_ != nullptr && !set_aside() && now_.first <= to);
  for (Witness& witness : waiting_) {
    if (!witness.file.is_made() || !witness.concerns(from, to)) continue;
    if (can_be_sealed(witness.file))
      witness.file.close();
    else
      any = true;
  }
  return any;
}

}  // namespace rondo::heap
