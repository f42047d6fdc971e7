// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error_kinds.h"
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap_root.h"
#include "id_file.h"

namespace rondo {
namespace {

constexpr const char* kSetSecret =
    "set RONDO_SECRET (or RONDO_SECRET_FILE) to the same secret on every rank; without one only processes of "
    "the "
    "same user on the same host are let in";

/// `key`: the job's, used as the salt, so that a table of guesses serves for one job only.
Result<std::optional<Secret>> job_secret(const std::string& key) {
  const auto of_text = [&](const std::string& text) -> Result<std::optional<Secret>> {
    RONDO_TRY_ASSIGN(const Secret secret, secret_from_text(text, "rondo " + key));
    return std::optional(secret);
  };
  if (const auto text = setting(Setting::Secret)) return of_text(*text);
  const auto path = setting(Setting::SecretFile);
  if (!path) return std::optional<Secret>();
  std::ifstream file(*path);
  std::string text;
  if (!std::getline(file, text) || text.empty())
    return error(ErrorKind::SecretUnreadable,
                 "RONDO_SECRET_FILE: '{}' cannot be read or its first line is empty", *path);
  return of_text(text);
}

/// The place where the ranks of a job meet, and the secret that they share.
struct RendezvousPlace {
  std::string key;  // identifies the job; only its ranks share it
  std::string unix_name;
  std::string host;   // of rank 0; empty: this one
  uint16_t port = 0;  // 0: TCP is not used
  std::optional<Secret> secret;

  Credentials credentials() const {
    const Secret secret_or_none = secret.value_or(Secret());
    const Digest digest = keyed_hash(Secret(), {std::as_bytes(std::span(key))});
    uint64_t session = 0;
    std::memcpy(&session, digest.data(), sizeof session);
    return {session, secret_or_none};
  }
};

Result<RendezvousPlace> place_of(const LauncherEnv& launch) {
  RendezvousPlace place;
  if (launch.master_port == 0 && launch.job.empty())
    return Status(ErrorKind::MeetingPlaceMissing, "MASTER_PORT is not set: ranks do not know where to meet");
  place.key = launch.master_port != 0 ? fmt::format("port-{}", launch.master_port) : "job-" + launch.job;
  RONDO_TRY_ASSIGN(place.secret, job_secret(place.key));
  place.unix_name = fmt::format("rondo-start-{}-{}", ::getuid(), place.key);
  place.host = launch.master_host;
  const bool one_host = launch.local_size == launch.size;
  if (!one_host && place.secret && launch.master_port != 0)
    place.port = static_cast<uint16_t>(launch.master_port + (launch.agent_at_port ? 1 : 0));
  if (launch.local_size && !one_host && !place.secret)
    return error(ErrorKind::SecretMissing, "{} of {} ranks are on other hosts: {}",
                 launch.size - *launch.local_size, launch.size, kSetSecret);
  return place;
}

/// The id without its secret, which both sides derive from the job's secret and a random value: an
/// eavesdropper learns nothing from it. If there is no job secret, it comes from a process of the same user.
struct SealedId {
  std::array<std::byte, UniqueId::kBytes> id{};
  Digest salt{};
};

Secret derived_secret(const RendezvousPlace& place, const Digest& salt) {
  return {keyed_hash(place.secret.value_or(Secret()), {salt})};
}

/// Rank 0's side: listens, and sends the sealed id to the other ranks.
class Host {
 public:
  static Result<std::shared_ptr<Host>> open(const RendezvousPlace& place, const SealedId& invitation) {
    std::shared_ptr<Host> host(new Host);
    RONDO_TRY_ASSIGN(host->context_, Context::get());
    RONDO_TRY_ASSIGN(host->unix_, listen_unix(place.unix_name));
    uint16_t port = place.port;
    if (port != 0) {
      RONDO_TRY_ASSIGN(host->tcp_, listen_tcp(port));
    }
    host->session_ = place.credentials().session;
    host->context_->listeners().open(place.credentials(), Listeners::kRoot,
                                     [invitation, open = !place.secret, context = host->context_.get()](
                                         const ConnectRequest& purpose, Fd fd) {
                                       if (purpose.kind == ConnectKind::Meet)
                                         invite(*context, invitation, open, fd);
                                     });
    for (const Fd* listener : {&host->unix_, &host->tcp_})
      if (listener->valid()) host->context_->listeners().add(*listener);
    return host;
  }
  ~Host() {
    if (context_ == nullptr || session_ == 0) return;
    for (const Fd* listener : {&unix_, &tcp_})
      if (listener->valid()) context_->listeners().remove(*listener);
    context_->listeners().close(session_, Listeners::kRoot);
  }

