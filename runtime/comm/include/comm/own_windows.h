// OwnWindows: the memory of a rank's GPU that its peers may read in place, as its owner sees it. Any thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/window_table.h"

namespace rondo {

class OwnWindows {
 public:
  /// Whether a rank answers no more, because it is dead.
  using Gone = std::function<bool(int rank)>;
  OwnWindows(int self, int nranks, int device, Gone gone)
      : self_(self), nranks_(nranks), device_(device), gone_(std::move(gone)) {}

  /// Memory of one allocation, by a key of the caller's. Peers hear of it now, or once there is a table with
  /// room for it.
  /// `kept`: what keeps the memory there; null: the caller does.
  void add(const void* key, std::byte* at, size_t bytes, std::shared_ptr<const void> kept);
  void publish(const WindowTable& table);

  /// Where a peer's device sees memory of this rank; null: it does not see all of it.
  const std::byte* seen_by(int peer, const std::byte* at, size_t bytes) const;

  /// From here on no call uses it. True: peers may still have it, and the caller keeps the memory there until
  /// holder() names nobody, and then forgets the key. False: the key is forgotten.
  bool close(const void* key);
  void close_all();
  /// A peer that has not let go of a window which was closed; -1: none.
  int holder(const void* key) const;
  int holder() const;
  void forget(const void* key);

  /// Lets go of memory that was kept for peers, where they have let go of it; that may free it.
  void sweep();

 private:
  struct Entry {
    const void* key = nullptr;  // null: the caller has forgotten it
    std::byte* at = nullptr;
    size_t bytes = 0;
    std::shared_ptr<const void> kept;
    int index = -1;       // in the table; -1: not there
    bool waits = false;   // for a place there
    bool closed = false;  // peers have been told
  };
  void open(Entry& entry);
  void open_waiting();
  int free_index() const;
  void close(Entry& entry);
  int holder(const Entry& entry) const;
  std::list<Entry>::iterator find(const void* key);

  const int self_;
  const int nranks_;
  const int device_;
  const Gone gone_;
  mutable std::mutex mutex_;  // guards what follows
  std::optional<WindowTable> table_;
  std::list<Entry> entries_;
};

}  // namespace rondo
