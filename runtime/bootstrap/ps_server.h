// SPDX-License-Identifier: Apache-2.0
// What rondo-ps learns of this process, and through it of others. Its abstract Unix name,
// rondo-ps-UID-PID-RANDOM, is in /proc/net/unix, where rondo-ps finds it. There a TextServer gives the latest
// calls of its communicators, as the flight file has them. A client whose own end is named
// rondo-ps-asks-SESSION-RANDOM gets what the processes of that session on other hosts say (a JobInquiry)
// instead; these ask this process in turn over connections of kind Calls.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "job_inquiry.h"
#include "net/text_sender.h"
#include "net/text_server.h"

namespace rondo {

class PsServer {
 public:
  static constexpr size_t kMaxInquiries = 8;  // at once, and no client for another gets an answer

  PsServer(EventLoop& event_loop, Fd listener);
  ~PsServer();

  /// A session that clients may ask about, until remove(), which precedes the end of what it refers to. Any
  /// thread but the service thread, like the constructor and the destructor.
  void add(AskedSession session);
  void remove(uint64_t session, int rank);

  /// Tells a process of the session on another host which calls this one makes in it. On the service thread.
  void answer(uint64_t session, Fd fd);

 private:
  struct WaitingClient {
    uint64_t session = 0;
    Fd fd;
  };

  bool take(const std::string& name, Fd& fd);
  void have_result(uint64_t session, std::string result);

  EventLoop& event_loop_;
  TextSender sender_;
  std::map<std::pair<uint64_t, int>, AskedSession> sessions_;
  std::map<uint64_t, std::unique_ptr<JobInquiry>> inquiries_;  // by session
  std::map<uint64_t, FreshText> texts_;                        // of this process, by session
  std::list<WaitingClient> waiting_;                           // for results, oldest first
  std::unique_ptr<TextServer> server_;
};

/// Null if there can be no such socket, which the log says at info. Any thread but the service thread.
std::unique_ptr<PsServer> start_ps_server(EventLoop& event_loop);

}  // namespace rondo
