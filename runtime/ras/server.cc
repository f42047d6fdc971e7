// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <new>
#include <utility>

#include "base/json_text.h"
#include "base/words.h"
#include "net/socket.h"
#include "net/tcp_peer.h"
#include "report.h"

namespace rondo {
namespace {

constexpr std::string_view kProtocol = "SERVER PROTOCOL 2\n";
constexpr std::string_view kRefusal =
    "ERROR: only the user of this process is answered: run ncclras as that user\n";
constexpr std::string_view kNoMonitor =
    "ERROR: Rondo has no MONITOR: ask for STATUS again, or run rondo-ps --watch\n";
constexpr size_t kMaxEcho = 100;      // bytes of a command that an error quotes
constexpr unsigned kNobody = 65'534;  // also stands for all users that a user namespace does not have

/// What follows the words in the line; nothing if it does not begin with them.
std::optional<std::string_view> after(std::string_view line, std::string_view words) {
  if (!same_word(line.substr(0, words.size()), words)) return std::nullopt;
  return line.substr(words.size());
}

std::optional<int64_t> parse_seconds(std::string_view text) {
  int32_t seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return seconds;
}

std::string wrong_word(const char* what, std::string_view word) {
  return fmt::format("ERROR: {} '{}'\n", what, in_one_line(word.substr(0, kMaxEcho)));
}

/// Closing a socket whose input has not been read would make the kernel discard what is still to be sent.
void discard_input(int fd) {
  std::array<char, 4096> waste;
  for (int chunks = 0; chunks < 16 && ::recv(fd, waste.data(), waste.size(), 0) > 0;) ++chunks;
}

}  // namespace

RasServer::RasServer(EventLoop& event_loop, std::vector<Fd> listeners, RasOptions options,
                     std::string own_name)
    : event_loop_(event_loop), options_(std::move(options)), own_name_(std::move(own_name)) {
  event_loop_.call([&] {
    listeners_ = std::make_unique<PacedListeners>(event_loop_, std::move(listeners),
                                                  [this](Fd fd, const Address&) { welcome(std::move(fd)); });
  });
}

RasServer::~RasServer() {
  event_loop_.call([this] {
    listeners_.reset();
    event_loop_.cancel(expiry_);
    census_.reset();
    drop_all();
  });
}

void RasServer::welcome(Fd fd) try {
  const auto user = tcp_peer_user(fd.get());
  const bool is_known = user.ok() && user.value() != kNobody;
  if (is_known && user.value() != ::geteuid()) {
    [[maybe_unused]] const auto sent = ::send(fd.get(), kRefusal.data(), kRefusal.size(), MSG_NOSIGNAL);
    return discard_input(fd.get());
  }
  make_room(is_known);
  clients_.push_back({.fd = std::move(fd), .is_trusted = is_known, .input = {}, .output = {}});
  const auto client = std::prev(clients_.end());
  client->timer = event_loop_.after_ms(kAsk_ms, [this, client] { drop(client); });
  event_loop_.watch(client->fd.get(), EPOLLIN, [this, client](uint32_t events) { handle(client, events); });
} catch (const std::bad_alloc&) {
  drop_all();  // the last may be incomplete
}

void RasServer::make_room(bool is_trusted) {
  const auto is_alike = [&](const RasClient& one) { return one.is_trusted == is_trusted; };
  if (static_cast<size_t>(std::count_if(clients_.begin(), clients_.end(), is_alike)) < kMaxClients) return;
  drop(std::find_if(clients_.begin(), clients_.end(), is_alike));
}

void RasServer::handle(Clients::iterator client, uint32_t events) try {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return drop(client);
  if ((events & EPOLLIN) != 0 && client->phase == ClientPhase::Asks) return read_more(client);
  send_more(client);
} catch (const std::bad_alloc&) {
  drop_all();
}

void RasServer::read_more(Clients::iterator client) {
  std::array<char, kMaxLine> chunk;
  const ssize_t got = ::recv(client->fd.get(), chunk.data(), chunk.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(client);
  client->input.append(chunk.data(), static_cast<size_t>(got));
  if (!obey_lines(*client)) return drop(client);
  if (client->phase == ClientPhase::Waits) return begin_status(client);
  send_more(client);
}

/// Up to a STATUS, after which nothing is read. False: the client does not keep to the limits.
bool RasServer::obey_lines(RasClient& client) {
  size_t begin = 0;
  for (size_t end = 0; client.phase == ClientPhase::Asks; begin = end + 1) {
    end = client.input.find('\n', begin);
    if (end == std::string::npos) break;
    if (++client.commands > kMaxCommands || end - begin >= kMaxLine) return false;
    std::string_view line(client.input.data() + begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    obey(client, line);
  }
  client.input.erase(0, begin);
  return client.input.size() < kMaxLine || client.phase == ClientPhase::Waits;
}

void RasServer::obey(RasClient& client, std::string_view line) {
  if (after(line, "client protocol ")) {
    client.output += kProtocol;
  } else if (const auto seconds = after(line, "timeout ")) {
    const auto wanted = parse_seconds(*seconds);
    client.output += wanted ? "OK\n" : wrong_word("invalid timeout", *seconds);
    // 0: as long as it takes.
    if (wanted) client.timeout_ms = *wanted == 0 ? kMaxTimeout_ms : std::min(*wanted * 1000, kMaxTimeout_ms);
  } else if (const auto format = after(line, "set format ")) {
    const bool is_json = same_word(*format, "json");
    const bool is_known = is_json || same_word(*format, "text");
    client.output += is_known ? "OK\n" : wrong_word("invalid format", *format);
    if (is_known) client.json = is_json;
  } else if (same_word(line, "status") || same_word(line, "verbose status")) {
    client.verbose = !same_word(line, "status");
    client.phase = ClientPhase::Waits;
  } else if (same_word(line, "monitor") || after(line, "monitor ")) {
    client.output += kNoMonitor;
  } else {
    client.output += wrong_word("unknown command", line);
  }
}

void RasServer::begin_status(Clients::iterator client) {
  event_loop_.cancel(client->timer);
  if (found_) return answer(client, *found_);
  client->timer = event_loop_.after_ms(client->timeout_ms, [this, client] { answer_in_part(client); });
  watch_for(*client);
  if (!census_) census_ = std::make_unique<RasCensus>(event_loop_, own_name_, [this] { answer_all(); });
}

/// The census is over.
void RasServer::answer_all() try {
  const std::unique_ptr<RasCensus> census = std::move(census_);  // a failure leaves none behind
  found_ = std::make_unique<const RasFindings>(census->findings());
  event_loop_.cancel(expiry_);
  expiry_ = event_loop_.after_ms(kReuse_ms, [this] { found_.reset(); });
  for (auto next = clients_.begin(); next != clients_.end();) {
    const auto client = next++;  // which may be dropped
    if (client->phase != ClientPhase::Waits) continue;
    event_loop_.cancel(client->timer);
    answer(client, *found_);
  }
} catch (const std::bad_alloc&) {
  drop_all();
}

/// The client does not wait for the processes that have not answered yet.
void RasServer::answer_in_part(Clients::iterator client) try {
  answer(client, census_->findings());
} catch (const std::bad_alloc&) {
  drop_all();
}

void RasServer::answer(Clients::iterator client, const RasFindings& found) {
  const RasDetail detail{.verbose = client->verbose, .summary_only = !client->is_trusted};
  client->output += client->json ? ras_json(options_, found, detail) : ras_text(options_, found, detail);
  client->phase = ClientPhase::Reads;
  client->timer = event_loop_.after_ms(kRead_ms, [this, client] { drop(client); });
  send_more(client);
}

void RasServer::send_more(Clients::iterator client) {
  while (client->sent < client->output.size()) {
    const ssize_t sent = ::send(client->fd.get(), client->output.data() + client->sent,
                                client->output.size() - client->sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return watch_for(*client);
    if (sent < 0) return drop(client);  // it hung up
    client->sent += static_cast<size_t>(sent);
  }
  if (client->phase == ClientPhase::Reads) {
    discard_input(client->fd.get());
    return drop(client);
  }
  client->output.clear();
  client->sent = 0;
  watch_for(*client);
}

void RasServer::watch_for(RasClient& client) {
  const uint32_t input = client.phase == ClientPhase::Asks ? uint32_t{EPOLLIN} : 0;
  const uint32_t output = client.sent < client.output.size() ? uint32_t{EPOLLOUT} : 0;
  event_loop_.change(client.fd.get(), input | output);
}

void RasServer::drop(Clients::iterator client) {
  event_loop_.cancel(client->timer);
  event_loop_.unwatch(client->fd.get());
  clients_.erase(client);
}

void RasServer::drop_all() {
  while (!clients_.empty()) drop(clients_.begin());
}

}  // namespace rondo
