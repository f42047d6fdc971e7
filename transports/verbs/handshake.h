// SPDX-License-Identifier: Apache-2.0
// Handshake: how one end of a connection comes from a socket to a SlotChannel, on a thread of its own, since
// opening devices and resolving addresses may block in the kernel. The ends exchange an PortOffer, choose
// ports, exchange a PairContact, connect their queue pairs, and exchange a Ready. An end that cannot go on
// says why. Waits for the peer last until the connection is destroyed: its user has the deadline. Used by the
// connection's thread.
#pragma once

#include <atomic>
#include <thread>

#include "base/fd.h"
#include "verbs/slot_channel.h"
#include "verbs/wire.h"

namespace rondo::verbs {

/// What a connection is for.
struct VerbsTerms {
  AgreedParams params;
  uint64_t session = 0;
  uint16_t lane = 0;
  int peer = -1;  // rank
  bool dials = false;

  SlotLayout layout() const { return {params.slots, params.slot_bytes}; }
};

class Handshake {
 public:
  explicit Handshake(const VerbsTerms& terms) : terms_(terms) {}
  /// Ends the thread, wherever it is.
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  /// Starts; the socket must be non-blocking.
  Status begin(Fd socket);
  bool has_begun() const { return thread_.joinable(); }
  bool is_over() const { return over_.load(std::memory_order_acquire); }  // pairs with run()'s store
  /// Becomes readable when it is over.
  int descriptor() const { return done_.get(); }

  /// Once it is over: the channel, and the socket to the peer.
  Result<std::unique_ptr<SlotChannel>> take_channel() {
    thread_.join();
    return std::move(channel_);
  }
  Fd take_socket() { return std::move(socket_); }

 private:
  struct Chosen;
  void run();
  Result<std::unique_ptr<SlotChannel>> connect();
  Result<Chosen> choose();
  Result<PairContact> make(const Chosen& chosen, SlotChannel::ChannelParts& parts) const;
  /// Sends the own message, or why there is none, and receives the peer's.
  template <class Message>
  Result<Message> exchange(const Result<Message>& own);
  Status send_all(const void* data, size_t bytes);
  Status receive_all(void* data, size_t bytes);
  Status wait_for(short events);

  const VerbsTerms terms_;
  Fd socket_;
  Fd stop_;  // becomes readable when the thread has to end
  Fd done_;
  Result<std::unique_ptr<SlotChannel>> channel_ = Status();
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace rondo::verbs
