#include "comm/connections.h"

#include <algorithm>

#include "base/log.h"
#include "comm/ports.h"

namespace rondo {
namespace {

constexpr auto kMessagePort = static_cast<uint16_t>(Port::Messages);
constexpr uint32_t kGpuRoute = 0xffff;  // in the place of a transport's index

/// A transport's way to sockets between two ranks of a session.
class SessionLink final : public Link {
 public:
  SessionLink(std::shared_ptr<Session> session, ConnectionKey key, std::shared_ptr<Health> health,
              int64_t timeout_ms, uint32_t transport)
      : session_(std::move(session)),
        key_(key),
        health_(std::move(health)),
        timeout_ms_(timeout_ms),
        transport_(transport) {}

  const ConnectionKey& key() const override { return key_; }
  int self() const override { return session_->rank(); }
  int peer() const override { return dials() ? key_.acceptor : key_.dialler; }

  Result<Fd> dial(Route route, int index) override {
    return session_->dial(peer(), route, purpose(index), Deadline::in_ms(timeout_ms_),
                          [this] { return health_->cause(); });
  }
  Result<Fd> accepted(int index) override {
    Purpose arrived = purpose(index);
    arrived.from_rank = peer();
    Fd fd = session_->arrived(arrived);
    if (fd.valid() && arrived.route != transport_)
      return error(Code::Mismatch, "{} uses the transport {}, {} uses {}; they must agree",
                   session_->member(peer()).text(), transport_name(arrived.route),
                   session_->member(self()).text(), transport_name(transport_));
    return fd;
  }

 private:
  static const char* transport_name(uint32_t index) {
    if (index == kGpuRoute) return "memory of GPUs";
    return index < transports().size() ? transports()[index].name : "an unknown one";
  }
  Purpose purpose(int index) const {
    return {.kind = PurposeKind::Data,
            .index = static_cast<uint32_t>(index),
            .communicator = key_.communicator,
            .port = key_.port,
            .route = transport_};
  }
  std::shared_ptr<Session> session_;
  ConnectionKey key_;
  std::shared_ptr<Health> health_;
  int64_t timeout_ms_;
  uint32_t transport_;  // its index in the table
};

}  // namespace

ConnectionTable::ConnectionTable(std::shared_ptr<Session> session, uint64_t communicator,
                                 std::vector<int> ranks, int self, std::shared_ptr<Health> health,
                                 Settings settings)
    : session_(std::move(session)),
      communicator_(communicator),
      ranks_(std::move(ranks)),
      self_(self),
      health_(std::move(health)),
      settings_(settings) {}

Result<Connection*> ConnectionTable::lane(int peer, uint16_t port) {
  return get(std::min(peer, self_), std::max(peer, self_), port);
}

Result<Connection*> ConnectionTable::messages(int source, int destination) {
  return get(source, destination, kMessagePort);
}

Result<const Transport*> ConnectionTable::transport_for(int rank_a, int rank_b) const {
  const Member& a = session_->member(ranks_[static_cast<size_t>(rank_a)]);
  const Member& b = session_->member(ranks_[static_cast<size_t>(rank_b)]);
  if (settings_.forced != nullptr) {
    if (settings_.forced->reaches(a.endpoint, b.endpoint)) return settings_.forced;
    return error(Code::InvalidUsage, "the transport {} was asked for, but {} and {} cannot use it",
                 settings_.forced->name, a.text(), b.text());
  }
  for (const Transport& transport : transports())
    if (transport.automatic && transport.reaches(a.endpoint, b.endpoint)) return &transport;
  return error(Code::SystemError, "no transport reaches from {} to {}", a.text(), b.text());
}

ConnectionKey ConnectionTable::key(int dialler, int acceptor, uint16_t port) const {
  return {session_->id(), communicator_, port, ranks_[static_cast<size_t>(dialler)],
          ranks_[static_cast<size_t>(acceptor)]};
}

Result<std::unique_ptr<Link>> ConnectionTable::gpu_link(int peer, uint16_t port) const {
  return std::unique_ptr<Link>(new SessionLink(session_,
                                               key(std::min(peer, self_), std::max(peer, self_), port),
                                               health_, settings_.timeout_ms, kGpuRoute));
}

Result<Connection*> ConnectionTable::get(int dialler, int acceptor, uint16_t port) {
  const std::lock_guard lock(mutex_);
  auto& slot = connections_[{dialler, acceptor, port}];
  if (slot != nullptr) return slot.get();
  RONDO_TRY_ASSIGN(const Transport* transport, transport_for(dialler, acceptor));
  const auto index = static_cast<uint32_t>(transport - transports().data());
  auto link = std::make_unique<SessionLink>(session_, key(dialler, acceptor, port), health_,
                                            settings_.timeout_ms, index);
  log().debug("connecting ranks {} and {} by {}, port {}", dialler, acceptor, transport->name, port);
  RONDO_TRY_ASSIGN(slot, transport->connect(std::move(link), settings_.params));
  return slot.get();
}

Status ConnectionTable::check_nothing_left() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [ends, connection] : connections_) {
    const auto& [dialler, acceptor, port] = ends;
    const int peer = dialler == self_ ? acceptor : dialler;
    const auto left = connection->peek();
    if (!left) continue;
    if (port == kMessagePort)
      return error(Code::Mismatch, "rank {} sent rank {} a message that was never received", peer, self_);
    return never_called(peer, self_, *left->signature);
  }
  return {};
}

}  // namespace rondo
