#include "base/lendable.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/shared_segment.h"

namespace rondo {
namespace {

struct Record {
  struct Piece {
    Lendable lendable;
    SharedSegment mapped;
    pid_t owner = 0;
  };
  std::atomic<size_t> pieces{0};
  std::atomic<uint64_t> frees{0};
  std::mutex mutex;  // guards what follows
  uint64_t numbers = 0;
  std::map<const std::byte*, Piece> all;  // by where they begin
};

Record& record() {
  static auto& all = *new Record;
  return all;
}

}  // namespace

Result<std::byte*> allocate_lendable(size_t bytes) {
  RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(bytes));
  std::byte* const begin = made.segment.data();
  const std::lock_guard lock(record().mutex);
  Lendable lendable{begin, bytes, ++record().numbers, nullptr};
  if (may_keep(made.memfd)) lendable.memfd = std::make_shared<const Fd>(std::move(made.memfd));
  record().all[begin] = {std::move(lendable), std::move(made.segment), ::getpid()};
  record().pieces.store(record().all.size(), std::memory_order_relaxed);
  return begin;
}

bool free_lendable(void* begin) {
  std::unique_lock lock(record().mutex);
  const auto found = record().all.extract(static_cast<const std::byte*>(begin));
  record().pieces.store(record().all.size(), std::memory_order_relaxed);
  lock.unlock();
  if (found.empty()) return false;
  record().frees.fetch_add(1, std::memory_order_relaxed);
  // A peer may have it mapped for some time to come: its pages go now. Not those of a forked process's
  // parent.
  const auto& [freed, mapped, owner] = found.mapped();
  if (owner == ::getpid() && freed.memfd != nullptr)
    ::fallocate(freed.memfd->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(freed.bytes));
  return true;
}

std::optional<Lendable> find_lendable(const std::byte* at, size_t bytes) {
  // Relaxed: whoever uses memory of a piece has heard of it from the thread that allocated it.
  if (record().pieces.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const std::lock_guard lock(record().mutex);
  const auto after = record().all.upper_bound(at);
  if (after == record().all.begin()) return std::nullopt;
  const Lendable& before = std::prev(after)->second.lendable;
  return before.memfd != nullptr && before.holds(at, bytes) ? std::optional(before) : std::nullopt;
}

bool is_alive(const Lendable& piece) {
  const std::lock_guard lock(record().mutex);
  const auto found = record().all.find(piece.begin);
  return found != record().all.end() && found->second.lendable.number == piece.number;
}

// Relaxed: who frees memory that another thread's calls use must tell that thread.
uint64_t lendable_frees() { return record().frees.load(std::memory_order_relaxed); }

}  // namespace rondo
