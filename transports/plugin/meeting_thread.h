// SPDX-License-Identifier: Apache-2.0
// MeetingThread: the thread on which an end connects. Plugins must be called again and again until they have
// connected, whether or not the connection's user calls, and some of their calls take long. Waits for the
// peer last until the connection is destroyed: its user has the deadline. Used by the connection's thread.
#pragma once

#include <atomic>
#include <thread>

#include "plugin/meeting.h"

namespace rondo::plugin {

class MeetingThread {
 public:
  explicit MeetingThread(const PluginTerms& terms) : meeting_(terms) {}
  /// Ends the thread; waits for the plugin if that is in a call.
  ~MeetingThread();
  MeetingThread(const MeetingThread&) = delete;
  MeetingThread& operator=(const MeetingThread&) = delete;

  /// Starts; the socket must be non-blocking.
  Status begin(Fd socket);
  bool has_begun() const { return thread_.joinable(); }
  bool is_over() const { return is_over_.load(std::memory_order_acquire); }  // pairs with run()'s store
  /// Becomes readable when it is over.
  int descriptor() const { return done_.get(); }
  /// Once it is over, and once: ends the thread.
  PluginMeeting& finish() {
    thread_.join();
    return meeting_;
  }

 private:
  void run();
  bool must_stop(int timeout_ms) const;

  PluginMeeting meeting_;
  Fd done_;
  Fd stop_;  // readable once the thread must end
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace rondo::plugin
