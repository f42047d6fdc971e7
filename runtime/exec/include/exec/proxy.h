// Proxy: the thread that does for GPUs what they cannot do themselves: it moves their messages over
// connections and watches over their calls. One a process, while there is work for it. It never calls CUDA.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo {

class Proxy {
 public:
  /// Something to be done again and again.
  class Work {
   public:
    virtual ~Work() = default;
    /// Does what can be done now, without blocking; whether that was anything. On the proxy's thread.
    virtual bool serve() = 0;
    /// Whether there will soon be more to do.
    virtual bool busy() const = 0;
  };

  static Proxy& get();
  void add(Work* work);
  /// The work is not served any more once this returns.
  void remove(Work* work);
  /// There is something to do, as far as the caller knows; without it that is found out a little later.
  void wake() { changed_.notify_one(); }

 private:
  void loop();
  std::mutex mutex_;  // held while work is served
  std::condition_variable changed_;
  std::vector<Work*> all_;
  std::mutex thread_mutex_;  // guards starting and ending the thread
  std::thread thread_;
};

}  // namespace rondo
