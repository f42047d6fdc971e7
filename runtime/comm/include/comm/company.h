// Company: ranks that one call made in one process. One thread may end them one after the other, so only the
// last to leave waits for others; what peers may still read of the others is kept until then. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace rondo {

class Communicator;

class Company {
 public:
  explicit Company(int ranks) : staying_(ranks) {}

  /// A rank leaves; true for the last one.
  bool leave() { return staying_.fetch_sub(1) == 1; }
  /// Keeps a communicator of a rank that has left until nobody of the company is there any more.
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