 private:
  static void invite(Context& context, const SealedId& invitation, bool same_user_only, const Fd& fd) {
    const auto peer = peer_credentials(fd.get());
    if (same_user_only && (!peer.ok() || peer.value().uid != ::getuid())) {
      context.listeners().warn("user", fmt::format("rejected a process that is not this user's on this "
                                                   "host; {}",
                                                   kSetSecret));
      return;
    }
    ByteWriter body;
    body.put(invitation);
    // A fresh socket's buffer holds the few bytes of a sealed id, so this does not wait.
    if (const Status sent = send_message(fd, MessageType::UniqueId, body, Deadline::in_ms(0), {}); !sent.ok())
      log().warn("the unique id could not be sent to a rank: {}", sent.text());
  }
  std::shared_ptr<Context> context_;
  Fd unix_;
  Fd tcp_;
  uint64_t session_ = 0;
};

Result<RendezvousResult> host_meeting(const RendezvousPlace& place, int64_t timeout_ms) {
  SealedId invitation;
  invitation.salt = random_secret().bytes;
  RendezvousResult meeting;
  RONDO_TRY_ASSIGN(meeting.id, BootstrapRoot::start(timeout_ms, derived_secret(place, invitation.salt)));
  UniqueId open = meeting.id;
  open.credentials.secret = Secret();
  open.write(invitation.id);
  RONDO_TRY_ASSIGN(meeting.keep, Host::open(place, invitation));
  return meeting;
}

Result<bool> is_this_host(const std::string& name) {
  if (name.empty() || name == "localhost") return true;
  RONDO_TRY_ASSIGN(const auto addresses, resolve(name));
  RONDO_TRY_ASSIGN(const auto own, list_interfaces());
  return std::any_of(addresses.begin(), addresses.end(), [&](const IpAddress& ip) {
    return is_loopback(ip) ||
           std::any_of(own.begin(), own.end(), [&](const Interface& one) { return one.ip == ip; });
  });
}

Result<std::vector<Address>> places_to_try(const RendezvousPlace& place) {
  RONDO_TRY_ASSIGN(const bool here, is_this_host(place.host));
  std::vector<Address> addresses;
  if (here) addresses.push_back(Address::abstract_unix(place.unix_name));
  if (!here && !place.secret)
    return error(ErrorKind::SecretMissing, "rank 0 is on a different host, {}: {}", place.host, kSetSecret);
  if (place.port != 0 && !place.host.empty()) {
    RONDO_TRY_ASSIGN(const auto ips, resolve(place.host));
    for (const IpAddress& ip : ips) addresses.push_back(Address::tcp(ip, place.port));
  }
  return addresses;
}

Result<UniqueId> accept_invitation(const Fd& fd, const RendezvousPlace& place, const Deadline& deadline) {
  if (!place.secret) {
    RONDO_TRY_ASSIGN(const auto peer, peer_credentials(fd.get()));
    if (peer.uid != ::getuid())
      return error(ErrorKind::SecretMissing, "the process that listens as rank 0 is user {}'s: {}", peer.uid,
                   kSetSecret)
          .as(Code::RemoteError);
  }
  RONDO_TRY_ASSIGN(const ControlMessage message, receive_message(fd, deadline, {}));
  ByteReader reader(message.body);
  const auto invitation = reader.get<SealedId>();
  if (message.type != MessageType::UniqueId || !reader.ok())
    return Status(ErrorKind::MessageBroken, "rank 0 sent an invalid message instead of the unique id");
  RONDO_TRY_ASSIGN(UniqueId id, UniqueId::read(invitation.id));
  id.credentials.secret = derived_secret(place, invitation.salt);
  return id;
}

Result<RendezvousResult> attend_meeting(const RendezvousPlace& place, int rank, int64_t timeout_ms) {
  constexpr int64_t kPause_ms = 10, kMaxPause_ms = 1000;
  // Errors of this process itself are reported now, not after a wait for rank 0, which may have the same
  // problem.
  RONDO_TRY_ASSIGN(std::shared_ptr<void> keep, Context::get());
  RONDO_TRY_ASSIGN(const auto addresses, places_to_try(place));
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  const ConnectRequest purpose{.kind = ConnectKind::Meet, .from_rank = rank};
  Status last;
  int64_t pause_ms = kPause_ms;
  do {
    for (const Address& address : addresses) {
      auto fd = dial(address, place.credentials(), purpose, deadline, {});
      auto id = fd.ok() ? accept_invitation(fd.value(), place, deadline) : Result<UniqueId>(fd.status());
      if (id.ok()) return RendezvousResult{id.take(), std::move(keep), {}};
      // A refusal says more than a failure to connect, which is how every attempt at a wrong address ends.
      if (last.code() != Code::InvalidUsage) last = id.status();
    }
    // A rank refused now may be admitted later, if a job that is ending still holds this port. So it retries,
    // at growing intervals.
    const bool refused = last.code() == Code::InvalidUsage;
    if (refused && pause_ms == kPause_ms)
      log().warn("rank {} was refused at rank 0's address, and will retry: {}", rank, last.text());
    if (refused) pause_ms = std::min(2 * pause_ms, kMaxPause_ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min<int64_t>(pause_ms, deadline.left_ms())));
  } while (!deadline.passed());
  const bool says_why = last.code() == Code::InvalidUsage || last.kind() == ErrorKind::SecretMissing;
  return error(ErrorKind::RankZeroNotFound, "rank 0 was not found within {} s: {}{}",
               static_cast<double>(timeout_ms) / 1000, last.message(),
               place.secret ? "" : "; RONDO_SECRET is not set here")
      .because(says_why ? last.kind() : ErrorKind{});
}

// --- file:// ---

bool is_another(const UniqueId& one, const UniqueId& other) {
  return one.credentials.session != other.credentials.session;
}

Result<RendezvousResult> meet_by_file(const Method& method, int64_t timeout_ms, const UniqueId* stale) {
  RendezvousResult meeting;
  if (method.launch.rank == 0) {
    RONDO_TRY_ASSIGN(meeting.id, BootstrapRoot::start(timeout_ms, random_secret()));
    RONDO_TRY_ASSIGN(meeting.keep, IdFile::write(method.path, meeting.id));
    return meeting;
  }
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  Status last;
  do {
    auto id = IdFile::read(method.path);
    if (id.ok() && (stale == nullptr || is_another(id.value(), *stale)))
      return RendezvousResult{id.value(), nullptr, [path = method.path, read = id.value()] {
                                const auto now = IdFile::read(path);
                                return now.ok() && is_another(now.value(), read)
                                           ? error(Code::SystemError, "{} was an earlier run's", path)
                                           : Status();
                              }};
    if (!id.ok() && id.status().code() != Code::RemoteError) return id.status();
    last = id.ok() ? error(Code::RemoteError, "{} is an earlier run's", method.path) : id.status();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  } while (!deadline.passed());
  return error(ErrorKind::RankZeroNotFound, "rank 0 was not found within {} s: {}",
               static_cast<double>(timeout_ms) / 1000, last.message());
}

// --- methods as text ---

Result<int> whole_number(const std::string& name, const std::string& value) {
  int number = 0;
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failure != std::errc() || end != value.data() + value.size())
    return error(ErrorKind::MethodInvalid, "method: {} is '{}': it must be a whole number", name, value);
  return number;
}

