// Departures: what is left to do when a rank has left a communicator without waiting for the others. Each has
// a thread of its own, since nothing says which others come first. Any thread.
#pragma once

#include <functional>

namespace rondo {

class Departures {
 public:
  /// Runs `rest`, which ends by itself, and then frees it. The end of the process waits for it, a second at
  /// most: peers would take a process that is gone without its good-byes for one that died.
  static void add(std::function<void()> rest);
};

}  // namespace rondo
