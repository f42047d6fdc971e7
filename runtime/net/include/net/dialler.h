// SPDX-License-Identifier: Apache-2.0
// Dialler: what dial() does, for the service thread, which must not block. On that thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "net/event_loop.h"
#include "net/handshake.h"

namespace rondo {

struct Transcript;

class Dialler {
 public:
  struct Patience {
    int64_t connect_ms = 0;  // for connections, of which each address gets a share of what is left
    int64_t answer_ms = 0;   // for the handshake with each address that takes a connection
  };
  /// Called once, after the constructor has returned; it may destroy the Dialler.
  using OnDone = std::function<void(Result<Fd> fd, Contact contact)>;

  /// Tries the addresses in turn, each once.
  Dialler(EventLoop& event_loop, std::vector<Address> addresses, const Credentials& credentials,
          const ConnectRequest& purpose, const Patience& patience, OnDone on_done);
  /// Gives up, and calls nothing.
  ~Dialler();
  Dialler(const Dialler&) = delete;
  Dialler& operator=(const Dialler&) = delete;

 private:
  enum class Awaited { Connection, Answer, Receipt };

  const Address& address() const { return addresses_[at_]; }
  void begin();
  void fail(const Status& failure);
  void end(Result<Fd> result);
  void arm(int64_t delay_ms);
  void on_ready();
  Status advance();
  Status say_hello();
  Status say_claim();
  bool read_all(std::span<std::byte> out, Status& failure);

  EventLoop& event_loop_;
  const std::vector<Address> addresses_;
  const Credentials credentials_;
  const Patience patience_;
  OnDone on_done_;
  Deadline connect_by_;
  int64_t connect_left_ms_ = 0;  // when the latest connection was made
  const std::unique_ptr<Transcript> said_;
  size_t at_ = 0;
  Fd fd_;
  EventLoop::Timer timer_ = 0;
  Awaited awaited_ = Awaited::Connection;
  std::vector<std::byte> in_;  // of the message that is awaited
  Contact contact_ = Contact::None;
  Status worst_;
  std::pair<int, bool> worst_weight_;
};

}  // namespace rondo
