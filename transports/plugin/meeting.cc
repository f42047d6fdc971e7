// SPDX-License-Identifier: Apache-2.0
#include "plugin/meeting.h"

#include <sys/socket.h>

#include <cerrno>
#include <type_traits>
#include <utility>

#include "base/error_kinds.h"

namespace rondo::plugin {

PluginMeeting::~PluginMeeting() {
  if (listener_ != nullptr) static_cast<void>(terms_.net().close_listen(listener_));
}

/// Ends the meeting; an end that has said or heard why it fails keeps that reason.
void PluginMeeting::end(const Status& failure, bool is_refused) {
  if (failure_.ok()) failure_ = failure;
  is_refused_ = is_refused;
  is_over_ = true;
}

/// A new socket's buffer has room for all that is sent. A peer that has closed its end is found by receiving.
template <class Message>
void PluginMeeting::send(const Message& message) {
  static_assert(std::has_unique_object_representations_v<Message>);  // no padding, which would be garbage
  const ssize_t sent = ::send(socket_.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(sizeof message) || (sent < 0 && (errno == EPIPE || errno == ECONNRESET)))
    return;
  end(error(Code::SystemError, "a fresh socket to rank {} took {} of {} bytes", terms_.peer, sent,
            sizeof message),
      false);
}

/// Whether all of the message has come, and is one.
template <class Message>
bool PluginMeeting::receive(PartlyHeard<Message>& incoming) {
  while (incoming.got != sizeof(Message)) {
    auto* const to = reinterpret_cast<std::byte*>(&incoming.message) + incoming.got;
    const ssize_t got = ::recv(socket_.get(), to, sizeof(Message) - incoming.got, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      // A peer that closes its socket before it has read everything resets it.
      failure_ = closed_by_peer();
      end(failure_, false);
      return false;
    }
    incoming.got += static_cast<size_t>(got);
  }
  const Status nonsense = check(incoming.message);
  if (!nonsense.ok()) end(nonsense, false);
  return nonsense.ok();
}

void PluginMeeting::make_offer() {
  const Status listening = listen();
  if (!listening.ok()) failure_ = listening.as(Code::Unsupported);
  own_.gives_up = failure_.ok() ? kGoesOn : kRefuses;
  own_.reason = wire_text(failure_);
  send(own_);
}

Status PluginMeeting::listen() {
  own_.plugin = wire_text(terms_.net().name());
  own_.slot_bytes = terms_.params.slot_bytes;
  own_.slots = terms_.params.slots;
  const NetDevice& device = terms_.device();
  const size_t needed = sizeof(SlotHeader) + terms_.params.slot_bytes;
  if (device.max_bytes < needed)
    return error(ErrorKind::PluginSlotTooLarge,
                 "a slot and its header have {} bytes; messages of {}, a device of the network plugin {}, "
                 "have at most {}",
                 needed, device.name, terms_.net().name(), device.max_bytes);
  return terms_.net().listen(device.number, own_.handle.data(), listener_);
}

bool PluginMeeting::advance() {
  if (!is_over_ && !peer_) take_offer();
  if (!is_over_ && peer_ && !verdict_sent_) connect();
  if (!is_over_ && verdict_sent_) take_verdict();
  return is_over_;
}

/// An end that has given up is over once it has the peer's offer: the peer has, or will get, its own.
void PluginMeeting::take_offer() {
  if (!receive(offer_)) return;
  peer_ = offer_.message;
  deadline_ = Deadline::in_ms(terms_.connect_ms);
  if (!failure_.ok()) return end(failure_, true);
  if (peer_->gives_up != kGoesOn) return end(refused_by_peer(peer_->reason), peer_->gives_up == kRefuses);
  const Status judged = judge_offer();
  if (!judged.ok()) end(judged, judged.code() == Code::Unsupported);
}

/// Both ends judge alike.
Status PluginMeeting::judge_offer() const {
  RONDO_TRY(compare(terms_.params, {peer_->slot_bytes, peer_->slots, 0}));
  if (peer_->plugin == own_.plugin) return {};
  return error(ErrorKind::PluginsDiffer, "the network plugin of rank {} is {}, that of this rank {}",
               terms_.peer, peer_->plugin.data(), own_.plugin.data());
}

/// A peer that cannot go on, or ends, is noticed while this end still tries.
void PluginMeeting::connect() {
  Status tried = try_connect();
  if (tried.ok()) tried = try_accept();
  const bool is_done = sender_ != nullptr && receiver_ != nullptr;
  if (tried.ok() && !is_done && deadline_.passed()) tried = took_too_long();
  if (!tried.ok() || is_done) return give_verdict(tried);
  if (!receive(verdict_)) return;
  if (verdict_.message.gives_up != kGoesOn)
    give_verdict(refused_by_peer(verdict_.message.reason));
  else if (has_more())
    end(closed_by_peer(), false);
}

/// Whether the peer has said anything after its verdict, or has closed its end.
bool PluginMeeting::has_more() const {
  char byte = 0;
  const ssize_t got = ::recv(socket_.get(), &byte, sizeof byte, MSG_DONTWAIT | MSG_PEEK);
  return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

Status PluginMeeting::took_too_long() const {
  return error(ErrorKind::PluginNotConnected, "the network plugin {} has not connected rank {} in {} s, {}",
               terms_.net().name(), terms_.peer, static_cast<double>(terms_.connect_ms) / 1000,
               sender_ == nullptr ? "as connect() returns no comm" : "as accept() returns no comm");
}

Status PluginMeeting::closed_by_peer() const {
  return error(ErrorKind::ConnectionBroken, "rank {} closed the connection while it connected", terms_.peer);
}

/// The peer's handle keeps the plugin's state from call to call.
Status PluginMeeting::try_connect() {
  if (sender_ != nullptr) return {};
  void* comm = nullptr;
  RONDO_TRY(terms_.net().connect(terms_.device().number, peer_->handle.data(), comm));
  if (comm == nullptr) return {};
  RONDO_TRY_ASSIGN(auto slots, PluginSlots::make(terms_, PluginSlots::CommUse::Send, comm));
  sender_ = std::make_unique<PluginSender>(std::move(slots));
  return {};
}

Status PluginMeeting::try_accept() {
  if (receiver_ != nullptr) return {};
  void* comm = nullptr;
  RONDO_TRY(terms_.net().accept(listener_, comm));
  if (comm == nullptr) return {};
  RONDO_TRY(terms_.net().close_listen(std::exchange(listener_, nullptr)));
  RONDO_TRY_ASSIGN(auto slots, PluginSlots::make(terms_, PluginSlots::CommUse::Receive, comm));
  receiver_ = std::make_unique<PluginReceiver>(std::move(slots));
  return {};
}

/// An end that gives up is over once it has the peer's verdict, whatever that is: closing a socket with
/// unread input might discard its own on the way.
void PluginMeeting::give_verdict(const Status& reason) {
  if (!reason.ok()) failure_ = reason.as(Code::Unsupported);
  verdict_sent_ = true;
  send(PluginVerdict{.gives_up = reason.ok() ? kGoesOn : kRefuses, .reason = wire_text(reason)});
}

void PluginMeeting::take_verdict() {
  if (!receive(verdict_)) return;
  const uint32_t gives_up = verdict_.message.gives_up;
  if (!failure_.ok()) return end(failure_, gives_up != kFails);
  if (gives_up != kGoesOn) return end(refused_by_peer(verdict_.message.reason), gives_up == kRefuses);
  end({}, false);
}

Status PluginMeeting::refused_by_peer(const WireText& text) const {
  const Status reason = reason_of(text);
  return error(ErrorKind::PeerRefusesPlugin, "rank {} cannot connect over the network plugin {}: {}",
               terms_.peer, terms_.net().name(), reason.message())
      .because(reason.kind());
}

}  // namespace rondo::plugin
