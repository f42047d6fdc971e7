// SPDX-License-Identifier: Apache-2.0
#include "verbs/connection.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error_kinds.h"

namespace rondo::verbs {

VerbsConnection::VerbsConnection(VerbsTerms terms, ConnectionPages pages)
    : Connection(terms.params.slot_bytes, {.zero_copy = this}),
      terms_(std::move(terms)),
      pages_(std::move(pages)),
      owner_(::getpid()),
      state_(std::make_unique<Inner>()) {}

VerbsConnection::~VerbsConnection() {
  if (owner_ != ::getpid()) {
    static_cast<void>(state_.release());
    return;
  }
  close();
}

/// While it is being connected again, no queue pair reads anything of the user's, and after withdraw() none
/// will; finish_handshake() then tells the peer.
void VerbsConnection::cancel() {
  Inner& state = *state_;
  if (state.channel == nullptr || !(state.channel->has_posted() || state.channel->has_named())) return;
  state.handshake == nullptr ? close() : state.channel->withdraw();
}

void VerbsConnection::close() const {
  Inner& state = *state_;
  if (state.channel == nullptr || std::exchange(state.is_closed, true)) return;
  state.channel->withdraw();
  if (state.handshake != nullptr) state.socket = PeerSocket(state.handshake->stop());
  state.socket.say(Farewell{.delivered = state.channel->delivered(), .arrived = state.channel->arrived()});
}

Status VerbsConnection::begin(std::unique_ptr<Link> link) {
  if (!link->dials()) {
    state_->link = std::move(link);
    accept();
  } else {
    RONDO_TRY_ASSIGN(Fd socket, link->dial(Route::Tcp, 0));
    begin_handshake(std::move(socket), {});
  }
  return state_->failure;
}

void VerbsConnection::accept() const {
  auto accepted = state_->link->accepted(0);
  state_->failure = accepted.status();
  if (!accepted.ok() || !accepted.value().valid()) return;
  state_->link.reset();
  begin_handshake(accepted.take(), {});
}

void VerbsConnection::begin_handshake(Fd socket, LostPath lost) const {
  state_->handshake = std::make_unique<Handshake>(terms_, pages_, std::move(lost));
  state_->failure = state_->handshake->begin(std::move(socket));
}

/// Connects, or connects again, as far as is possible now. Whether messages can pass.
bool VerbsConnection::advance() const {
  Inner& state = *state_;
  if (!state.failure.ok()) return false;
  if (state.link != nullptr) accept();
  if (state.channel != nullptr && state.handshake == nullptr) interrupt();
  if (state.handshake != nullptr && state.failure.ok() && state.handshake->is_over()) finish_handshake();
  return state.failure.ok() && state.channel != nullptr && state.channel->works();
}

/// Finds what no completion tells while nothing is sent.
void VerbsConnection::check_port() const {
  if (!state_->channel->works()) return;
  for (auto& [watch, pair] : state_->watched)
    if (const std::string failure = watch.failure(); !failure.empty())
      state_->channel->suspend(error(Code::SystemError, "{}", failure), pair);
}

/// Each end tells the other how far it has come, once; then both can connect again.
void VerbsConnection::interrupt() const {
  Inner& state = *state_;
  if (!state.channel->failure().ok()) return;
  state.socket.look();
  if (state.socket.is_closed()) {
    take_farewell();
    return;
  }
  const auto peers = state.socket.interrupted_by_peer();
  state.description.clear();
  if (!std::exchange(state.has_said, true)) {
    const FlowControl::Standing own = state.channel->suspend(
        error(Code::RemoteError, "rank {} says: {}", terms_.peer, peers ? peers->reason.data() : ""));
    // The peer's queue pairs have ended by now, which all of this end's may report.
    state.lost_pair =
        std::min<size_t>(peers ? peers->pair : state.channel->failed_pair(), state.paths.size() - 1);
    state.socket.say(Interruption{.pair = static_cast<uint32_t>(state.lost_pair),
                                  .arrived = own.arrived,
                                  .released = own.released,
                                  .reason = wire_text(state.channel->path_failure().message())});
  }
  if (!peers) return;
  state.peers = {peers->arrived, peers->released};
  const uint64_t passed = state.channel->arrived() + peers->arrived;
  const bool is_soon = now_ns() - state.interrupted_at_ns < kFruitless_ns;
  state.fruitless = std::exchange(state.passed, passed) == passed && is_soon ? state.fruitless + 1 : 0;
  state.interrupted_at_ns = now_ns();
  begin_handshake(state.socket.take(), {.path = lost_path(),
                                        .failure = state.channel->path_failure().message(),
                                        .was_last = state.fruitless > kMaxFruitless});
}

void VerbsConnection::finish_handshake() const {
  Inner& state = *state_;
  auto made = state.handshake->take_connected();
  state.failure = made.status();
  state.is_refused = state.handshake->is_refused();
  const auto farewell = state.handshake->farewell();
  state.socket = farewell ? PeerSocket(*farewell) : PeerSocket(state.handshake->take_socket());
  state.handshake.reset();
  if (state.channel != nullptr && !state.channel->failure().ok()) return close();
  if (farewell && state.channel != nullptr) {
    state.failure = {};
    take_farewell();
    return;
  }
  if (state.is_refused && state.channel != nullptr) {
    const Status lost = state.channel->abandon(state.peers);
    state.failure = lost.ok() ? cannot_go_on(state.failure) : lost;
    state.is_refused = lost.ok();
  }
  if (!made.ok()) return;
  state.description = describe_channel(made.value());
  state.paths = std::move(made.value().paths);
  state.watched = std::move(made.value().watched);
  if (state.channel == nullptr)
    state.channel = std::make_unique<SlotChannel>(std::move(made.value().parts));
  else
    state.channel->resume(std::move(made.value().parts), state.peers);
  state.has_said = false;
}

std::string VerbsConnection::describe_channel(const Handshake::Connected& made) const {
  const uint64_t pinned = pages_.outgoing->bytes() + pages_.incoming->bytes();
  const size_t pairs = made.paths.size();
  std::string text = fmt::format("verbs, {}, {} queue pair{}, {} KiB pinned", made.text, pairs,
                                 pairs == 1 ? "" : "s", pinned >> 10);
  if (made.devices > 1) text += fmt::format(", registered with {} devices", made.devices);
  if (terms_.settings.service_level != 0)
    text += fmt::format(", service level {}", terms_.settings.service_level);
  if (const uint8_t of_packets = terms_.settings.traffic_class.value_or(0); of_packets != 0)
    text += fmt::format(", traffic class {}", of_packets);
  return text;
}

/// Both ends have agreed on it, so the peer is there.
Status VerbsConnection::cannot_go_on(const Status& why) const {
  return error(ErrorKind::LinkLost, "rank {} was reached by {}, until {}; its process lives, but {}",
               terms_.peer, lost_path(), state_->channel->path_failure().message(), why.message())
      .as(why.code());
}

/// A peer that has left with all messages owes no acknowledgement. Whether one was awaited.
bool VerbsConnection::take_farewell() const {
  SlotChannel& channel = *state_->channel;
  const auto farewell = state_->socket.farewell();
  const bool is_owed = channel.sent() != channel.delivered() || channel.has_posted();
  if (!farewell || !is_owed || farewell->arrived != channel.sent()) return false;
  channel.suspend(
      error(ErrorKind::ConnectionBroken, "rank {} closed its end of the connection", terms_.peer));
  return channel.abandon({farewell->arrived, farewell->arrived}).ok();
}

Status VerbsConnection::status() const {
  Inner& state = *state_;
  if (state.channel == nullptr) advance();  // a path can fail before this end has sent or received anything
  if (state.channel == nullptr || !state.failure.ok()) return state.failure;
  if (state.handshake == nullptr) state.socket.look();
  if (state.socket.is_closed()) return status_of_closed();
  state.channel->check_device();
  check_port();
  if (state.socket.interrupted_by_peer() || !state.channel->works()) advance();
  return state.failure.ok() ? state.channel->failure() : state.failure;
}

/// A peer that has closed its end did so before an error completion could tell, or will never cause one. Its
/// last messages may be on their way: their completions come, on some pairs after another has failed.
Status VerbsConnection::status_of_closed() const {
  Inner& state = *state_;
  const auto farewell = state.socket.farewell();
  if (!farewell)
    return error(ErrorKind::ConnectionBroken, "rank {} ended without closing its connection", terms_.peer);
  const uint64_t before = state.channel->arrived();
  state.channel->poll_all();
  if (take_farewell()) return {};  // what was awaited is there
  if (state.channel->failure().ok() && state.channel->arrived() != before) return {};  // likewise
  const bool has_all = state.channel->arrived() >= farewell->delivered;
  if (!has_all || state.channel->is_ready(Awaiting::Arrival))
    return state.channel->failure().ok() ? state.channel->path_failure() : state.channel->failure();
  state.has_left = true;
  return error(ErrorKind::ConnectionBroken, "rank {} closed its end of the connection", terms_.peer);
}

Awaited VerbsConnection::awaited(Awaiting what) const {
  const Inner& state = *state_;
  if (!state.failure.ok()) return {};
  if (state.channel != nullptr && connected()) return awaited_on_channel(what);
  AwaitedSockets awaited;
  if (state.handshake != nullptr)
    awaited.sockets[0] = {state.handshake->descriptor(), POLLIN, 0};
  else if (state.channel != nullptr)
    awaited.sockets[0] = {state.socket.descriptor(), POLLIN, 0};
  else
    return {};
  return awaited;
}

Awaited VerbsConnection::awaited_on_channel(Awaiting what) const {
  SlotChannel& channel = *state_->channel;
  PeerSocket& socket = state_->socket;
  const bool sleeps = channel.arm();
  if (!channel.works()) return {};
  if (!sleeps || channel.is_ready(what)) return AlreadyThere();
  socket.look();
  if (socket.interrupted_by_peer()) return AlreadyThere();
  AwaitedSockets awaited;
  awaited.sockets[0] = {channel.descriptor(), POLLIN, 0};
  awaited.sockets[1] = {socket.descriptor(), POLLIN, 0};
  return awaited;
}

}  // namespace rondo::verbs
