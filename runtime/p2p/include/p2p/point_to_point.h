// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages: tags, any source, any length.
//
// Each ordered pair of ranks has its own connection, so crossed messages never wait for one another. A
// message that fits in a slot is sent at once (Eager); a longer one is announced (Request). Once the receiver
// has a buffer for it, it reads it where it is and says so (Taken), if it can and that is faster; otherwise
// it asks for its bytes (Grant), which follow (Data). So every arrival has a place to go, and no message
// blocks those behind it. The slot's signature is the message header; the slot holds only user data, so that
// connections can transfer it without copies. One engine per communicator; callers must hold mutex() while
// they use the engine or read the requests it holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/timed_choice.h"
#include "exec/task.h"
#include "health/pending.h"
#include "transports/connection.h"

namespace rondo {

struct MessageHeader;

/// A send or a receive, by its caller.
struct SendRequest {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  uint32_t type_bytes = 1;
  int peer = 0;
  int tag = 0;
  size_t ready = SIZE_MAX;  // bytes that may be sent now; only grows
  int64_t began_ns = 0;     // for the trace; 0: it is not traced
  // Maintained by the engine.
  uint64_t id = 0;  // 0: not started
  size_t sent = 0;
  bool eager = false;
  bool offered = false;  // the peer may fetch the data
  bool granted = false;  // or eager and posted: the peer may read `data` itself
  bool done = false;
};

struct RecvRequest {
  std::byte* data = nullptr;
  size_t capacity = 0;  // bytes
  uint32_t type_bytes = 1;
  int peer = 0;          // or kAny
  int tag = 0;           // or kAny
  bool exact = false;    // a shorter message is an error
  int64_t began_ns = 0;  // for the trace; 0: it is not traced
  // Maintained by the engine; `source`, `got_tag` and `bytes` describe the received message.
  int source = kAny;
  int got_tag = kAny;
  size_t bytes = 0;
  uint64_t number = 0;  // 1-based, of the messages from its source; 0: from this rank itself
  uint64_t id = 0;
  uint64_t offer = 0;  // of its sender, from which the data may be fetched; 0: none
  bool is_fetched = false;
  int64_t matched_ns = 0;                    // when a message with an offer was; 0: it was refused
  std::array<uint64_t, 2> came_before = {};  // Incoming::came at that time
  size_t arrived = 0;
  bool done = false;
};

class PointToPoint {
 public:
  /// `connect(source, destination)` returns the connection for messages from source to destination; one of
  /// the two is `self`. Null while it is being made: to be called again.
  using Connect = std::function<Result<Connection*>(int source, int destination)>;
  /// Shorter data is always copied: a connection would copy it too, or gain nothing by placing it directly.
  /// After a message of this length sends have their turn.
  static constexpr size_t kMinPlaced = size_t{8} * 1024;
  PointToPoint(int self, int nranks, Connect connect);
  ~PointToPoint();

  std::mutex& mutex() { return mutex_; }
  int self() const { return self_; }

  /// Begins to make the connections that the request needs.
  Status reach(const SendRequest& request);
  Status reach(const RecvRequest& request);
  /// Whether messages wait for a connection that is being made.
  bool is_connecting() const;
  /// Requests match in the order of these calls; the engine holds the request until it is done.
  Status start(std::shared_ptr<SendRequest> request);
  Status start(std::shared_ptr<RecvRequest> request);

  /// Fast path. Done: completed at once, and the engine holds nothing of it. Stuck: call again with the same
  /// request; a send with an id is on its way then, and others may follow it. Failed: call start() instead.
  /// `receives`: how many, this one included, the caller wants from the same source.
  Progress try_now(SendRequest& request);
  Progress try_now(RecvRequest& request, uint64_t receives);

  /// What a thread may sleep on while it waits for a started request; empty for an any-source receive.
  Awaited awaited(const SendRequest& request) const;
  Awaited awaited(const RecvRequest& request) const;

  /// Hints for waiting threads, between this rank and `peer`; see WaitHints.
  void note_cpu(int peer, uint32_t cpu);
  bool is_on(int peer, uint32_t cpu) const;
  void set_yielding(int peer, bool is_yielding);
  bool is_yielding(int peer) const;

  /// Makes progress; true if any. A failure stays in status().
  bool progress();
  Status status() const { return failure_; }
  Status connection_status() const;
  /// Returns an unfinished request to its owner, because the communicator failed or is being destroyed:
  /// nothing accesses its memory any more. A connection in the middle of it is unusable afterwards.
  void abandon(const SendRequest& request);
  void abandon(const RecvRequest& request);
  /// The same for all requests, because the communicator has failed.
  void cancel();
  /// Number of messages that have arrived without a matching receive.
  size_t unreceived() const;
  /// Adds to `pending` the unexpected messages from sources that its receives name.
  void note_unasked(PendingMessages& pending) const;
  /// By rank: messages this rank has begun to send to it, and messages that it has sent or announced here.
  std::vector<uint64_t> sent() const;
  std::vector<uint64_t> received() const;

 private:
  using Header = MessageHeader;
  /// What is fetched before other messages have their turn.
  static constexpr size_t kFetch = size_t{512} * 1024;

