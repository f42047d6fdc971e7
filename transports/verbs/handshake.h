// SPDX-License-Identifier: Apache-2.0
// Handshake: how one end of a connection comes from a socket to queue pairs, on a thread of its own, since
// opening devices and resolving addresses may block in the kernel. The ends exchange their ports; then the
// dialling end proposes one path after the other until one is proved, and then those of further queue pairs,
// if there are to be several. An end that cannot go on says why. Waits for the peer last until the connection
// is destroyed: its user has the deadline. Used by the connection's thread.
#pragma once

#include <atomic>
#include <thread>

#include "verbs/conversation.h"
#include "verbs/path_attempt.h"
#include "verbs/port_watch.h"
#include "verbs/slot_channel.h"

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
    std::vector<std::string> paths;  // by queue pair, as path_text()
    std::string text;                // of all of them, with their MTUs
    struct WatchedPath {
      PortWatch watch;
      size_t pair = 0;  // the first on this path
    };
    std::vector<WatchedPath> watched;
    size_t devices = 0;
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
  Status check_settings(const PortOffer& peers);
  Result<Connected> propose_paths();
  Result<Connected> follow_proposals();
  /// Proposes paths of the search until one is proved; false if none was.
  Result<bool> find_path(PathSearch& search, const Deadline& deadline, const PathTurns& turns);
  Status add_pairs(const PathTurns& turns, const Deadline& deadline);
  /// What follows if the first queue pair uses this path.
  PairsToFollow after_first(const VerbsPath& path, const PathTurns& turns) const;
  /// Tries a path for the next queue pair. Whether it was proved, or else why not.
  Result<bool> propose(const VerbsPath& path, PairsToFollow follow, PathAttempt::ProofResult& result);
  Result<bool> follow(const PathProposal& proposal);
  /// A path that is proved has the next queue pair.
  Result<PathAttempt::ProofResult> prove(PathAttempt& attempt, const Status& connected,
                                         const VerbsPath& path);
  std::optional<uint32_t> carried(const VerbsPath& path) const {
    return devices_->history().carried(text(path));
  }
  Result<Connected> connected();
  std::string text_of_all() const;
  PortWatch watch_of(const VerbsPath::PathEnd& used) const;
  Status no_address() const;
  /// Why these are the paths, once for each that is new: as a warning if others have failed.
  void log_choice(const char* which_failed) const;
  Result<std::unique_ptr<PathAttempt>> make_attempt(const VerbsPath& path) const;
  Path own_view(const VerbsPath& path) const;
  ReadBack::OwnAddress own_address(const VerbsPath& path) const;
  std::string gpu_obstacle() const;
  const std::vector<VerbsPort>& diallers() const { return terms_.dials ? own_ports_ : peers_ports_; }
  const std::vector<VerbsPort>& acceptors() const { return terms_.dials ? peers_ports_ : own_ports_; }
  std::string text(const VerbsPath& path) const { return path_text(path, diallers(), acceptors()); }
  /// Tells the peer, in a message of this kind, that this end cannot go on for this reason.
  template <class Message>
  Status give_up(const Status& reason) {
    // A setting that was right when the ends first connected may name a port that has failed since.
    is_refused_ = reason.code() != Code::InvalidArgument || !lost_.path.empty();
    static_cast<void>(conversation_.send(
        Message{.gives_up = is_refused_ ? kRefuses : kFails, .reason = wire_text(reason)}));
    return reason;
  }

  const VerbsTerms terms_;
  const ConnectionPages pages_;
  const LostPath lost_;
  Conversation conversation_;
  Fd done_;
  std::shared_ptr<Devices> devices_;
  std::vector<VerbsPort> own_ports_;
  std::vector<VerbsPort> peers_ports_;
  uint32_t peers_turn_ = 0;
  size_t pairs_ = 0;              // as the user has set at either end; 0: not
  std::vector<PairEnd> ends_;     // proved so far
  std::vector<VerbsPath> paths_;  // of those
  bool is_new_ = false;           // whether the outcome of a path was not known before
  std::string failures_;          // of paths that were not proved
  Result<Connected> connected_ = Status();
  bool is_refused_ = false;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace rondo::verbs
