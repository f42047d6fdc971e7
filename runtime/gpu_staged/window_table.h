// SPDX-License-Identifier: Apache-2.0
// WindowTable: the windows of all ranks, in shared host memory. A window is memory of a rank's GPU that its
// peers may read in place: its owner describes it, and each peer answers whether it has mapped it.
//
//     owner   Open(1) ............................. Closed(1)               Open(2) ...
//     peer              Seen(1, address) or Refused(1)         Closed(1)                ...
//
// An owner opens and closes a window; the number counts the windows that this entry has held. Once all peers
// have answered that it is closed, none of them maps the memory any more. Plain data and atomics: any thread
// of any of the processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gpu/ipc.h"

namespace rondo {

inline constexpr int kMaxWindows = 64;  // of a rank at a time

/// A table entry: the window's phase, and how many windows this slot has had.
struct WindowState {
  enum class Phase : uint64_t { Closed, Open, Seen, Refused };
  Phase phase = Phase::Closed;
  uint64_t number = 0;

  friend bool operator==(const WindowState&, const WindowState&) = default;
};

/// A word that holds a WindowState. store() is a release, which pairs with the acquire of load().
class WindowWord {
 public:
  WindowState load() const {
    const uint64_t value = value_.load(std::memory_order_acquire);
    return {static_cast<WindowState::Phase>(value % kPhases), value / kPhases};
  }
  void store(const WindowState& state) {
    value_.store(state.number * kPhases + static_cast<uint64_t>(state.phase), std::memory_order_release);
  }

 private:
  static constexpr uint64_t kPhases = 4;
  std::atomic<uint64_t> value_;
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "processes share it");
};

/// Written by the owner.
struct Window {
  WindowWord state;
  uint64_t address;  // in its process
  uint64_t offset;   // in the allocation that the handle opens
  gpu::IpcHandle handle;
};

/// Written by one peer.
struct WindowAnswer {
  WindowWord state;
  uint64_t address;  // of the window, for the peer's device
};

/// Layout of the segment, which is initially all zeros.
class WindowTable {
 public:
  WindowTable() = default;
  WindowTable(std::byte* base, int nranks) : base_(base), nranks_(nranks) {}
  static size_t bytes(int nranks) { return WindowTable(nullptr, nranks).answers_at(nranks); }

  /// Counts changes: owners' opening and closing, and peers' closing.
  std::atomic<uint64_t>& changes() const { return *reinterpret_cast<std::atomic<uint64_t>*>(base_); }
  /// 1: the rank no longer answers, and has unmapped all windows.
  std::atomic<uint64_t>& left(int rank) const { return (&changes())[1 + rank]; }
  Window& window(int owner, int index) const {
    return reinterpret_cast<Window*>(base_ + windows_at(owner))[index];
  }
  WindowAnswer& answer(int owner, int index, int peer) const {
    return reinterpret_cast<WindowAnswer*>(base_ + answers_at(owner))[index * nranks_ + peer];
  }

 private:
  size_t n() const { return static_cast<size_t>(nranks_); }
  size_t windows_at(int owner) const {
    return (1 + n()) * sizeof(uint64_t) + static_cast<size_t>(owner) * kMaxWindows * sizeof(Window);
  }
  size_t answers_at(int owner) const {
    return windows_at(nranks_) + static_cast<size_t>(owner) * kMaxWindows * n() * sizeof(WindowAnswer);
  }

  std::byte* base_ = nullptr;
  int nranks_ = 0;
};

}  // namespace rondo
