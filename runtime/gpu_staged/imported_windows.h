// SPDX-License-Identifier: Apache-2.0
// ImportedWindows: the peers' windows that one rank's GPU has mapped. Opening and closing another process's
// memory can wait for streams, so neither the thread that makes calls nor the Watchdog does it: when a peer
// has opened or closed a window, a dedicated thread maps or unmaps it, answers in the table, and ends. If a
// peer has unmapped a window of this rank, that thread also calls ExportedWindows::sweep().
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "exported_windows.h"

namespace rondo {

class ImportedWindows : public std::enable_shared_from_this<ImportedWindows> {
 public:
  struct WindowParties {
    WindowTable table;
    int self = 0;
    int device = 0;
    std::vector<int> devices;  // by rank, of those in this process; -1: in another process
    std::shared_ptr<ExportedWindows> own;
  };
  static std::shared_ptr<ImportedWindows> make(WindowParties parties);

  /// Starts the thread if there is work for it; makes no CUDA calls. Any thread.
  void look();

  /// Asks to unmap everything and to stop answering; if anything is mapped, look() starts that. Any thread.
  void leave();
  /// Whether leave() has completed and no thread is running.
  bool has_left() const;

 private:
  /// This rank's mapping of a peer's window.
  struct Seen {
    WindowState state;
    gpu::ImportedMemory memory;  // none if the peer is in this process
  };
  explicit ImportedWindows(WindowParties parties) : parties_(std::move(parties)) {}
  int nranks() const { return static_cast<int>(parties_.devices.size()); }
  void serve();
  void answer_all();
  void answer(int owner, int index);
  Result<const std::byte*> open(const Window& window, int owner, Seen& seen) const;
  void note_refusal(int owner, const Status& why);
  void close_all();

  const WindowParties parties_;
  std::atomic<bool> serves_{false};    // a thread is running; seen_ and has_noted_ are its own
  std::atomic<uint64_t> answered_{0};  // the table's changes() when the last thread started
  std::atomic<bool> leaves_{false};
  std::atomic<bool> has_left_{false};
  std::map<std::pair<int, int>, Seen> seen_;  // by owner and index
  bool has_noted_ = false;
};

}  // namespace rondo
