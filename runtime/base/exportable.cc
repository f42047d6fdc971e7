// SPDX-License-Identifier: Apache-2.0
#include "base/exportable.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/shared_segment.h"

namespace rondo {
namespace {

struct Record {
  struct ExportedPiece {
    ExportableMemory exportable;
    SharedSegment mapped;
    pid_t owner = 0;
  };
  std::atomic<size_t> pieces{0};
  std::atomic<uint64_t> frees{0};
  std::mutex mutex;  // guards the members below
  uint64_t numbers = 0;
  std::map<const std::byte*, ExportedPiece> all;  // by start address
};

Record& record() {
  static auto& all = *new Record;
  return all;
}

}  // namespace

Result<std::byte*> allocate_exportable(size_t bytes) {
  RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(bytes));
  std::byte* const begin = made.segment.data();
  const std::lock_guard lock(record().mutex);
  ExportableMemory exportable{begin, bytes, ++record().numbers, nullptr};
  if (may_keep(made.memfd)) exportable.memfd = std::make_shared<const Fd>(std::move(made.memfd));
  record().all[begin] = {std::move(exportable), std::move(made.segment), ::getpid()};
  record().pieces.store(record().all.size(), std::memory_order_relaxed);
  return begin;
}

bool free_exportable(void* begin) {
  std::unique_lock lock(record().mutex);
  const auto found = record().all.extract(static_cast<const std::byte*>(begin));
  record().pieces.store(record().all.size(), std::memory_order_relaxed);
  lock.unlock();
  if (found.empty()) return false;
  record().frees.fetch_add(1, std::memory_order_relaxed);
  // A peer may keep it mapped for a while, so release the pages now, unless they are a forked child's
  // parent's.
  const auto& [freed, mapped, owner] = found.mapped();
  if (owner == ::getpid() && freed.memfd != nullptr)
    ::fallocate(freed.memfd->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(freed.bytes));
  return true;
}

std::optional<ExportableMemory> find_exportable(const std::byte* at, size_t bytes) {
  // Relaxed: a thread that uses a piece got its address from the allocating thread, which synchronized them.
  if (record().pieces.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const std::lock_guard lock(record().mutex);
  const auto after = record().all.upper_bound(at);
  if (after == record().all.begin()) return std::nullopt;
  const ExportableMemory& before = std::prev(after)->second.exportable;
  return before.memfd != nullptr && before.holds(at, bytes) ? std::optional(before) : std::nullopt;
}

bool is_alive(const ExportableMemory& piece) {
  const std::lock_guard lock(record().mutex);
  const auto found = record().all.find(piece.begin);
  return found != record().all.end() && found->second.exportable.number == piece.number;
}

// Relaxed: a thread that frees memory used by another thread's calls must synchronize with that thread.
uint64_t exportable_frees() { return record().frees.load(std::memory_order_relaxed); }

}  // namespace rondo
