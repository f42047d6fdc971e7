// SPDX-License-Identifier: Apache-2.0
// The tcp transport: any two ranks that can reach one another, over several sockets. All sockets are
// non-blocking, and bytes move only inside the connection's calls.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/error_kinds.h"
#include "tcp/inbox.h"
#include "tcp/outbox.h"
#include "tcp/tuning.h"
#include "transports/transport.h"
#include "transports/zero_copy.h"

namespace rondo {
namespace {

/// Over a network messages pay off that are long compared with the packets of a loopback (64 KiB).
constexpr size_t kNetworkSlotBytes = size_t{256} * 1024;

/// Inside a host the ranks' own CPUs do all the work, which takes longer if ranks share them.
LinkCost tcp_cost(const LinkLoad& load) {
  LinkCost cost = load.costs[load.same_host ? CostKind::TcpInHost : CostKind::TcpBetweenHosts];
  if (load.same_host) cost.ranks_per_cpu = load.ranks_per_cpu;
  return cost;
}

class TcpConnection final : public Connection, public ZeroCopy {
 public:
  TcpConnection(const tcp::Terms& terms, std::unique_ptr<Link> link)
      : Connection(terms.params.slot_bytes, {.zero_copy = this}),
        terms_(terms),
        link_(std::move(link)),
        sockets_(terms.params.sockets),
        ended_(terms.params.sockets),
        outbox_(terms),
        inbox_(terms) {}

  /// The dialling end: connects every socket.
  Status dial();

  std::byte* acquire(size_t /*bytes*/) override { return make_room() ? outbox_.slot() : nullptr; }
  void commit(size_t bytes, const Signature& signature) override { send(outbox_.slot(), bytes, signature); }
  bool flushed() override;
  const Arrival* peek() override;
  void release() override { inbox_.release(); }
  Status status() const override { return failure_; }
  bool has_left() const override { return has_left_; }
  Awaited awaited(Awaiting what) const override;

  // ZeroCopy:
  /// The kernel copies from the posted memory, which serves as a slot until all of it has been sent.
  PostMode post_mode(const std::byte* /*data*/, size_t /*bytes*/) const override { return PostMode::Mapped; }
  bool post(const std::byte* data, size_t bytes, const Signature& signature) override;
  void expect(std::byte* place, size_t bytes, const Signature& signature) override {
    inbox_.expect(place, bytes, signature);
  }
  void cancel() override {
    fail(error(ErrorKind::MessageCancelled, "messages posted to rank {} were cancelled", terms_.peer));
    inbox_.stop();
  }

 private:
  /// Whether all sockets are connected.
  bool connected() {
    if (link_ != nullptr && failure_.ok()) await_sockets();
    return link_ == nullptr;
  }
  void await_sockets();
  Status greet(size_t index);
  bool make_room();
  void send(const std::byte* data, size_t bytes, const Signature& signature);
  void send_waiting();
  void read_all();
  bool greeted() const;
  void read(size_t socket);
  void fail(const Status& status) {
    if (failure_.ok() && !status.ok()) failure_ = status;
  }

