#include "comm/own_windows.h"

#include <algorithm>

#include "base/log.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

using Phase = WindowState::Phase;

}  // namespace

void OwnWindows::add(const void* key, std::byte* at, size_t bytes, std::shared_ptr<const void> kept) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({.key = key, .at = at, .bytes = bytes, .kept = std::move(kept)});
  if (table_) open(entries_.back());
}

void OwnWindows::publish(const WindowTable& table) {
  const std::lock_guard lock(mutex_);
  table_ = table;
  for (Entry& entry : entries_) open(entry);
}

int OwnWindows::free_index() const {
  for (int index = 0; index < kMostWindows; ++index)
    if (std::none_of(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.index == index; }))
      return index;
  return -1;
}

/// What cannot be opened is staged, as if it were not registered.
void OwnWindows::open(Entry& entry) {
  const int index = free_index();
  entry.waits = index < 0;
  if (entry.waits)
    return log().info(
        "rank {}: peers do not read {} bytes at {} in place yet: {} other pieces are registered", self_,
        entry.bytes, static_cast<void*>(entry.at), kMostWindows);
  const gpu::OutsideCapture outside;
  const auto allocation = gpu::allocation_of(entry.at, device_);
  const auto handle = allocation.ok() ? gpu::export_memory(allocation.value().base, device_)
                                      : Result<gpu::IpcHandle>(allocation.status());
  if (!handle.ok())
    return log().info("rank {}: peers cannot read {} bytes at {} in place: {}", self_, entry.bytes,
                      static_cast<void*>(entry.at), handle.status().message());
  entry.index = index;
  Window& window = table_->window(self_, index);
  window.address = reinterpret_cast<uintptr_t>(entry.at);
  window.offset = static_cast<uint64_t>(entry.at - allocation.value().base);
  window.handle = handle.value();
  window.state.store({Phase::Open, window.state.load().number + 1});
  table_->changes().fetch_add(1, std::memory_order_release);
}

void OwnWindows::open_waiting() {
  for (Entry& entry : entries_)
    if (entry.waits && free_index() >= 0) open(entry);
}

const std::byte* OwnWindows::seen_by(int peer, const std::byte* at, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (entry.index < 0 || entry.closed || at < entry.at || at + bytes > entry.at + entry.bytes) continue;
    const WindowAnswer& answer = table_->answer(self_, entry.index, peer);
    const uint64_t number = table_->window(self_, entry.index).state.load().number;
    if (answer.state.load() == WindowState{Phase::Seen, number})
      return reinterpret_cast<const std::byte*>(answer.address) + (at - entry.at);
  }
  return nullptr;
}

void OwnWindows::close(Entry& entry) {
  if (entry.index < 0 || entry.closed) return;
  entry.closed = true;
  Window& window = table_->window(self_, entry.index);
  window.state.store({Phase::Closed, window.state.load().number});
  table_->changes().fetch_add(1, std::memory_order_release);
}

std::list<OwnWindows::Entry>::iterator OwnWindows::find(const void* key) {
  return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
}

bool OwnWindows::close(const void* key) {
  const std::lock_guard lock(mutex_);
  const auto found = find(key);
  if (found == entries_.end()) return false;
  if (found->index < 0) {
    entries_.erase(found);
    return false;
  }
  close(*found);
  if (found->kept != nullptr) found->key = nullptr;
  return found->kept == nullptr;
}

void OwnWindows::close_all() {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) close(entry);
}

int OwnWindows::holder(const Entry& entry) const {
  if (!entry.closed) return -1;
  const WindowState closed = table_->window(self_, entry.index).state.load();
  for (int rank = 0; rank < nranks_; ++rank) {
    if (rank == self_ || table_->answer(self_, entry.index, rank).state.load() == closed) continue;
    if (table_->left(rank).load(std::memory_order_acquire) == 0 && !gone_(rank)) return rank;
  }
  return -1;
}

int OwnWindows::holder(const void* key) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.key == key) return holder(entry);
  return -1;
}

int OwnWindows::holder() const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (const int rank = holder(entry); rank >= 0) return rank;
  return -1;
}

void OwnWindows::forget(const void* key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(key); found != entries_.end()) entries_.erase(found);
  open_waiting();
}

void OwnWindows::sweep() {
  std::list<Entry> over;  // freed when nothing is locked: that may wait for the GPU
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->key == nullptr && holder(*entry) < 0) over.splice(over.end(), entries_, entry);
    entry = next;
  }
  open_waiting();
}

}  // namespace rondo
