// SPDX-License-Identifier: Apache-2.0
#include "ps_server.h"

#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>

#include "base/log.h"
#include "health/flight_text.h"
#include "net/handshake.h"
#include "net/paced_listeners.h"
#include "net/socket.h"

namespace rondo {
namespace {

/// What a process tells at once: a few hundred KB at most, which the service thread writes within few ms.
constexpr FlightExtent kExtent{.comms = 64, .calls = 8};

constexpr std::string_view kAsks = "rondo-ps-asks-";
constexpr size_t kSessionDigits = 16;

/// The session that a client with this name asks about.
std::optional<uint64_t> session_in(std::string_view name) {
  if (!name.starts_with(kAsks) || name.size() <= kAsks.size() + kSessionDigits) return std::nullopt;
  uint64_t session = 0;
  for (const char c : name.substr(kAsks.size(), kSessionDigits)) {
    const size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    session = session << 4 | digit;
  }
  return session;
}

std::string text_of(uint64_t session) {
  RecordedComms comms = recorded_comms();
  const auto is_other = [&](const RecordedComm& comm) { return comm.session != session; };
  std::erase_if(comms.live, is_other);
  std::erase_if(comms.ended, is_other);
  return flight_text(comms, "request", kExtent);
}

}  // namespace

PsServer::PsServer(EventLoop& event_loop, Fd listener) : event_loop_(event_loop), sender_(event_loop) {
  server_ = std::make_unique<TextServer>(
      event_loop, std::move(listener), [] { return flight_text(recorded_comms(), "request", kExtent); },
      [this](const std::string& name, Fd& fd) { return take(name, fd); });
}

PsServer::~PsServer() {
  server_.reset();
  event_loop_.call([this] {
    inquiries_.clear();
    waiting_.clear();
    for (auto& [session, text] : texts_) text.forget();
    sender_.drop_all();
  });
}

void PsServer::add(AskedSession session) {
  event_loop_.call([&] {
    sessions_.insert_or_assign(std::pair(session.credentials.session, session.rank), std::move(session));
  });
}

void PsServer::remove(uint64_t session, int rank) {
  event_loop_.call([&] {
    sessions_.erase({session, rank});
    inquiries_.erase(session);
    std::erase_if(waiting_, [&](const WaitingClient& one) { return one.session == session; });
    if (auto text = texts_.extract(session)) text.mapped().forget();
  });
}

void PsServer::answer(uint64_t session, Fd fd) try {
  const auto [text, is_new] =
      texts_.try_emplace(session, event_loop_, [session] { return text_of(session); });
  sender_.send(std::move(fd), text->second.get());
} catch (const std::bad_alloc&) {
  // It finds its socket closed.
}

bool PsServer::take(const std::string& name, Fd& fd) {
  const auto asked = session_in(name);
  if (!asked) return false;
  const auto found = sessions_.lower_bound({*asked, 0});
  if (found == sessions_.end() || found->first.first != *asked) return true;  // it has ended: hangs up
  const bool is_asked = inquiries_.contains(*asked);
  if (!is_asked && inquiries_.size() >= kMaxInquiries) return true;  // hangs up
  if (waiting_.size() >= TextServer::kMaxClients) waiting_.pop_front();
  waiting_.push_back({.session = *asked, .fd = std::move(fd)});
  if (is_asked) return true;
  auto inquiry = std::make_unique<JobInquiry>(
      event_loop_, found->second,
      [this, session = *asked](std::string result) { have_result(session, std::move(result)); },
      JobInquiry::kAtATime / (inquiries_.size() + 1));  // the more there are, the fewer descriptors each has
  inquiries_.emplace(*asked, std::move(inquiry));
  return true;
}

void PsServer::have_result(uint64_t session, std::string result) {
  const auto text = std::make_shared<const std::string>(std::move(result));
  for (auto client = waiting_.begin(); client != waiting_.end();) {
    const auto next = std::next(client);
    if (client->session == session) {
      sender_.send(std::move(client->fd), text);
      waiting_.erase(client);
    }
    client = next;
  }
  // It has called this, so it ends once that has returned.
  auto inquiry = inquiries_.extract(session);
  event_loop_.post([last = std::shared_ptr<JobInquiry>(std::move(inquiry.mapped()))] {});
}

std::unique_ptr<PsServer> start_ps_server(EventLoop& event_loop) {
  auto listener = listen_unix(fmt::format("rondo-ps-{}-{}-{:016x}", ::geteuid(), ::getpid(), random_u64()),
                              PacedListeners::kBacklog);
  if (!listener.ok()) {
    log().info("rondo-ps will not see this process: {}", listener.status().text());
    return nullptr;
  }
  return std::make_unique<PsServer>(event_loop, std::move(listener.value()));
}

}  // namespace rondo
