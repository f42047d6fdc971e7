// SPDX-License-Identifier: Apache-2.0
#include "exported_windows.h"

#include <algorithm>

#include "base/log.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

using Phase = WindowState::Phase;

}  // namespace

void ExportedWindows::add(const void* key, std::byte* at, size_t bytes, std::shared_ptr<const void> kept) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({.key = key, .at = at, .bytes = bytes, .kept = std::move(kept)});
  if (table_) open(entries_.back());
}

void ExportedWindows::publish(const WindowTable& table) {
  const std::lock_guard lock(mutex_);
  table_ = table;
  for (ExportedWindow& entry : entries_) open(entry);
}

int ExportedWindows::free_index() const {
  for (int index = 0; index < kMaxWindows; ++index)
    if (std::none_of(entries_.begin(), entries_.end(),
                     [&](const ExportedWindow& one) { return one.index == index; }))
      return index;
  return -1;
}

/// Memory that cannot be exported is staged, as if it were not registered.
void ExportedWindows::open(ExportedWindow& entry) {
  const int index = free_index();
  entry.waits = index < 0;
  if (entry.waits)
    return log().info(
        "rank {}: peers do not read {} bytes at {} in place yet: {} other pieces are registered", self_,
        entry.bytes, static_cast<void*>(entry.at), kMaxWindows);
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

void ExportedWindows::open_waiting() {
  for (ExportedWindow& entry : entries_)
    if (entry.waits && free_index() >= 0) open(entry);
}

const std::byte* ExportedWindows::seen_by(int peer, const std::byte* at, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  for (const ExportedWindow& entry : entries_) {
    if (entry.index < 0 || entry.closed || at < entry.at || at + bytes > entry.at + entry.bytes) continue;
    const WindowAnswer& answer = table_->answer(self_, entry.index, peer);
    const uint64_t number = table_->window(self_, entry.index).state.load().number;
    if (answer.state.load() == WindowState{Phase::Seen, number})
      return reinterpret_cast<const std::byte*>(answer.address) + (at - entry.at);
  }
  return nullptr;
}

void ExportedWindows::close(ExportedWindow& entry) {
  if (entry.index < 0 || entry.closed) return;
  entry.closed = true;
  Window& window = table_->window(self_, entry.index);
  window.state.store({Phase::Closed, window.state.load().number});
  table_->changes().fetch_add(1, std::memory_order_release);
}

std::list<ExportedWindows::ExportedWindow>::iterator ExportedWindows::find(const void* key) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const ExportedWindow& entry) { return entry.key == key; });
}

bool ExportedWindows::close(const void* key) {
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

void ExportedWindows::close_all() {
  const std::lock_guard lock(mutex_);
  for (ExportedWindow& entry : entries_) close(entry);
}

int ExportedWindows::holder(const ExportedWindow& entry) const {
  if (!entry.closed) return -1;
  const WindowState closed = table_->window(self_, entry.index).state.load();
  for (int rank = 0; rank < nranks_; ++rank) {
    if (rank == self_ || table_->answer(self_, entry.index, rank).state.load() == closed) continue;
    if (table_->left(rank).load(std::memory_order_acquire) == 0 && !gone_(rank)) return rank;
  }
  return -1;
}

int ExportedWindows::holder(const void* key) const {
  const std::lock_guard lock(mutex_);
  for (const ExportedWindow& entry : entries_)
    if (entry.key == key) return holder(entry);
  return -1;
}

int ExportedWindows::holder() const {
  const std::lock_guard lock(mutex_);
  for (const ExportedWindow& entry : entries_)
    if (const int rank = holder(entry); rank >= 0) return rank;
  return -1;
}

void ExportedWindows::forget(const void* key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = find(key); found != entries_.end()) entries_.erase(found);
  open_waiting();
}

void ExportedWindows::sweep() {
  std::list<ExportedWindow> over;  // destroyed after unlocking: freeing may wait for the GPU
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->key == nullptr && holder(*entry) < 0) over.splice(over.end(), entries_, entry);
    entry = next;
  }
  open_waiting();
}

}  // namespace rondo
