// PeerWindows: what one rank's GPU sees of its peers' memory. Opening and closing another process's memory
// can wait for what streams do, so neither the thread that makes calls nor the Watch does it: when a peer has
// opened or closed a window, a thread of its own sees to it, answers in the table, and ends. Where a peer has
// let go of a window of this rank, that thread sweeps up behind it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "comm/own_windows.h"

namespace rondo {

class PeerWindows : public std::enable_shared_from_this<PeerWindows> {
 public:
  struct Parties {
    WindowTable table;
    int self = 0;
    int device = 0;
    std::vector<int> devices;  // by rank, of those in this process; -1: in another process
    std::shared_ptr<OwnWindows> own;
  };
  static std::shared_ptr<PeerWindows> make(Parties parties);

  /// Starts the thread where it is needed; makes no call of CUDA. Any thread.
  void look();

  /// Lets go of everything and answers no more; where there is anything, look() brings it about. Any thread.
  void leave();
  /// Whether it has, and no thread of it is at work.
  bool has_left() const;

 private:
  /// What of a peer's window this rank has.
  struct Seen {
    WindowState state;
    gpu::ImportedMemory memory;  // none, where the peer is in this process
  };
  explicit PeerWindows(Parties parties) : parties_(std::move(parties)) {}
  int nranks() const { return static_cast<int>(parties_.devices.size()); }
  void serve();
  void answer_all();
  void answer(int owner, int index);
  Result<const std::byte*> open(const Window& window, int owner, Seen& seen) const;
  void note_refusal(int owner, const Status& why);
  void close_all();

  const Parties parties_;
  std::atomic<bool> serves_{false};    // a thread is at work, and what follows is its own
  std::atomic<uint64_t> answered_{0};  // of the table's changes
  std::atomic<bool> leaves_{false};
  std::atomic<bool> has_left_{false};
  std::map<std::pair<int, int>, Seen> seen_;  // by owner and index
  bool has_noted_ = false;
};

}  // namespace rondo
