// SPDX-License-Identifier: Apache-2.0
// ExportedWindows: the owner's side of the GPU memory that a rank's peers may read in place. Any thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "window_table.h"

namespace rondo {

class ExportedWindows {
 public:
  /// Whether a rank is known to have left or died, and so no longer answers.
  using Gone = std::function<bool(int rank)>;
  ExportedWindows(int self, int nranks, int device, Gone gone)
      : self_(self), nranks_(nranks), device_(device), gone_(std::move(gone)) {}

  /// Adds memory of one allocation, under the caller's key. It is exported to peers now, or once there is a
  /// table with room for it.
  /// `kept`: owns the memory; null: the caller keeps it.
  void add(const void* key, std::byte* at, size_t bytes, std::shared_ptr<const void> kept);
  void publish(const WindowTable& table);

  /// The address of this rank's memory for a peer's device; null unless all of it is mapped there.
  const std::byte* seen_by(int peer, const std::byte* at, size_t bytes) const;

  /// Stops further calls from using the window. True: peers may still map it; the caller must keep the memory
  /// until holder() returns -1, then call forget(). False: the key is already forgotten.
  bool close(const void* key);
  void close_all();
  /// A peer that has not yet unmapped a closed window; -1: none.
  int holder(const void* key) const;
  int holder() const;
  void forget(const void* key);

  /// Releases, and so may free, memory that was kept for peers which have now all unmapped it.
  void sweep();

 private:
  struct ExportedWindow {
    const void* key = nullptr;  // null: the caller has forgotten it
    std::byte* at = nullptr;
    size_t bytes = 0;
    std::shared_ptr<const void> kept;
    int index = -1;       // in the table; -1: none
    bool waits = false;   // for a free index
    bool closed = false;  // peers have been told
  };
  void open(ExportedWindow& entry);
  void open_waiting();
  int free_index() const;
  void close(ExportedWindow& entry);
  int holder(const ExportedWindow& entry) const;
  std::list<ExportedWindow>::iterator find(const void* key);

  const int self_;
  const int nranks_;
  const int device_;
  const Gone gone_;
  mutable std::mutex mutex_;  // guards the members below
  std::optional<WindowTable> table_;
  std::list<ExportedWindow> entries_;
};

}  // namespace rondo