/// The part of a method after its '?'.
struct Query {
  std::optional<int> rank;
  std::optional<int> size;
};

Result<Query> parse_query(const std::string& text) {
  Query query;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '&');) {
    const size_t equals = std::min(part.find('='), part.size());
    const std::string key = part.substr(0, equals);
    if (key != "rank" && key != "size")
      return error(ErrorKind::MethodInvalid, "method: unknown key '{}' in '?{}': the keys are rank and size",
                   key, text);
    std::optional<int>& value = key == "rank" ? query.rank : query.size;
    if (value) return error(ErrorKind::MethodInvalid, "method: '?{}' gives {} twice", text, key);
    RONDO_TRY_ASSIGN(value, whole_number(key, part.substr(std::min(equals + 1, part.size()))));
  }
  return query;
}

Status parse_host_port(const std::string& text, LauncherEnv& launch) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos)
    return error(ErrorKind::MethodInvalid, "method: tcp://{} has no port; it must be tcp://host:port", text);
  const std::string port = text.substr(colon + 1);
  const auto number = whole_number("port", port);
  if (!number.ok() || number.value() < 1 || number.value() > 65535)
    return error(ErrorKind::MethodInvalid,
                 "method: tcp://{}: its port is '{}': it must be a whole number from 1 to 65535", text, port);
  launch.master_host = text.substr(0, colon);
  if (launch.master_host.starts_with('[') && launch.master_host.ends_with(']'))
    launch.master_host = launch.master_host.substr(1, launch.master_host.size() - 2);
  launch.master_port = number.value();
  launch.agent_at_port = false;
  return {};
}

}  // namespace

