// SPDX-License-Identifier: Apache-2.0
#include "exec/proxy.h"

#include <atomic>
#include <exception>
#include <utility>

#include "base/backoff.h"
#include "base/park.h"
#include "base/quiet_thread.h"

namespace rondo {

Proxy& Proxy::get() {
  static auto& proxy = *new Proxy;  // leaked: communicators may outlive static objects
  return proxy;
}

void Proxy::add(ProxyClient* work) {
  const std::lock_guard starting(thread_mutex_);
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(work);
  }
  if (thread_.joinable()) return;
  try {
    thread_ = quiet_thread("rondo-proxy", [this] { loop(); });
  } catch (const std::exception&) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, work);
    throw;
  }
}

void Proxy::remove(ProxyClient* work) {
  const std::lock_guard ending(thread_mutex_);
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    std::erase(all_, work);
    last = all_.empty();
  }
  if (!last || !thread_.joinable()) return;
  wake();
  thread_.join();
}

void Proxy::wake() {
  std::atomic_ref(woken_).fetch_add(1, std::memory_order_release);
  rondo::wake(asleep_);
}

/// GPUs wake no thread: after a call has been issued, and after each message, the proxy polls at first
/// without sleeping.
void Proxy::loop() {
  uint64_t seen = 0;
  Backoff patience(true, [&](int64_t ns) { park(AwaitedCounter{&woken_, seen, &asleep_}, ns); });
  for (;;) {
    const uint64_t woken = std::atomic_ref(woken_).load(std::memory_order_acquire);
    bool moved = std::exchange(seen, woken) != woken;
    {
      const std::lock_guard lock(mutex_);
      if (all_.empty()) return;
      for (ProxyClient* work : all_) moved = work->serve() || moved;
    }
    if (moved)
      patience.moved();
    else
      patience.wait();
  }
}

}  // namespace rondo
