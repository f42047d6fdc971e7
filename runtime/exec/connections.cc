// SPDX-License-Identifier: Apache-2.0
#include "exec/connections.h"

#include <algorithm>

#include "base/error_kinds.h"
#include "base/log.h"
#include "bootstrap/membership.h"
#include "transports/fallback.h"

namespace rondo {
namespace {

constexpr auto kMessagePort = static_cast<uint16_t>(Port::Messages);
constexpr uint32_t kGpuRoute = 0xffff;  // instead of a transport's index
constexpr uint32_t kMaxSockets = 1024;  // of one transport's attempt to connect

/// Gives a transport its sockets between two ranks of a communicator.
class SessionLink final : public Link {
 public:
  /// `attempt`: how many transports were tried before.
  /// `closing`: once it is set, dialling is given up.
  SessionLink(MembershipPtr membership, const std::atomic<bool>& closing, const ConnectionKey& key,
              uint32_t transport, uint32_t attempt = 0)
      : membership_(std::move(membership)),
        session_(*membership_->session()),
        closing_(closing),
        key_(key),
        transport_(transport),
        attempt_(attempt) {}

  const ConnectionKey& key() const override { return key_; }
  int self() const override { return session_.rank(); }
  int peer() const override { return dials() ? key_.acceptor : key_.dialler; }

  Result<Fd> dial(Route route, int index) override {
    return session_.dial(peer(), route, purpose(index), Deadline::in_ms(membership_->timeout_ms()),
                         [this] { return reason_to_stop(); });
  }
  Result<Fd> accepted(int index) override {
    ConnectRequest arrived = purpose(index);
    arrived.from_rank = peer();
    Fd fd = session_.arrived(arrived);
    if (fd.valid() && arrived.route != transport_)
      return error(ErrorKind::SettingsDiffer, "{} uses the transport {}, {} uses {}; they must agree",
                   session_.member(peer()).text(), transport_name(arrived.route),
                   session_.member(self()).text(), transport_name(transport_));
    return fd;
  }

