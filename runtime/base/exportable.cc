// SPDX-License-Identifier: Apache-2.0
#include "base/exportable.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "base/shared_segment.h"
#include "heap_pieces.h"

namespace rondo {
namespace {

struct FreeAction {
  pid_t process = 0;
  std::weak_ptr<void> owner;
  std::function<void()> run;
};

void run_all(const std::vector<FreeAction>& actions) {
  for (const FreeAction& action : actions)
    if (action.process == ::getpid())
      if (const auto owner = action.owner.lock()) action.run();
}

struct Record {
  struct ExportedPiece {
    ExportableMemory exportable;
    SharedSegment mapped;  // empty: it is the user's
    pid_t owner = 0;
    std::vector<FreeAction> when_freed;
  };
  using Pieces = std::multimap<const std::byte*, ExportedPiece>;  // by start address

  std::atomic<size_t> pieces{0};
  std::atomic<uint64_t> frees{0};
  std::mutex mutex;  // guards the members below
  uint64_t numbers = 0;
  Pieces allocated;
  Pieces accessible;  // may overlap

  uint64_t add(Pieces& to, ExportedPiece piece) {
    const std::byte* const begin = piece.exportable.begin;
    piece.exportable.number = ++numbers;
    piece.owner = ::getpid();
    to.emplace(begin, std::move(piece));
    pieces.store(allocated.size() + accessible.size(), std::memory_order_relaxed);
    return numbers;
  }
  Pieces::node_type take(Pieces& from, Pieces::iterator piece) {
    Pieces::node_type taken = piece == from.end() ? Pieces::node_type() : from.extract(piece);
    pieces.store(allocated.size() + accessible.size(), std::memory_order_relaxed);
    return taken;
  }
  /// Null if it has been freed.
  ExportedPiece* find(const ExportableMemory& piece) {
    for (Pieces* const all : {&allocated, &accessible})
      for (auto [at, end] = all->equal_range(piece.begin); at != end; ++at)
        if (at->second.exportable.number == piece.number) return &at->second;
    return nullptr;
  }
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
  ExportableMemory exportable{.begin = begin, .bytes = bytes};
  if (may_keep(made.memfd)) exportable.memfd = std::make_shared<const Fd>(std::move(made.memfd));
  record().add(record().allocated, {std::move(exportable), std::move(made.segment), 0, {}});
  return begin;
}

bool free_exportable(void* begin) {
  std::unique_lock lock(record().mutex);
  Record::Pieces& all = record().allocated;
  const auto found = record().take(all, all.find(static_cast<const std::byte*>(begin)));
  lock.unlock();
  if (found.empty()) return false;
  record().frees.fetch_add(1, std::memory_order_relaxed);
  const auto& [freed, mapped, owner, when_freed] = found.mapped();
  run_all(when_freed);
  if (owner != ::getpid()) return true;  // in a forked child the pages are its parent's
  // A peer may keep it mapped for a while, so release the pages now.
  if (freed.memfd != nullptr)
    ::fallocate(freed.memfd->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(freed.bytes));
  return true;
}

std::optional<ExportableMemory> find_accessible(const std::byte* at, size_t bytes) {
  // Relaxed: a thread that uses a piece got its address from the allocating thread, which synchronized them.
  if (record().pieces.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const std::lock_guard lock(record().mutex);
  for (const Record::Pieces* const all : {&record().allocated, &record().accessible}) {
    auto piece = all->upper_bound(at);
    const int tries = all == &record().allocated ? 1 : kMaxOverlaps;
    for (int i = 0; piece != all->begin() && i < tries; ++i)
      if ((--piece)->second.exportable.holds(at, bytes)) return piece->second.exportable;
  }
  return std::nullopt;
}

std::optional<ExportableMemory> find_exportable(const std::byte* at, size_t bytes) {
  auto found = find_accessible(at, bytes);
  return found && found->memfd != nullptr ? found : std::nullopt;
}

std::optional<ExportableMemory> find_offered(const std::byte* at, size_t bytes) {
  auto found = find_accessible(at, bytes);
  return found ? found : find_lent_by_heap(at, bytes);
}

Status copy_accessible(std::byte* to, const std::byte* from, size_t bytes) {
  const auto piece = find_accessible(from, bytes);
  if (piece && piece->gpu != nullptr) return piece->gpu->copy(to, from, bytes);
  std::memcpy(to, from, bytes);
  return {};
}

AccessibleMemory::AccessibleMemory(std::byte* begin, size_t bytes, std::shared_ptr<const GpuMemory> gpu)
    : number_([&] {
        const std::lock_guard lock(record().mutex);
        return record().add(record().accessible,
                            {{.begin = begin, .bytes = bytes, .gpu = std::move(gpu)}, {}, 0, {}});
      }()) {}

AccessibleMemory::~AccessibleMemory() {
  std::unique_lock lock(record().mutex);
  Record::Pieces& all = record().accessible;
  const auto found = record().take(all, std::find_if(all.begin(), all.end(), [this](const auto& piece) {
                                     return piece.second.exportable.number == number_;
                                   }));
  lock.unlock();
  run_all(found.mapped().when_freed);
}

bool is_alive(const ExportableMemory& piece) {
  if (piece.lent_now != nullptr) return piece.is_lent_now();
  const std::lock_guard lock(record().mutex);
  return record().find(piece) != nullptr;
}

bool when_freed(const ExportableMemory& piece, std::weak_ptr<void> owner, std::function<void()> action) {
  const std::lock_guard lock(record().mutex);
  Record::ExportedPiece* const found = record().find(piece);
  if (found == nullptr) return false;
  std::erase_if(found->when_freed, [](const FreeAction& earlier) { return earlier.owner.expired(); });
  found->when_freed.push_back({::getpid(), std::move(owner), std::move(action)});
  return true;
}

// Relaxed: a thread that frees memory used by another thread's calls must synchronize with that thread.
uint64_t exportable_frees() { return record().frees.load(std::memory_order_relaxed) + heap_pieces_ended(); }

}  // namespace rondo
