// SPDX-License-Identifier: Apache-2.0
#include "exec/connections.h"

#include <algorithm>

#include "base/log.h"
#include "bootstrap/membership.h"

namespace rondo {
namespace {

constexpr auto kMessagePort = static_cast<uint16_t>(Port::Messages);
constexpr uint32_t kGpuRoute = 0xffff;  // instead of a transport's index

/// Gives a transport its sockets between two ranks of a communicator.
class SessionLink final : public Link {
 public:
  SessionLink(MembershipPtr membership, const ConnectionKey& key, uint32_t transport)
      : membership_(std::move(membership)),
        session_(*membership_->session()),
        key_(key),
        transport_(transport) {}

  const ConnectionKey& key() const override { return key_; }
  int self() const override { return session_.rank(); }
  int peer() const override { return dials() ? key_.acceptor : key_.dialler; }

  Result<Fd> dial(Route route, int index) override {
    return session_.dial(peer(), route, purpose(index), Deadline::in_ms(membership_->timeout_ms()),
                         [this] { return membership_->cause(); });
  }
  Result<Fd> accepted(int index) override {
    ConnectRequest arrived = purpose(index);
    arrived.from_rank = peer();
    Fd fd = session_.arrived(arrived);
    if (fd.valid() && arrived.route != transport_)
      return error(Code::Mismatch, "{} uses the transport {}, {} uses {}; they must agree",
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
            .index = static_cast<uint32_t>(index),
            .communicator = key_.communicator,
            .port = key_.port,
            .route = transport_};
  }
  const MembershipPtr membership_;
  Session& session_;
  const ConnectionKey key_;
  const uint32_t transport_;  // its index in the table
};

}  // namespace

Result<Connection*> ConnectionTable::lane(int peer, uint16_t port) {
  return get(std::min(peer, self()), std::max(peer, self()), port);
}

Result<Connection*> ConnectionTable::messages(int source, int destination) {
  return get(source, destination, kMessagePort);
}

Result<const Transport*> ConnectionTable::transport_for(int rank_a, int rank_b) const {
  const PeerInfo& a = membership_->peer(rank_a);
  const PeerInfo& b = membership_->peer(rank_b);
  if (forced_ != nullptr) {
    if (forced_->reaches(a.endpoint, b.endpoint)) return forced_;
    return error(Code::InvalidUsage, "the transport {} was requested, but {} and {} cannot use it",
                 forced_->name, a.text(), b.text());
  }
  for (const Transport& transport : transports())
    if (transport.automatic && transport.reaches(a.endpoint, b.endpoint)) return &transport;
  return error(Code::SystemError, "no transport reaches from {} to {}", a.text(), b.text());
}

ConnectionKey ConnectionTable::key(int dialler, int acceptor, uint16_t port) const {
  return {membership_->session()->id(), membership_->id(), port, membership_->session_rank(dialler),
          membership_->session_rank(acceptor)};
}

Result<std::unique_ptr<Link>> ConnectionTable::gpu_link(int peer, uint16_t port) const {
  const ConnectionKey ends = key(std::min(peer, self()), std::max(peer, self()), port);
  return std::unique_ptr<Link>(new SessionLink(membership_, ends, kGpuRoute));
}

Result<Connection*> ConnectionTable::get(int dialler, int acceptor, uint16_t port) {
  const std::lock_guard lock(mutex_);
  auto& slot = connections_[{dialler, acceptor, port}];
  if (slot != nullptr) return slot.get();
  RONDO_TRY_ASSIGN(const Transport* transport, transport_for(dialler, acceptor));
  const auto index = static_cast<uint32_t>(transport - transports().data());
  auto link = std::make_unique<SessionLink>(membership_, key(dialler, acceptor, port), index);
  log().debug("connecting ranks {} and {} by {}, port {}", dialler, acceptor, transport->name, port);
  RONDO_TRY_ASSIGN(slot, transport->connect(std::move(link), params_));
  return slot.get();
}

Status ConnectionTable::check_nothing_left() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [ends, connection] : connections_) {
    const auto& [dialler, acceptor, port] = ends;
    const int peer = dialler == self() ? acceptor : dialler;
    const auto left = connection->peek();
    if (!left) continue;
    if (port == kMessagePort)
      return error(Code::Mismatch, "rank {} sent rank {} a message that was never received", peer, self());
    return never_called(peer, self(), *left->signature);
  }
  return {};
}

}  // namespace rondo
