// SPDX-License-Identifier: Apache-2.0
#include "heap_pieces.h"

#include <dlfcn.h>

#include <atomic>
#include <map>
#include <mutex>

#include "base/lent_heap.h"

namespace rondo {
namespace {

/// Numbers of the heap's pieces differ from those of all others.
constexpr uint64_t kOfHeap = uint64_t{1} << 63;

std::atomic<const LentHeap*> own_heap{nullptr};

/// librondo-heap.so's; null without it.
const LentHeap* preloaded_heap() {
  static const auto* const found = static_cast<const LentHeap*>(::dlsym(RTLD_DEFAULT, kLentHeapSymbol));
  return found;
}

/// Null if there is none.
const LentHeap* lent_heap() {
  const LentHeap* const preloaded = preloaded_heap();
  return preloaded != nullptr ? preloaded : own_heap.load(std::memory_order_acquire);
}

uint64_t load(const uint64_t* word) {
  return std::atomic_ref(const_cast<uint64_t&>(*word)).load(std::memory_order_acquire);
}

/// Descriptors of the pieces that were requested, by number.
struct OpenPieces {
  std::mutex mutex;
  uint64_t ended = 0;  // heap_pieces_ended() when those of ended pieces were last closed
  std::map<uint64_t, ExportableMemory> all;

  void close_ended() {
    if (ended == heap_pieces_ended()) return;
    ended = heap_pieces_ended();
    std::erase_if(all, [](const auto& piece) { return !is_alive(piece.second); });
  }
};

OpenPieces& open_pieces() {
  static auto& all = *new OpenPieces;
  return all;
}

ExportableMemory opened(const LentHeap& heap, const LentPiece& piece) {
  ExportableMemory memory{piece.begin, piece.bytes, kOfHeap | piece.number, nullptr, nullptr, piece.lent_now};
  if (Fd memfd(heap.open(piece.number)); memfd.valid() && may_keep(memfd))
    memory.memfd = std::make_shared<const Fd>(std::move(memfd));
  return memory;
}

}  // namespace

bool use_heap(const LentHeap& own) {
  if (preloaded_heap() != nullptr) return false;
  own_heap.store(&own, std::memory_order_release);
  return true;
}

std::optional<ExportableMemory> find_lent_by_heap(const std::byte* at, size_t bytes) {
  const LentHeap* const heap = lent_heap();
  LentPiece piece;
  if (heap == nullptr || !heap->find(at, &piece)) return std::nullopt;
  OpenPieces& pieces = open_pieces();
  const std::lock_guard lock(pieces.mutex);
  pieces.close_ended();
  auto known = pieces.all.find(piece.number);
  if (known == pieces.all.end()) known = pieces.all.emplace(piece.number, opened(*heap, piece)).first;
  const ExportableMemory& memory = known->second;
  return memory.memfd != nullptr && memory.holds(at, bytes) ? std::optional(memory) : std::nullopt;
}

uint64_t heap_pieces_ended() {
  const LentHeap* const heap = lent_heap();
  return heap == nullptr ? 0 : load(heap->ended);
}

bool ExportableMemory::is_lent_now() const { return load(lent_now) == (number & ~kOfHeap); }

}  // namespace rondo
