// SPDX-License-Identifier: Apache-2.0
// Handshake: how one end of a connection comes from a socket to a queue pair, on a thread of its own, since
// opening devices and resolving addresses may block in the kernel. The ends exchange their ports; then the
// dialling end proposes one path after the other until one is proved. An end that cannot go on says why.
// Waits for the peer last until the connection is destroyed: its user has the deadline. Used by the
// connection's thread.
#pragma once

#include <atomic>
#include <thread>

#include "verbs/conversation.h"
#include "verbs/path_attempt.h"
#include "verbs/port_watch.h"

namespace rondo::verbs {

class Handshake {
 public:
  /// `lost`: the path to try last.
  Handshake(const VerbsTerms& terms, ConnectionPages pages, LostPath lost = {})
      : terms_(terms),
        pages_(std::move(pages)),
        lost_(std::move(lost)),
        conversation_(terms.params, terms.peer) {}
  /// Ends the thread; waits for the kernel if it resolves an address.
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  /// Starts; the socket must be non-blocking.
  Status begin(Fd socket);
  bool is_over() const { return over_.load(std::memory_order_acquire); }  // pairs with run()'s store
  /// Becomes readable when it is over.
  int descriptor() const { return done_.get(); }

  /// Once it is over: whether both ends know that they cannot be connected over verbs.
  bool is_refused() const { return is_refused_; }
  /// Ends it, and gives the socket back; waits for the kernel if it resolves an address.
  Fd stop();
  struct Connected {
    SlotChannel::ChannelParts parts;
    std::string path;  // as path_text()
    uint32_t mtu = 0;
    PortWatch watch;
  };
  /// Once it is over: what a channel needs, and the socket to the peer.
  Result<Connected> take_connected() {
    thread_.join();
    return std::move(connected_);
  }
  /// Likewise, instead: the last words of a peer that has left.
  const std::optional<Farewell>& farewell() const { return conversation_.farewell(); }
  Fd take_socket() { return conversation_.take_socket(); }

 private:
  void run();
  Result<Connected> connect();
  Status exchange_ports();
  Status check_partition(uint32_t peers) const;
  Result<Connected> propose_paths();
  Result<Connected> follow_proposals();
  /// Tries a path; the attempt if it was proved, else null and why.
  Result<std::unique_ptr<PathAttempt>> propose(const VerbsPath& path, PathAttempt::ProofResult& result);
  Result<std::unique_ptr<PathAttempt>> follow(const PathProposal& proposal);
  Connected connected_over(PathAttempt& attempt, const VerbsPath& path) const;
  PortWatch watch_of(const VerbsPath::PathEnd& used) const;
  Status no_address() const;
  /// Why this is the path, once for each path that is new: as a warning if better ones have failed.
  void log_choice(const VerbsPath& path, bool is_new, const std::string& failures) const;
  Result<std::unique_ptr<PathAttempt>> make_attempt(const VerbsPath& path) const;
  Path own_view(const VerbsPath& path) const;
  const std::vector<VerbsPort>& diallers() const { return terms_.dials ? own_ports_ : peers_ports_; }
  const std::vector<VerbsPort>& acceptors() const { return terms_.dials ? peers_ports_ : own_ports_; }
  std::string text(const VerbsPath& path) const { return path_text(path, diallers(), acceptors()); }
  /// Tells the peer, in a message of this kind, that this end cannot go on for this reason.
  template <class Message>
  Status give_up(const Status& reason);

  const VerbsTerms terms_;
  const ConnectionPages pages_;
  const LostPath lost_;
  Conversation conversation_;
  Fd done_;
  std::shared_ptr<Devices> devices_;
  std::vector<VerbsPort> own_ports_;
  std::vector<VerbsPort> peers_ports_;
  uint32_t peers_turn_ = 0;
  Result<Connected> connected_ = Status();
  bool is_refused_ = false;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace rondo::verbs
