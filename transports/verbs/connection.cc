// SPDX-License-Identifier: Apache-2.0
#include "verbs/connection.h"

#include <unistd.h>

#include <utility>

namespace rondo::verbs {

VerbsConnection::VerbsConnection(const VerbsTerms& terms)
    : Connection(terms.params.slot_bytes),
      peer_(terms.peer),
      owner_(::getpid()),
      state_(std::make_unique<Inner>(terms)) {}

VerbsConnection::~VerbsConnection() {
  if (owner_ != ::getpid()) {
    static_cast<void>(state_.release());
    return;
  }
  if (state_->channel == nullptr) return;
  state_->channel->withdraw();
  state_->socket.say_farewell(state_->channel->delivered());
}

Status VerbsConnection::begin(std::unique_ptr<Link> link) {
  if (!link->dials()) {
    state_->link = std::move(link);
    accept();
    return state_->failure;
  }
  RONDO_TRY_ASSIGN(Fd socket, link->dial(Route::Tcp, 0));
  return state_->handshake.begin(std::move(socket));
}

void VerbsConnection::accept() {
  auto accepted = state_->link->accepted(0);
  state_->failure = accepted.status();
  if (!accepted.ok() || !accepted.value().valid()) return;
  state_->link.reset();
  state_->failure = state_->handshake.begin(accepted.take());
}

/// Connects as far as is possible now.
bool VerbsConnection::advance() {
  Inner& state = *state_;
  if (!state.failure.ok()) return false;
  if (state.link != nullptr) accept();
  if (state.link != nullptr || !state.failure.ok() || !state.handshake.is_over()) return false;
  auto made = state.handshake.take_channel();
  state.socket = PeerSocket(state.handshake.take_socket());
  if (!made.ok())
    state.failure = made.status();
  else
    state.channel = made.take();
  return made.ok();
}

/// A peer that has closed its end did so before an error completion could tell, or will never cause one. Its
/// last messages may be on their way: their completions come.
Status VerbsConnection::status() const {
  Inner& state = *state_;
  if (state.channel == nullptr) return state.failure;
  state.socket.look();
  if (!state.socket.is_closed()) return state.channel->failure();
  const auto delivered = state.socket.delivered_by_peer();
  if (!delivered) return error(Code::RemoteError, "rank {} ended without closing its connection", peer_);
  state.channel->poll();
  const bool has_all = state.channel->arrived() >= *delivered;
  if (!has_all || state.channel->is_ready(Awaiting::Arrival)) return state.channel->failure();
  state.has_left = true;
  return error(Code::RemoteError, "rank {} closed its end of the connection", peer_);
}

Awaited VerbsConnection::awaited(Awaiting what) const {
  const Inner& state = *state_;
  if (!state.failure.ok()) return {};
  if (state.channel != nullptr) return awaited_on_channel(what);
  AwaitedSockets awaited;
  if (state.handshake.has_begun()) awaited.sockets[0] = {state.handshake.descriptor(), POLLIN, 0};
  return state.handshake.has_begun() ? Awaited(awaited) : Awaited();
}

Awaited VerbsConnection::awaited_on_channel(Awaiting what) const {
  SlotChannel& channel = *state_->channel;
  PeerSocket& socket = state_->socket;
  const bool sleeps = channel.arm();
  if (!channel.failure().ok()) return {};
  if (!sleeps || channel.is_ready(what)) return AlreadyThere();
  socket.look();
  AwaitedSockets awaited;
  awaited.sockets[0] = {channel.descriptor(), POLLIN, 0};
  awaited.sockets[1] = {socket.descriptor(), POLLIN, 0};
  return awaited;
}

}  // namespace rondo::verbs
