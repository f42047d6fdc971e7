// SPDX-License-Identifier: Apache-2.0
#include "imported_windows.h"

#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/quiet_thread.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

using Phase = WindowState::Phase;

}  // namespace

std::shared_ptr<ImportedWindows> ImportedWindows::make(WindowParties parties) {
  return std::shared_ptr<ImportedWindows>(new ImportedWindows(std::move(parties)));
}

void ImportedWindows::look() {
  const uint64_t changes = parties_.table.changes().load(std::memory_order_acquire);
  const bool has_work =
      changes != answered_.load(std::memory_order_relaxed) || leaves_.load(std::memory_order_relaxed);
  if (!has_work || has_left_.load(std::memory_order_relaxed) || serves_.exchange(true)) return;
  try {
    quiet_thread("rondo-windows", [self = shared_from_this()] { self->serve(); }).detach();
    answered_.store(changes, std::memory_order_relaxed);
  } catch (const std::system_error&) {
    serves_.store(false, std::memory_order_release);  // no more threads for now; the next look tries again
  }
}

void ImportedWindows::leave() {
  if (leaves_.exchange(true) || serves_.exchange(true)) return;
  if (seen_.empty()) close_all();
  serves_.store(false, std::memory_order_release);
}

bool ImportedWindows::has_left() const {
  return has_left_.load(std::memory_order_acquire) && !serves_.load(std::memory_order_acquire);
}

void ImportedWindows::serve() {
  const gpu::OutsideCapture outside;
  if (leaves_.load(std::memory_order_relaxed))
    close_all();
  else
    answer_all();
  parties_.own->sweep();
  serves_.store(false, std::memory_order_release);
}

void ImportedWindows::answer_all() {
  for (int owner = 0; owner < nranks(); ++owner)
    for (int index = 0; owner != parties_.self && index < kMaxWindows; ++index) answer(owner, index);
}

void ImportedWindows::answer(int owner, int index) {
  const Window& window = parties_.table.window(owner, index);
  const WindowState wanted = window.state.load();
  const auto found = seen_.find({owner, index});
  if (found == seen_.end() ? wanted.number == 0 : found->second.state == wanted) return;
  WindowAnswer& answer = parties_.table.answer(owner, index, parties_.self);
  Seen now{.state = wanted};
  WindowState said = wanted;
  seen_.erase({owner, index});  // the entry's previous window, even if its Closed state was never observed
  if (wanted.phase == Phase::Open) {
    const auto at = open(window, owner, now);
    said.phase = at.ok() ? Phase::Seen : Phase::Refused;
    answer.address = at.ok() ? reinterpret_cast<uintptr_t>(at.value()) : 0;
    if (!at.ok()) note_refusal(owner, at.status());
  }
  seen_[{owner, index}] = std::move(now);
  answer.state.store(said);
  if (said.phase == Phase::Closed)
    parties_.table.changes().fetch_add(1, std::memory_order_release);  // for the owner's sweep()
}

Result<const std::byte*> ImportedWindows::open(const Window& window, int owner, Seen& seen) const {
  const int device = parties_.devices[static_cast<size_t>(owner)];
  if (device >= 0) {
    RONDO_TRY(gpu::reach(parties_.device, device));
    return reinterpret_cast<const std::byte*>(window.address);
  }
  RONDO_TRY_ASSIGN(seen.memory, gpu::ImportedMemory::open(window.handle, parties_.device));
  return static_cast<const std::byte*>(seen.memory.base() + window.offset);
}

/// Logged once: the reason lies in the machine or in how the memory was allocated.
void ImportedWindows::note_refusal(int owner, const Status& why) {
  if (std::exchange(has_noted_, true)) return;
  log().info("rank {} does not read memory that rank {} has registered in place: {}", parties_.self, owner,
             why.message());
}

void ImportedWindows::close_all() {
  seen_.clear();
  parties_.table.left(parties_.self)
      .store(1, std::memory_order_release);  // pairs with ExportedWindows::holder()
  has_left_.store(true, std::memory_order_release);
}

}  // namespace rondo
