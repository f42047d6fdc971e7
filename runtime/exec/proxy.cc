// SPDX-License-Identifier: Apache-2.0
#include "exec/proxy.h"

#include <algorithm>
#include <chrono>

#include "base/backoff.h"
#include "base/quiet_thread.h"

namespace rondo {
namespace {

constexpr std::chrono::milliseconds kIdle{2};  // poll interval while no work is busy

}  // namespace

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
    thread_ = quiet_thread([this] { loop(); });
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
  if (last && thread_.joinable()) thread_.join();
}

void Proxy::loop() {
  Backoff patience(true);
  for (;;) {
    bool moved = false;
    bool busy = false;
    std::unique_lock lock(mutex_);
    if (all_.empty()) return;
    for (ProxyClient* work : all_) {
      moved = work->serve() || moved;
      busy = busy || work->busy();
    }
    if (moved || busy) lock.unlock();
    if (moved)
      patience.reset();
    else if (busy)
      patience.wait();
    else
      changed_.wait_for(lock, kIdle);
  }
}

}  // namespace rondo
