// SPDX-License-Identifier: Apache-2.0
// InitSiblings: the ranks that one call created in one process. One thread may end them one after another, so
// only the last to leave waits for other ranks; until then the communicators of those that left are kept,
// since peers may still read their memory. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace rondo {

class Communicator;

class InitSiblings {
 public:
  explicit InitSiblings(int ranks) : staying_(ranks) {}

  /// A rank leaves; true for the last one.
  bool leave() { return staying_.fetch_sub(1) == 1; }
  /// Keeps the communicator of a rank that has left until these InitSiblings are destroyed.
  void keep(std::unique_ptr<Communicator> communicator) {
    std::lock_guard lock(mutex_);
    kept_.push_back(std::move(communicator));
  }

 private:
  std::atomic<int> staying_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Communicator>> kept_;
};

}  // namespace rondo