 private:
  static const char* transport_name(uint32_t index) {
    if (index == kGpuRoute) return "memory of GPUs";
    return index < transports().size() ? transports()[index].name : "an unknown one";
  }
  ConnectRequest purpose(int index) const {
    return {.kind = ConnectKind::Data,
            .index = attempt_ * kMaxSockets + static_cast<uint32_t>(index),
            .communicator = key_.communicator,
            .port = key_.port,
            .route = transport_};
  }
  Status reason_to_stop() const {
    return closing_ ? Status(Code::Aborted, "the communicator has ended") : membership_->cause();
  }
  const MembershipPtr membership_;
  Session& session_;
  const std::atomic<bool>& closing_;
  const ConnectionKey key_;
  const uint32_t transport_;  // its index in the table
  const uint32_t attempt_;
};

}  // namespace

ConnectionTable::ConnectionTable(MembershipPtr membership, const Transport* forced,
                                 const ConnectionParams& params)
    : membership_(std::move(membership)), forced_(forced), params_(params) {}

ConnectionTable::~ConnectionTable() {
  closing_ = true;
  connecting_.clear();
  connections_.clear();
}

Result<Connection*> ConnectionTable::lane(int peer, uint16_t port) {
  return made_without_waiting(lane_ends(peer, port));
}

/// Only one thread uses the lane, but others need the table meanwhile.
Result<Connection*> ConnectionTable::awaited_lane(int peer, uint16_t port) {
  const Ends ends = lane_ends(peer, port);
  std::unique_lock lock(mutex_);
  auto& slot = connections_[ends];
  if (slot != nullptr) return slot.get();
  lock.unlock();
  RONDO_TRY_ASSIGN(auto made, connect(ends));
  lock.lock();
  slot = std::move(made);
  return slot.get();
}

Result<Connection*> ConnectionTable::messages(int source, int destination) {
  return made_without_waiting({source, destination, kMessagePort});
}

Result<Connection*> ConnectionTable::made_without_waiting(const Ends& ends) {
  const std::lock_guard lock(mutex_);
  auto& slot = connections_[ends];
  if (slot != nullptr) return slot.get();
  if (!may_wait(ends)) {
    RONDO_TRY_ASSIGN(slot, connect(ends));
    return slot.get();
  }
  auto& connecting = connecting_[ends];
  if (connecting == nullptr) connecting = std::make_unique<Connecting>();
  auto made = connecting->result([=, this] { return until_it_answers([=, this] { return connect(ends); }); });
  if (!made) return nullptr;
  connecting_.erase(ends);
  RONDO_TRY_ASSIGN(slot, std::move(*made));
  return slot.get();
}

/// Whether connecting waits for the peer's process. This process answers itself at once.
bool ConnectionTable::may_wait(const Ends& ends) const {
  const auto [dialler, acceptor, port] = ends;
  return dialler == self() && !membership_->is_here(acceptor);
}

/// What needs the connection has a deadline of its own, and knows what it waits for. A process that no
/// connection reaches is given up before: only this rank knows why.
ConnectionTable::Made ConnectionTable::until_it_answers(const std::function<Made()>& connect) const {
  for (;;) {
    Made made = connect();
    const bool is_silent =
        made.status().code() == Code::Timeout && made.status().kind() != ErrorKind::CannotConnect;
    if (!is_silent || closing_ || membership_->failed()) return made;
  }
}

Result<const Transport*> ConnectionTable::transport_to(int peer) const {
  const PeerInfo& a = membership_->peer(self());
  const PeerInfo& b = membership_->peer(peer);
  if (forced_ != nullptr) {
    if (forced_->reaches(a.endpoint, b.endpoint)) return forced_;
    return error(ErrorKind::TransportCannotReach,
                 "the transport {} was requested, but {} and {} cannot use it", forced_->name, a.text(),
                 b.text());
  }
  {
    const std::lock_guard lock(fallback_mutex_);
    const auto found = fallbacks_.find(peer);
    if (found != fallbacks_.end()) return found->second;
  }
  if (const Transport* const found = automatic_transport(a.endpoint, b.endpoint)) return found;
  return error(ErrorKind::NoTransport, "no transport reaches from {} to {}", a.text(), b.text());
}

ConnectionKey ConnectionTable::key(int dialler, int acceptor, uint16_t port) const {
  return {membership_->session()->id(), membership_->id(), port, membership_->session_rank(dialler),
          membership_->session_rank(acceptor)};
}

Result<std::unique_ptr<Link>> ConnectionTable::gpu_link(int peer, uint16_t port) const {
  const ConnectionKey ends = key(std::min(peer, self()), std::max(peer, self()), port);
  return std::unique_ptr<Link>(new SessionLink(membership_, closing_, ends, kGpuRoute));
}

ConnectionTable::Made ConnectionTable::connect(const Ends& ends) {
  return forced_ != nullptr ? connect_by(ends, *forced_, 0)
                            : connect_automatically(ends, transports(), 0, {});
}

ConnectionTable::Made ConnectionTable::connect_by(const Ends& ends, const Transport& transport,
                                                  uint32_t attempt) const {
  const auto [dialler, acceptor, port] = ends;
  const auto index = static_cast<uint32_t>(&transport - transports().data());
  log().debug("connecting ranks {} and {} by {}, port {}", dialler, acceptor, transport.name, port);
  return transport.connect(
      std::make_unique<SessionLink>(membership_, closing_, key(dialler, acceptor, port), index, attempt),
      params_);
}

/// Both ends find the same transports refused, in the same order.
ConnectionTable::Made ConnectionTable::connect_automatically(const Ends& ends,
                                                             std::span<const Transport> among,
                                                             uint32_t attempt, const Status& refusal) {
  const auto [dialler, acceptor, port] = ends;
  const PeerInfo& a = membership_->peer(dialler);
  const PeerInfo& b = membership_->peer(acceptor);
  const Transport* const transport = automatic_transport(a.endpoint, b.endpoint, among);
  if (transport == nullptr)
    return error(ErrorKind::NoTransport, "no transport reaches from {} to {}", a.text(), b.text());
  if (attempt != 0) note_fallback(ends, *transport, refusal);
  RONDO_TRY_ASSIGN(auto connection, connect_by(ends, *transport, attempt));
  if (transport->fabrics == nullptr) return connection;
  const auto others = among.subspan(static_cast<size_t>(transport - among.data()) + 1);
  const auto connecting = std::make_shared<Connecting>();
  return std::unique_ptr<Connection>(
      std::make_unique<FallbackConnection>(std::move(connection), [=, this](const Status& why) -> Made {
        const auto next = [=, this] { return connect_automatically(ends, others, attempt + 1, why); };
        if (!may_wait(ends)) return next();
        auto made = connecting->result([=, this] { return until_it_answers(next); });
        return made ? std::move(*made) : Made(nullptr);
      }));
}

void ConnectionTable::note_fallback(const Ends& ends, const Transport& used, const Status& refusal) {
  const auto [dialler, acceptor, port] = ends;
  const int peer = dialler == self() ? acceptor : dialler;
  {
    const std::lock_guard lock(fallback_mutex_);
    if (std::exchange(fallbacks_[peer], &used) == &used) return;
  }
  const std::string what =
      fmt::format("{} is reached by {}: {}", membership_->peer(peer).text(), used.name, refusal.text());
  if (dialler == self())
    log().warn("{}", what);
  else
    log().info("{}", what);  // the other end warns
}

void ConnectionTable::look() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [ends, connection] : connections_)
    if (connection != nullptr && std::get<uint16_t>(ends) < static_cast<uint16_t>(Port::FirstGpuLane))
      connection->look();
}

