// SPDX-License-Identifier: Apache-2.0
// Proxy: the thread that does what GPUs cannot do themselves: it moves their messages over connections and
// monitors their calls. One per process, while it has clients. It never calls CUDA.
#pragma once

#include <cstdint>
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
  };

  static Proxy& get();
  void add(ProxyClient* work);
  /// Once this returns, the work is no longer served.
  void remove(ProxyClient* work);
  /// A hint that there will be something to do; without it the proxy notices some milliseconds later.
  void wake();

 private:
  void loop();
  std::mutex mutex_;     // held while work is served
  uint64_t woken_ = 0;   // atomic; how often
  uint32_t asleep_ = 0;  // atomic; see park.h
  std::vector<ProxyClient*> all_;
  std::mutex thread_mutex_;  // guards starting and joining the thread
  std::thread thread_;
};

}  // namespace rondo