  struct Message;  // arrived or announced, not yet received
  struct Outgoing {
    Connection* connection = nullptr;
    std::deque<std::shared_ptr<SendRequest>> to_announce;
    std::list<std::shared_ptr<SendRequest>> in_flight;
    uint64_t next_id = 1;
    uint64_t unannounced = 0;  // messages abandoned before they were announced
  };
  struct Incoming {
    Connection* connection = nullptr;
    uint64_t messages = 0;        // that have arrived or were announced
    std::deque<uint64_t> grants;  // to be sent
    std::list<std::shared_ptr<RecvRequest>> receiving;
    std::list<std::shared_ptr<RecvRequest>> fetching;  // they are in no other list
    std::array<TimedChoice, 7> offers = new_offers();  // by length
    uint64_t offered = 0;                              // bytes of messages with an offer, so far
    std::array<uint64_t, 2> came = {};  // bytes of those and other long messages, by way, that have come
    size_t way = 0;                     // of the latest message with an offer
    int together = 0;                   // the latest ones that go that way because they take turns
    // Of the arrival whose bytes are copied as they come:
    std::byte* place = nullptr;
    size_t copied = 0;
  };

  /// By rank: in order of the ranks, and found without a search.
  template <typename Side>
  class Sides {
   public:
    explicit Sides(int nranks) : found_(static_cast<size_t>(nranks)) {}
    Side& operator[](int rank) {
      Side*& found = found_[static_cast<size_t>(rank)];
      if (found == nullptr) found = &sides_[rank];
      return *found;
    }
    /// Null if it has had no message; `rank` may be kAny.
    Side* find(int rank) const { return rank < 0 ? nullptr : found_[static_cast<size_t>(rank)]; }
    /// Null if it has no connection.
    Side* connected(int rank) const {
      Side* const side = find(rank);
      return side != nullptr && side->connection != nullptr ? side : nullptr;
    }
    auto begin() { return sides_.begin(); }
    auto end() { return sides_.end(); }
    auto begin() const { return sides_.begin(); }
    auto end() const { return sides_.end(); }

   private:
    std::map<int, Side> sides_;
    std::vector<Side*> found_;
  };

  std::array<WaitHints*, 2> wait_hints(int peer) const;
  static GradualSlots* gradual_slots(const Connection& connection, size_t bytes);
  static const Arrival* peek_begun(Connection& connection);
  static const Arrival* peek_patiently(Connection& connection);
  static bool is_copied(Incoming& in, const Arrival& arrival, std::byte* place);
  static void say_waiting(Incoming& in, const RecvRequest& request, uint64_t receives);
  static void release(Incoming& in);
  bool is_connected(int source, int destination, Connection*& connection);
  void join(int peer);
  bool progress_out(int peer, Outgoing& out);
  bool announce(Outgoing& out);
  static std::byte* acquire(const Outgoing& out, SendRequest& request);
  static void announce(Outgoing& out, std::byte* slot, SendRequest& request);
  static bool is_eager(const SendRequest& request, const Connection& connection);
  bool take_grants(int peer, Outgoing& out);
  static bool take_grant(Outgoing& out, const Header& header);
  bool stream(Outgoing& out);
  bool progress_in(int source, Incoming& in);
  bool send_grants(Incoming& in);
  bool fetch(int source, Incoming& in);
  bool say_taken(Incoming& in);
  bool wanted(int source, const Incoming& in) const;
  bool needed(int source, const Incoming& in) const;
  void expect_next(int source, const Incoming& in) const;
  static void expect_eager(const Connection& connection, const RecvRequest& request);
  static Signature signature_of_data(const RecvRequest& request);
  static bool is_whole(const Header& header, const Arrival& arrival);
  static const std::byte* data_of(const Header& header, const Arrival& arrival);
  bool take(int source, Incoming& in, const Arrival& arrival);
  void take_first(int source, const Header& header, const Arrival& arrival);
  bool take_data(int source, Incoming& in, const Header& header, const Arrival& arrival);
  bool stayed_intact(int source, const Incoming& in, const Arrival& arrival);
  bool fits(int source, const Header& header, const RecvRequest& request);
  static void receive(RecvRequest& request, int source, const Header& header, const std::byte* data);
  /// How what is offered travels; the first in the list until more is known.
  enum OfferedWay : size_t { kBySlots, kFetched };
  /// Slots that have been out of use are slow at first: for about 6 MiB, and the longer messages are, for the
  /// fewer of them.
  static std::array<TimedChoice, 7> new_offers() {
    constexpr uint32_t kRows[] = {24, 24, 12, 6, 3, 3, 3};
    std::array<TimedChoice, 7> offers;
    for (size_t i = 0; i < offers.size(); ++i) offers[i] = TimedChoice(1U << kBySlots, kRows[i]);
    return offers;
  }
  static TimedChoice& offers_like(Incoming& in, const RecvRequest& request);
  static OfferedWay way_of_next(Incoming& in, const RecvRequest& request);
  static bool chooses_to_fetch(Incoming& in, RecvRequest& request);
  static void all_arrived(Incoming& in, RecvRequest& request);
  void deliver(const std::shared_ptr<RecvRequest>& request, const Message& message, const std::byte* data);
  std::shared_ptr<RecvRequest> match_posted(int source, const Header& header);
  /// How the bytes of a slot travel: posted, if that is possible; else gradually, if they are enough.
  struct SlotUse {
    bool may_post = false;
    bool is_gradual = true;
  };
  static bool put(Connection& connection, std::byte* slot, const Header& header, const std::byte* data,
                  size_t bytes, const SlotUse& use);
  void to_self(const std::shared_ptr<SendRequest>& request);

  std::mutex mutex_;
  int self_;
  int nranks_;
  Connect connect_;
  Sides<Outgoing> out_;
  Sides<Incoming> in_;
  std::list<std::shared_ptr<RecvRequest>> posted_;  // in the order of the calls
  std::list<Message> unexpected_;                   // in the order of arrival
  Status failure_;
};

}  // namespace rondo
