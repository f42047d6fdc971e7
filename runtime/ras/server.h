// SPDX-License-Identifier: Apache-2.0
// RasServer: the lines that NCCL's client exchanges with a process, and the answers to its STATUS. Clients
// may be strangers, so their number, bytes, commands and time are limited, and their trust depends on who
// they are as the kernel knows it: this user gets all, another one nothing, and one that cannot be told the
// summary.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "census.h"
#include "net/event_loop.h"
#include "net/paced_listeners.h"
#include "ras/options.h"

namespace rondo {

class RasServer {
 public:
  // Of this user, and as many that cannot be told; then the oldest ends.
  static constexpr size_t kMaxClients = 8;
  static constexpr size_t kMaxLine = 1024;      // bytes
  static constexpr int kMaxCommands = 32;       // of a client
  static constexpr int64_t kAsk_ms = 30'000;    // until its STATUS
  static constexpr int64_t kTimeout_ms = 5000;  // for other processes to answer, unless it says another
  static constexpr int64_t kMaxTimeout_ms = 60'000;
  static constexpr int64_t kRead_ms = 5000;  // until it has read the answer
  static constexpr int64_t kReuse_ms = 50;   // clients within this time get the same findings

  /// `own_name`: at which other processes ask this one. Any thread but the service thread; likewise the
  /// destructor.
  RasServer(EventLoop& event_loop, std::vector<Fd> listeners, RasOptions options, std::string own_name);
  ~RasServer();

 private:
  enum class ClientPhase : uint8_t { Asks, Waits, Reads };
  struct RasClient {
    Fd fd;
    bool is_trusted = false;
    ClientPhase phase = ClientPhase::Asks;
    std::string input;
    std::string output;
    size_t sent = 0;
    int commands = 0;
    bool verbose = false;
    bool json = false;
    int64_t timeout_ms = kTimeout_ms;
    EventLoop::Timer timer = 0;
  };
  using Clients = std::list<RasClient>;

  // On the service thread only.
  void welcome(Fd fd);
  void make_room(bool is_trusted);
  void handle(Clients::iterator client, uint32_t events);
  void read_more(Clients::iterator client);
  bool obey_lines(RasClient& client);
  void obey(RasClient& client, std::string_view line);
  void begin_status(Clients::iterator client);
  void answer_all();
  void answer_in_part(Clients::iterator client);
  void answer(Clients::iterator client, const RasFindings& found);
  void send_more(Clients::iterator client);
  void watch_for(RasClient& client);
  void drop(Clients::iterator client);
  void drop_all();

  EventLoop& event_loop_;
  const RasOptions options_;
  const std::string own_name_;
  Clients clients_;  // oldest first
  std::unique_ptr<RasCensus> census_;
  std::unique_ptr<const RasFindings> found_;  // null: none, or out of date
  EventLoop::Timer expiry_ = 0;
  std::unique_ptr<PacedListeners> listeners_;
};

}  // namespace rondo
