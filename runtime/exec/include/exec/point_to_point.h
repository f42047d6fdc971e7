// Sends and receives between users: tags, any source, messages of any length.
//
// Each ordered pair of ranks has a connection of its own, so crossed messages never wait for one another. A
// message that fits a slot goes at once (Eager); a longer one is announced (Request), and its bytes follow
// (Data) when the receiver has a place for them (Grant). So whatever arrives can be put somewhere, and no
// message blocks those behind it. What a slot holds its signature says; the slot has bytes of the user's
// alone, so that connections may take them from where they lie and bring them where they belong. One engine a
// communicator; whoever uses it holds its mutex(), and so do those who look at requests that it has.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/message.h"
#include "exec/pending.h"
#include "exec/task.h"
#include "transports/connection.h"

namespace rondo {

class PointToPoint {
 public:
  /// `connect(source, destination)` gives the connection that carries source's messages to destination; one
  /// of them is `self`.
  using Connect = std::function<Result<Connection*>(int source, int destination)>;
  PointToPoint(int self, int nranks, Connect connect);

  std::mutex& mutex() { return mutex_; }
  int self() const { return self_; }

  /// Makes the connections that it needs, which may wait for a socket.
  Status reach(const SendRequest& request);
  Status reach(const RecvRequest& request);
  /// Take their places in the order of the calls; the engine keeps the request until it is done.
  Status start(std::shared_ptr<SendRequest> request);
  Status start(std::shared_ptr<RecvRequest> request);

  /// Done: the whole of it, at once, of a message that the engine then never had. Stuck: the same may be
  /// asked again. Failed: it has to be started.
  Progress try_now(SendRequest& request);
  Progress try_now(RecvRequest& request);

  /// What a thread may sleep for that waits for a request that was started; nothing of any source.
  Awaited awaited(const SendRequest& request) const;
  Awaited awaited(const RecvRequest& request) const;

  /// Between this rank and that one: hints for whoever waits, see Connection.
  void say_away(int peer, bool is_away);
  bool is_away(int peer) const;

  /// Moves what can be moved; true if something was. A failure stays in status().
  bool progress();
  Status status() const { return failure_; }
  Status connection_status() const;
  /// Requests go back to their owners before they are done, because the communicator failed or ends: nothing
  /// reads or writes their memory any more. Connections in the middle of them are of no use afterwards.
  void abandon(const SendRequest& request);
  void abandon(const RecvRequest& request);
  /// All of them, of a communicator that has failed.
  void withdraw();
  /// Messages that came and that nobody received.
  size_t unreceived() const { return unexpected_.size(); }
  /// Notes those that the receives in it could have asked for.
  void note_unasked(PendingMessages& pending) const;
  /// How many messages this rank has begun to send to each other one, and has had from one.
  std::vector<uint64_t> sent() const;
  uint64_t received_from(int source) const;

 private:
  using Kind = MessageHeader::Kind;
  using Header = MessageHeader;
  /// Shorter ones are copied: a connection that brings them elsewhere does so itself, or gains nothing.
  static constexpr size_t kLeastPlaced = size_t{8} * 1024;

  struct Message {  // arrived or announced, not yet received
    int source;
    Header header;
    std::vector<std::byte> data;  // Eager
  };
  struct Outgoing {
    Connection* connection = nullptr;
    std::deque<std::shared_ptr<SendRequest>> to_announce;
    std::list<std::shared_ptr<SendRequest>> in_flight;
    uint64_t next_id = 1;
    uint64_t unannounced = 0;  // that were abandoned before the first word of them
  };
  struct Incoming {
    Connection* connection = nullptr;
    uint64_t messages = 0;        // that have come, or were announced
    std::deque<uint64_t> grants;  // to be sent
    std::list<std::shared_ptr<RecvRequest>> receiving;
  };

  std::array<Connection*, 2> connections_with(int peer) const;
  static std::optional<Arrival> peek_patiently(Connection& connection);
  Status listen_to(int source);
  bool progress_out(int peer, Outgoing& out);
  bool announce(Outgoing& out);
  static void announce(Outgoing& out, SendRequest& request);
  static bool is_eager(const SendRequest& request, const Connection& connection);
  bool take_grants(int peer, Outgoing& out);
  bool stream(Outgoing& out);
  bool progress_in(int source, Incoming& in);
  bool send_grants(Incoming& in);
  bool wanted(int source, const Incoming& in) const;
  bool needed(int source, const Incoming& in) const;
  void expect_next(int source, const Incoming& in) const;
  static bool is_whole(const Header& header, const Arrival& arrival);
  static const std::byte* data_of(const Header& header, const Arrival& arrival);
  void take(int source, Incoming& in, const Arrival& arrival);
  void take_data(int source, Incoming& in, const Header& header, const std::byte* data, size_t bytes);
  bool fits(int source, const Header& header, const RecvRequest& request);
  static void receive(RecvRequest& request, int source, const Header& header, const std::byte* data);
  void deliver(const std::shared_ptr<RecvRequest>& request, const Message& message, const std::byte* data);
  std::shared_ptr<RecvRequest> match_posted(int source, const Header& header);
  static void put(Connection& connection, Header header, const std::byte* data, size_t bytes);
  void to_self(const std::shared_ptr<SendRequest>& request);

  std::mutex mutex_;
  int self_;
  int nranks_;
  Connect connect_;
  std::map<int, Outgoing> out_;
  std::map<int, Incoming> in_;
  std::list<std::shared_ptr<RecvRequest>> posted_;  // in the order of the calls
  std::list<Message> unexpected_;                   // in the order of arrival
  Status failure_;
};

}  // namespace rondo