  tcp::Terms terms_;
  std::unique_ptr<Link> link_;  // until all sockets are connected
  std::vector<Fd> sockets_;
  bool unpaced_ = false;
  std::vector<bool> ended_;  // by socket: nothing more can be read from it
  tcp::Outbox outbox_;
  tcp::Inbox inbox_;
  Status failure_;
  bool has_left_ = false;
};

Status TcpConnection::dial() {
  for (size_t i = 0; i < sockets_.size(); ++i) {
    RONDO_TRY_ASSIGN(sockets_[i], link_->dial(Route::Tcp, static_cast<int>(i)));
    RONDO_TRY(greet(i));
  }
  link_.reset();
  return {};
}

/// A new socket's buffer has room for the greeting, so a partial send is an error.
Status TcpConnection::greet(size_t index) {
  const int fd = sockets_[index].get();
  const int on = 1;
  if (::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
    return system_error("setting TCP_NODELAY", errno);
  const tcp::StreamHello hello{.slot_bytes = terms_.params.slot_bytes,
                               .slots = static_cast<uint32_t>(terms_.params.slots),
                               .sockets = static_cast<uint32_t>(terms_.params.sockets),
                               .index = static_cast<uint32_t>(index)};
  const ssize_t sent = ::send(fd, &hello, sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return tcp::broken(terms_, "greeting", errno);
  if (sent == static_cast<ssize_t>(sizeof hello)) return {};
  return error(Code::SystemError, "a fresh socket to rank {} took {} of {} bytes", terms_.peer, sent,
               sizeof hello);
}

void TcpConnection::await_sockets() {
  bool all_here = true;
  for (size_t i = 0; i < sockets_.size() && failure_.ok(); ++i) {
    if (!sockets_[i].valid()) {
      auto accepted = link_->accepted(static_cast<int>(i));
      if (!accepted.ok()) return fail(accepted.status());
      sockets_[i] = accepted.take();
      if (sockets_[i].valid()) fail(greet(i));
    }
    all_here = all_here && sockets_[i].valid();
    // Check the peer's parameters now: it may never open the remaining sockets.
    if (sockets_[i].valid() && !inbox_.greeted(i)) read(i);
  }
  if (all_here) link_.reset();
}

/// When one socket ends, earlier messages may still be on the others or in its own buffer. They still count,
/// so ended sockets are read as well.
void TcpConnection::read(size_t socket) {
  const Status status = inbox_.read(socket, sockets_[socket].get());
  if (!status.ok()) ended_[socket] = true;
  if (!status.ok() && failure_.ok()) has_left_ = inbox_.has_left(socket);
  fail(status);
}

bool TcpConnection::make_room() {
  if (!connected() || !failure_.ok()) return false;
  if (outbox_.has_room()) return true;
  send_waiting();
  if (outbox_.has_room()) return failure_.ok();
  read_all();  // the peer may be blocked in the same way, and only reading makes room
  return false;
}

void TcpConnection::send(const std::byte* data, size_t bytes, const Signature& signature) {
  if (!failure_.ok()) return;
  if (bytes >= tcp::kMinUnpaced && !std::exchange(unpaced_, true))
    for (const Fd& fd : sockets_) tcp::unpace(fd.get());
  outbox_.add(data, bytes, signature);
  const size_t socket = outbox_.last_socket();
  fail(outbox_.send(socket, sockets_[socket].get()));
}

bool TcpConnection::post(const std::byte* data, size_t bytes, const Signature& signature) {
  if (!make_room()) return false;
  send(data, bytes, signature);
  return true;
}

void TcpConnection::send_waiting() {
  for (size_t i = 0; i < sockets_.size() && failure_.ok() && !outbox_.empty(); ++i)
    fail(outbox_.send(i, sockets_[i].get()));
}

void TcpConnection::read_all() {
  for (size_t i = 0; i < sockets_.size(); ++i) read(i);
}

/// Ended sockets count: a peer that is done may close before this end has read its hellos.
bool TcpConnection::greeted() const {
  for (size_t i = 0; i < sockets_.size(); ++i)
    if (!inbox_.greeted(i) && !ended_[i]) return false;
  return true;
}

/// Also waits for the peer's hellos: closing a socket with unread input would discard output in flight.
bool TcpConnection::flushed() {
  if (outbox_.committed() == 0) {
    connected();  // greets the sockets that have arrived
    return true;
  }
  send_waiting();
  if (outbox_.empty() && greeted()) return true;
  read_all();
  return outbox_.empty() && greeted();
}

const Arrival* TcpConnection::peek() {
  // Greet all sockets first: a reader that has all it needs may never call again, while the dialling end
  // still waits for the greeting.
  if (!connected()) return nullptr;
  if (const Arrival* const arrival = inbox_.oldest()) return arrival;
  if (!outbox_.empty()) send_waiting();
  read(inbox_.oldest_socket());
  return inbox_.oldest();
}

/// Waits for both directions: progress of one can enable the other.
Awaited TcpConnection::awaited(Awaiting what) const {
  if (link_ != nullptr || !failure_.ok()) return {};
  if (what == Awaiting::Arrival && inbox_.is_complete()) return AlreadyThere();
  if (what == Awaiting::Room && outbox_.empty() && greeted()) return AlreadyThere();
  AwaitedSockets awaited;
  const size_t in = inbox_.oldest_socket();
  if (inbox_.takes_from(in)) awaited.sockets[0] = {sockets_[in].get(), POLLIN, 0};
  if (!outbox_.empty()) awaited.sockets[1] = {sockets_[outbox_.waiting_socket()].get(), POLLOUT, 0};
  return awaited;
}

Result<std::unique_ptr<Connection>> tcp_connect(std::unique_ptr<Link> link, const ConnectionParams& params) {
  RONDO_TRY(check_params(params));
  tcp::Terms terms{agreed(params), link->peer()};
  terms.params.sockets = static_cast<uint64_t>(params.sockets);
  const bool dials = link->dials();
  auto connection = std::make_unique<TcpConnection>(terms, std::move(link));
  if (dials) RONDO_TRY(connection->dial());
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace

Transport tcp_transport() {
  return {.name = "tcp",
          .summary = "processes of any hosts, over several sockets",
          .medium = Medium::Network,
          .slot_bytes = kNetworkSlotBytes,
          .cost = tcp_cost,
          .reaches = [](const Endpoint&, const Endpoint&) { return true; },
          .connect = tcp_connect};
}

}  // namespace rondo