Result<Method> parse_method(const std::string& text) {
  Method method;
  RONDO_TRY_ASSIGN(const auto launch, read_launch());
  method.launch = launch.value_or(LauncherEnv());
  const size_t question = std::min(text.find('?'), text.size());
  const std::string target = text.substr(0, question);
  if (target.starts_with("tcp://")) {
    method.scheme = Method::Scheme::Tcp;
    RONDO_TRY(parse_host_port(target.substr(6), method.launch));
  } else if (target.starts_with("file://")) {
    method.scheme = Method::Scheme::File;
    method.path = target.substr(7);
    if (!method.path.starts_with('/'))
      return error(ErrorKind::MethodInvalid, "method '{}': it must be file:///absolute/path", text);
  } else if (target != "env://") {
    return error(ErrorKind::MethodInvalid,
                 "method is '{}': it must be env://, tcp://host:port or file:///path", text);
  }
  RONDO_TRY_ASSIGN(const Query query, parse_query(question < text.size() ? text.substr(question + 1) : ""));
  const bool alone = method.scheme == Method::Scheme::Environment && !query.rank && !query.size;
  if (!launch && !alone && !(query.rank && query.size))
    return error(ErrorKind::MethodInvalid,
                 "method '{}' gives {}, and no launcher's variables do: add ?rank=R&size=N", text,
                 query.rank   ? "no size"
                 : query.size ? "no rank"
                              : "no rank and no size");
  method.launch.size = query.size.value_or(method.launch.size);
  method.launch.rank = query.rank.value_or(method.launch.rank);
  if (method.launch.size < 1 || method.launch.rank < 0 || method.launch.rank >= method.launch.size)
    return error(ErrorKind::MethodInvalid, "method '{}': rank is {} of {}", text, method.launch.rank,
                 method.launch.size);
  return method;
}

Result<RendezvousResult> meet(const Method& method, int64_t timeout_ms, const UniqueId* stale) {
  if (method.scheme == Method::Scheme::File) return meet_by_file(method, timeout_ms, stale);
  RONDO_TRY_ASSIGN(const RendezvousPlace place, place_of(method.launch));
  return method.launch.rank == 0 ? host_meeting(place, timeout_ms)
                                 : attend_meeting(place, method.launch.rank, timeout_ms);
}

}  // namespace rondo