std::string ConnectionTable::describe() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [ends, connection] : connections_) {
    const auto& [dialler, acceptor, port] = ends;
    const int peer = dialler == self() ? acceptor : dialler;
    if (connection == nullptr) continue;
    const std::string own = connection->describe();
    const bool spans_hosts = membership_->peer(peer).endpoint.host != membership_->peer(self()).endpoint.host;
    if (own.empty() && !spans_hosts) continue;
    const auto transport = transport_to(peer);
    text += fmt::format("  {}, {}: {}\n", membership_->peer(peer).text(),
                        port == kMessagePort ? "messages" : fmt::format("lane {}", port),
                        !own.empty()     ? own
                        : transport.ok() ? transport.value()->name
                                         : "none");
  }
  return text;
}

Status ConnectionTable::check_nothing_left() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [ends, connection] : connections_) {
    const auto& [dialler, acceptor, port] = ends;
    const int peer = dialler == self() ? acceptor : dialler;
    const bool only_sends = port == kMessagePort && dialler == self();  // what comes there are no messages
    if (connection == nullptr || only_sends) continue;
    const Arrival* const left = connection->peek();
    if (left == nullptr) continue;
    if (port == kMessagePort) return never_received(peer);
    return never_called(peer, self(), *left->signature);
  }
  for (int peer = 0; peer < membership_->size(); ++peer)
    if (peer != self() && !connections_.contains({peer, self(), kMessagePort}))
      RONDO_TRY(check_no_arrival(peer));
  return {};
}

/// A rank dials for messages when it has one.
Status ConnectionTable::check_no_arrival(int peer) const {
  ConnectRequest first{.kind = ConnectKind::Data, .communicator = membership_->id(), .port = kMessagePort};
  first.from_rank = membership_->session_rank(peer);
  return membership_->session()->arrived(first).valid() ? never_received(peer) : Status();
}

Status ConnectionTable::never_received(int peer) const {
  return error(ErrorKind::MessageUnreceived, "rank {} sent rank {} a message that was never received", peer,
               self());
}

}  // namespace rondo
