// SPDX-License-Identifier: Apache-2.0
// JobInquiry: asks the processes of a session on other hosts, for rondo-ps, which calls they make: all in
// parallel, each with a deadline of its own, and all of them with one. On the service thread, which it never
// blocks.
//
// The result is a line of JSON about the inquiry, and for each process a line of JSON about it, with the
// length in bytes of what it said, and then just that.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/peer_info.h"
#include "net/dialler.h"
#include "net/event_loop.h"
#include "net/handshake.h"

namespace rondo {

/// A session of which this process has a rank. The functions are called on the service thread.
struct AskedSession {
  Credentials credentials;
  int rank = 0;
  std::span<const PeerInfo> members;                               // by rank
  std::function<std::vector<Address>(const PeerInfo&)> addresses;  // of a process of another host
  std::function<std::string(int rank)> end_of;                     // why a rank is gone; empty: it is not
};

class JobInquiry {
 public:
  static constexpr int64_t kConnect_ms = 500;
  static constexpr int64_t kAnswer_ms = 500;  // for the handshake, and then for the text
  static constexpr int64_t kTotal_ms = 1500;
  static constexpr size_t kAtATime = 64;               // processes at most, each with a descriptor
  static constexpr size_t kMaxTextBytes = 1u << 20;    // of a process
  static constexpr size_t kMaxTotalBytes = 32u << 20;  // of all

  /// `on_done` gets the result, once, after the constructor has returned; it must not destroy the JobInquiry.
  JobInquiry(EventLoop& event_loop, AskedSession session, std::function<void(std::string)> on_done,
             size_t at_a_time = kAtATime);
  ~JobInquiry();

 private:
  /// How a process was found.
  enum class Found { Unasked, Answered, Silent, Unreachable, Off, Gone };
  struct AskedProcess {
    const PeerInfo* peer = nullptr;  // its lowest rank
    std::vector<int> ranks;
    Found found = Found::Unasked;
    std::string problem;
    std::string text;
    std::unique_ptr<Dialler> dialler;
    Fd fd;
    EventLoop::Timer timer = 0;
  };

  void find_processes();
  void begin_some();
  void begin(AskedProcess& asked);
  void have_dialled(AskedProcess& asked, Result<Fd> fd, Contact contact);
  void read_some(AskedProcess& asked);
  void end(AskedProcess& asked, Found found, std::string problem);
  void end_all();
  std::string result() const;
  std::string line_of(const AskedProcess& asked) const;
  static const char* word_for(Found found);

  EventLoop& event_loop_;
  const AskedSession session_;
  std::function<void(std::string)> on_done_;
  const size_t at_a_time_;
  EventLoop::Timer total_ = 0;
  std::vector<std::unique_ptr<AskedProcess>> all_;  // in the order in which they are asked
  std::set<uint64_t> unreachable_;                  // hosts
  size_t next_ = 0;
  size_t open_ = 0;
  size_t total_bytes_ = 0;
};

}  // namespace rondo
