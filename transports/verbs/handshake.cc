// SPDX-License-Identifier: Apache-2.0
#include "verbs/handshake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "base/quiet_thread.h"
#include "verbs/gid_choice.h"
#include "verbs/port_pair.h"

namespace rondo::verbs {
namespace {

void signal_event(const Fd& event) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
}

/// A peer that closes its socket before it has read everything resets it.
Status broken_off(int peer, int error_number) {
  if (error_number == 0 || error_number == ECONNRESET || error_number == EPIPE)
    return error(Code::RemoteError, "rank {} closed the connection while it connected", peer);
  return error(Code::RemoteError, "connecting to rank {} over verbs: {}", peer, std::strerror(error_number));
}

/// Random, so that packets of an earlier connection of the same numbers are not taken for this one's.
Result<uint32_t> first_packet_number() {
  uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) return system_error("getrandom", errno);
  return number & 0xFFFFFF;
}

}  // namespace

/// The ports and GIDs of both ends, as this end sees them.
struct Handshake::Chosen {
  std::shared_ptr<Devices> devices;
  VerbsPort own, peer;
  Gid own_gid, peer_gid;  // unused without GIDs
  bool by_gid = true;

  Path path() const {
    return {.port = own.number,
            .gid_index = own_gid.index,
            .peer_gid = peer_gid.raw,
            .peer_lid = peer.lid,
            .by_gid = by_gid,
            .mtu = std::min(own.mtu, peer.mtu)};
  }
};

Handshake::~Handshake() {
  if (!thread_.joinable()) return;
  signal_event(stop_);
  thread_.join();
}

Status Handshake::begin(Fd socket) {
  socket_ = std::move(socket);
  stop_ = Fd(::eventfd(0, EFD_CLOEXEC));
  done_ = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!stop_.valid() || !done_.valid()) return system_error("eventfd", errno);
  RONDO_TRY_ASSIGN(thread_, try_quiet_thread([this] { run(); }));
  return {};
}

void Handshake::run() {
  channel_ = connect();
  over_.store(true, std::memory_order_release);  // pairs with is_over(): the channel is complete
  signal_event(done_);
}

Result<std::unique_ptr<SlotChannel>> Handshake::connect() {
  RONDO_TRY_ASSIGN(const Chosen chosen, choose());
  SlotChannel::ChannelParts parts{
      .devices = chosen.devices, .layout = terms_.layout(), .peer_rank = terms_.peer};
  const Result<PairContact> own = make(chosen, parts);
  RONDO_TRY_ASSIGN(const PairContact peers, exchange(own));
  parts.peer = address_of(peers);
  const Status connected = parts.pair->connect(chosen.path(), parts.peer, own.value().first_packet);
  RONDO_TRY(exchange(connected.ok() ? Result<Ready>(Ready()) : Result<Ready>(connected)).status());
  log().debug("a queue pair from {} to {} of rank {}, MTU {}", chosen.own.name(), chosen.peer.name(),
              terms_.peer, chosen.path().mtu);
  return std::make_unique<SlotChannel>(std::move(parts));
}

Result<Handshake::Chosen> Handshake::choose() {
  auto devices = Devices::open();
  auto ports = devices.ok() ? devices.value()->ports() : devices.status();
  const Result<PortOffer> offer = ports.ok() ? Result<PortOffer>(offer_of(terms_.params, ports.value()))
                                             : Result<PortOffer>(ports.status());
  RONDO_TRY_ASSIGN(const PortOffer peers, exchange(offer));
  const std::vector<VerbsPort> own = ports_of(offer.value());
  const std::vector<VerbsPort> theirs = ports_of(peers);
  const auto pair =
      terms_.dials ? choose_pair(own, theirs, terms_.lane) : choose_pair(theirs, own, terms_.lane);
  if (!pair)
    return error(Code::Unsupported,
                 "no InfiniBand or RoCE port of this host reaches one of rank {}'s host: {}", terms_.peer,
                 theirs.empty() ? "it offers none" : why_no_pair(own[0], theirs[0]));
  const auto [mine, other] =
      terms_.dials ? std::pair(pair->dialler, pair->acceptor) : std::pair(pair->acceptor, pair->dialler);
  Chosen chosen{.devices = devices.take(),
                .own = own[mine.port],
                .peer = theirs[other.port],
                .own_gid = {},
                .peer_gid = {},
                .by_gid = pair->by_gid};
  if (pair->by_gid) chosen.own_gid = chosen.own.gids[mine.gid];
  if (pair->by_gid) chosen.peer_gid = chosen.peer.gids[other.gid];
  return chosen;
}

/// The receives are there before the peer learns of the queue pair, and may send.
Result<PairContact> Handshake::make(const Chosen& chosen, SlotChannel::ChannelParts& parts) const {
  const SlotLayout layout = terms_.layout();
  RONDO_TRY_ASSIGN(const std::shared_ptr<Device> device, chosen.devices->named(chosen.own.device));
  RONDO_TRY_ASSIGN(const std::shared_ptr<Domain> domain, device->domain(terms_.session));
  RONDO_TRY_ASSIGN(parts.outgoing, SlotMemory::make(domain, layout, SlotMemory::WrittenBy::Owner));
  RONDO_TRY_ASSIGN(parts.incoming, SlotMemory::make(domain, layout, SlotMemory::WrittenBy::Peer));
  RONDO_TRY_ASSIGN(parts.pair, QueuePair::make(domain, SlotChannel::depths(layout)));
  RONDO_TRY(parts.pair->prepare(chosen.own.number));
  RONDO_TRY(parts.pair->post_receives(SlotChannel::depths(layout).receives));
  PairContact contact;
  contact.queue_pair = parts.pair->number();
  RONDO_TRY_ASSIGN(contact.first_packet, first_packet_number());
  contact.key = parts.incoming->remote_key();
  contact.slots_at = parts.incoming->address();
  return contact;
}

template <class Message>
Result<Message> Handshake::exchange(const Result<Message>& own) {
  Message message = own.ok() ? own.value() : Message();
  if (!own.ok()) message.refusal = wire_text(own.status().message());
  RONDO_TRY(send_all(&message, sizeof message));
  if (!own.ok()) return own.status();
  RONDO_TRY(receive_all(&message, sizeof message));
  RONDO_TRY(check(message, terms_.params));
  if (message.refusal[0] == '\0') return message;
  return error(Code::Unsupported, "rank {} cannot connect over verbs: {}", terms_.peer,
               message.refusal.data());
}

Status Handshake::wait_for(short events) {
  pollfd waiting[2] = {{socket_.get(), events, 0}, {stop_.get(), POLLIN, 0}};
  while (::poll(waiting, 2, -1) < 0)
    if (errno != EINTR) return system_error("poll", errno);
  if (waiting[1].revents == 0) return {};
  return error(Code::Aborted, "the connection to rank {} was closed while it connected", terms_.peer);
}

Status Handshake::send_all(const void* data, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes != 0) {
    const ssize_t sent = ::send(socket_.get(), at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return broken_off(terms_.peer, errno);
    if (sent < 0) {
      RONDO_TRY(wait_for(POLLOUT));
      continue;
    }
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return {};
}

Status Handshake::receive_all(void* data, size_t bytes) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes != 0) {
    RONDO_TRY(wait_for(POLLIN));
    const ssize_t got = ::recv(socket_.get(), at, bytes, MSG_DONTWAIT);
    if (got == 0) return broken_off(terms_.peer, 0);
    if (got < 0 && errno != EAGAIN && errno != EINTR) return broken_off(terms_.peer, errno);
    if (got < 0) continue;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return {};
}

}  // namespace rondo::verbs
