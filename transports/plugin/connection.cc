// SPDX-License-Identifier: Apache-2.0
#include "plugin/connection.h"

#include <unistd.h>

#include <utility>

#include "base/backoff.h"
#include "base/error_kinds.h"
#include "plugin/drains.h"

namespace rondo::plugin {

PluginConnection::PluginConnection(const PluginTerms& terms)
    : Connection(terms.params.slot_bytes),
      peer_(terms.peer),
      owner_(::getpid()),
      state_(std::make_unique<PluginState>(terms)) {}

/// Messages that the plugin has not sent yet are given a moment. The peer of an end that is connected, though
/// it may not have noticed, is told.
PluginConnection::~PluginConnection() {
  if (owner_ != ::getpid()) {
    static_cast<void>(state_.release());
    return;
  }
  PluginState& state = *state_;
  if (state.sender == nullptr && (state.link != nullptr || !advance())) return;
  const auto is_idle = [&] {
    state.poll();
    return state.sender->flushed() || !state.sender->failure().ok();
  };
  static_cast<void>(wait_until(is_idle, Deadline::in_ms(kDrain_ms)));
  state.socket.say(Farewell{.receives = static_cast<uint32_t>(state.receiver->posted()),
                            .delivered = state.sender->delivered()});
  close_drained(PluginDrain(std::move(state.sender), std::move(state.receiver), std::move(state.socket)));
}

Status PluginConnection::begin(std::unique_ptr<Link> link) {
  if (!link->dials()) {
    state_->link = std::move(link);
    accept();
    return state_->failure;
  }
  RONDO_TRY_ASSIGN(Fd socket, link->dial(Route::Tcp, 0));
  return state_->thread.begin(std::move(socket));
}

void PluginConnection::accept() {
  auto accepted = state_->link->accepted(0);
  state_->failure = accepted.status();
  if (!accepted.ok() || !accepted.value().valid()) return;
  state_->link.reset();
  state_->failure = state_->thread.begin(accepted.take());
}

/// Connects as far as is possible now.
bool PluginConnection::advance() {
  PluginState& state = *state_;
  if (!state.failure.ok()) return false;
  if (state.link != nullptr) accept();
  if (!state.thread.is_over()) return false;
  PluginMeeting& meeting = state.thread.finish();
  state.failure = meeting.failure();
  state.is_refused = meeting.is_refused();
  if (!state.failure.ok()) return false;
  state.sender = meeting.take_sender();
  state.receiver = meeting.take_receiver();
  state.socket = PeerSocket(meeting.take_socket());
  state.receiver->poll();  // posts the first receives
  return true;
}

std::byte* PluginConnection::acquire(size_t /*bytes*/) {
  if (!connected()) return nullptr;
  std::byte* slot = state_->sender->acquire();
  if (slot == nullptr) {
    state_->poll();
    slot = state_->sender->acquire();
  }
  return state_->receiver->failure().ok() ? slot : nullptr;
}

bool PluginConnection::flushed() {
  if (!connected()) return true;
  if (!state_->sender->flushed()) state_->poll();
  return state_->sender->flushed();
}

const Arrival* PluginConnection::peek() {
  if (!connected()) return nullptr;
  if (const Arrival* const arrival = state_->receiver->peek()) return arrival;
  state_->poll();
  return state_->receiver->peek();
}

/// A peer that has closed its end may have done so before the plugin can tell, or the plugin may never tell.
/// Its last messages may be on their way.
Status PluginConnection::status() const {
  PluginState& state = *state_;
  if (state.sender == nullptr) return state.failure;
  state.socket.look();
  if (!state.socket.is_closed()) return state.failure_of_channel();
  const auto farewell = state.socket.farewell();
  if (!farewell)
    return error(ErrorKind::ConnectionBroken, "rank {} ended without closing its connection", peer_);
  state.poll();
  const bool has_all = state.receiver->arrived() >= farewell->delivered && !state.receiver->is_broken();
  if (!has_all) return state.failure_of_channel();
  if (state.receiver->has_arrived()) return state.sender->failure();
  state.has_left = true;
  return error(ErrorKind::ConnectionBroken, "rank {} closed its end of the connection", peer_);
}

Awaited PluginConnection::awaited(Awaiting what) const {
  const PluginState& state = *state_;
  if (state.sender != nullptr) {
    const bool is_there = what == Awaiting::Arrival ? state.receiver->has_arrived() : state.sender->is_idle();
    return is_there ? Awaited(AlreadyThere()) : Awaited();
  }
  if (!state.failure.ok() || !state.thread.has_begun()) return {};
  AwaitedSockets awaited;
  awaited.sockets[0] = {state.thread.descriptor(), POLLIN, 0};
  return awaited;
}

}  // namespace rondo::plugin
