// SPDX-License-Identifier: Apache-2.0
// Proxy: the thread that does what GPUs cannot do themselves: it moves their messages over connections and
// monitors their calls. One per process, while it has clients. It never calls CUDA.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo {

class Proxy {
 public:
  /// Work to be polled.
  class ProxyClient {
   public:
    virtual ~ProxyClient() = default;
    /// Does what it can without blocking; true if it made progress. On the proxy's thread.
    virtual bool serve() = 0;
    /// Whether there will be more to do soon.
    virtual bool busy() const = 0;
  };

  static Proxy& get();
  void add(ProxyClient* work);
  /// Once this returns, the work is no longer served.
  void remove(ProxyClient* work);
  /// A hint that there may be something to do; without it the proxy notices a little later.
  void wake() { changed_.notify_one(); }

 private:
  void loop();
  std::mutex mutex_;  // held while work is served
  std::condition_variable changed_;
  std::vector<ProxyClient*> all_;
  std::mutex thread_mutex_;  // guards starting and joining the thread
  std::thread thread_;
};

}  // namespace rondo
