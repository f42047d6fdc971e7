// SPDX-License-Identifier: Apache-2.0
#include "verbs/handshake.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "base/log.h"
#include "base/quiet_thread.h"
#include "verbs/gid_choice.h"

namespace rondo::verbs {
namespace {

constexpr int64_t kSearch_ms = 10'000;      // no path is begun later
constexpr int64_t kSearchAgain_ms = 1'000;  // likewise, if all of them carried nothing some minutes ago

/// A limit of the process.
bool is_of_every_path(const Status& failure) { return failure.code() == Code::InvalidUsage; }

}  // namespace

Handshake::~Handshake() { stop(); }

Fd Handshake::stop() {
  if (thread_.joinable()) {
    conversation_.close();
    thread_.join();
  }
  return conversation_.take_socket();
}

Status Handshake::begin(Fd socket) {
  RONDO_TRY(conversation_.begin(std::move(socket)));
  done_ = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!done_.valid()) return system_error("eventfd", errno);
  RONDO_TRY_ASSIGN(thread_, try_quiet_thread([this] { run(); }));
  return {};
}

void Handshake::run() {
  connected_ = connect();
  if (!connected_.ok()) conversation_.end_sending();
  is_refused_ = is_refused_ || conversation_.peer_refuses();
  over_.store(true, std::memory_order_release);  // pairs with is_over(): the outcome is complete
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(done_.get(), &one, sizeof one);
}

Result<Handshake::Connected> Handshake::connect() {
  RONDO_TRY(exchange_ports());
  return terms_.dials ? propose_paths() : follow_proposals();
}

template <class Message>
Status Handshake::give_up(const Status& reason) {
  // A setting that was right when the ends first connected may name a port that has failed since.
  is_refused_ = reason.code() != Code::InvalidArgument || !lost_.path.empty();
  static_cast<void>(conversation_.send(
      Message{.gives_up = is_refused_ ? kRefuses : kFails, .reason = wire_text(reason.message())}));
  return reason;
}

/// Packets of other partitions are dropped without a word.
Status Handshake::check_partition(uint32_t peers) const {
  const uint32_t own = terms_.settings.partition.number();
  if (own == 0 || peers == 0 || own == peers) return {};
  return error(Code::Mismatch, "{} is {:#06x} at this end and {:#06x} at the other",
               terms_.settings.partition.variable, own, peers);
}

/// The lists of ports go one way after the other: sockets may hold less than both.
Status Handshake::exchange_ports() {
  if (lost_.was_last)
    return give_up<PortOffer>(error(Code::Unsupported, "one path after the other fails: {}", lost_.failure));
  auto devices = Devices::open();
  auto ports = devices.ok() ? devices.value()->ports(terms_.settings, terms_.place) : devices.status();
  if (!ports.ok()) return give_up<PortOffer>(ports.status());
  devices_ = devices.take();
  own_ports_ = ports.take();
  ByteWriter own;
  write_ports(own, own_ports_);
  if (own.bytes().size() > PortOffer::kMaxPortBytes)
    return give_up<PortOffer>(error(Code::Unsupported, "{} ports are too many", own_ports_.size()));
  RONDO_TRY(conversation_.send(PortOffer{.port_bytes = static_cast<uint32_t>(own.bytes().size()),
                                         .partition = terms_.settings.partition.number(),
                                         .turn = terms_.turn,
                                         .slot_bytes = terms_.params.slot_bytes,
                                         .slots = terms_.params.slots}));
  RONDO_TRY_ASSIGN(const PortOffer peers, conversation_.receive<PortOffer>());
  RONDO_TRY(check_partition(peers.partition));
  peers_turn_ = peers.turn;
  if (terms_.dials) RONDO_TRY(conversation_.send_bytes(own.bytes().data(), own.bytes().size()));
  std::vector<std::byte> bytes(peers.port_bytes);
  RONDO_TRY(conversation_.receive_bytes(bytes.data(), bytes.size()));
  if (!terms_.dials) RONDO_TRY(conversation_.send_bytes(own.bytes().data(), own.bytes().size()));
  RONDO_TRY_ASSIGN(peers_ports_, ports_of(bytes));
  return {};
}

Handshake::Connected Handshake::connected_over(PathAttempt& attempt, const VerbsPath& path) const {
  return {attempt.take_parts(), text(path), path.mtu, watch_of(terms_.dials ? path.dialler : path.acceptor)};
}

PortWatch Handshake::watch_of(const VerbsPath::PathEnd& used) const {
  const auto watched = [&](const VerbsPort& port) {
    return PortWatch::WatchedPort{devices_->named(port.device).take(), port.number};
  };
  std::vector<PortWatch::WatchedPort> others;
  for (const VerbsPort& port : own_ports_) {
    const bool reaches = std::any_of(peers_ports_.begin(), peers_ports_.end(), [&](const VerbsPort& peer) {
      return !address_pairs(port, peer).empty();
    });
    if (reaches && &port != &own_ports_[used.port]) others.push_back(watched(port));
  }
  const VerbsPort& port = own_ports_[used.port];
  std::optional<Gid> gid;
  if (used.gid >= 0) gid = port.gids[static_cast<size_t>(used.gid)];
  return {watched(port), std::move(gid), std::move(others), terms_.settings.give_up_us()};
}

Status Handshake::no_address() const {
  return error(Code::Unsupported, "no InfiniBand or RoCE port of this host reaches one of rank {}'s host: {}",
               terms_.peer,
               peers_ports_.empty() ? "it offers none" : why_no_pair(own_ports_[0], peers_ports_[0]));
}

Result<Handshake::Connected> Handshake::propose_paths() {
  PathSearch search(paths_between(own_ports_, peers_ports_,
                                  {.dialler = terms_.turn, .acceptor = peers_turn_, .lane = terms_.lane}));
  if (!search.current()) return give_up<PathProposal>(no_address());
  PathHistory& history = devices_->history();
  std::string failures;
  bool is_new = !lost_.path.empty();
  if (is_new) {
    history.add(lost_.path, 0);
    failures = fmt::format(" {}: {};", lost_.path, lost_.failure);
  }
  const bool has_hope = search.apply([&](const VerbsPath& path) { return history.carried(text(path)); });
  const Deadline deadline = Deadline::in_ms(has_hope ? kSearch_ms : kSearchAgain_ms);
  for (auto path = search.current(); path && !deadline.passed(); path = search.current()) {
    PathAttempt::ProofResult result;
    RONDO_TRY_ASSIGN(const auto attempt, propose(*path, result));
    if (attempt != nullptr) {
      is_new |= history.add(text(*path), path->mtu);
      log_choice(*path, is_new, failures);
      return connected_over(*attempt, *path);
    }
    failures += fmt::format(" {}, MTU {}: {};", text(*path), path->mtu, result.failure);
    if (search.failed(result.too_long)) is_new |= history.add(text(*path), 0);
  }
  if (search.left() != 0) failures += fmt::format(" {} more were not tried", search.left());
  return give_up<PathProposal>(error(Code::Unsupported,
                                     "no path over InfiniBand or RoCE to rank {} carries messages:{}",
                                     terms_.peer, failures));
}

void Handshake::log_choice(const VerbsPath& path, bool is_new, const std::string& failures) const {
  const std::string found =
      fmt::format("rank {} is reached by {}, MTU {}", terms_.peer, text(path), path.mtu);
  const AddressPair addresses{path.dialler.gid, path.acceptor.gid};
  if (!is_new)
    log().debug("{}", found);
  else if (failures.empty())
    log().info("{}: the first of all paths, with {}", found,
               kind_of(addresses, diallers()[path.dialler.port], acceptors()[path.acceptor.port]));
  else
    log().warn("{}, because better paths fail:{}", found, failures);
}

/// What fails at one end only, as where its port lacks a partition, is a failure of the path too.
Result<std::unique_ptr<PathAttempt>> Handshake::propose(const VerbsPath& path,
                                                        PathAttempt::ProofResult& result) {
  auto made = make_attempt(path);
  if (is_of_every_path(made.status())) return give_up<PathProposal>(made.status());
  result.failure = made.status().message();
  if (!made.ok()) return std::unique_ptr<PathAttempt>();
  auto attempt = made.take();
  RONDO_TRY(conversation_.send(PathProposal{.path = path, .contact = attempt->contact()}));
  RONDO_TRY_ASSIGN(const PathAnswer answer, conversation_.receive<PathAnswer>());
  result.failure = answer.reason.data();
  if (!result.failure.empty()) return std::unique_ptr<PathAttempt>();
  const Status connected = attempt->connect(own_view(path), answer.contact);
  RONDO_TRY_ASSIGN(result, attempt->prove(conversation_, connected));
  return result.failure.empty() ? std::move(attempt) : std::unique_ptr<PathAttempt>();
}

Result<Handshake::Connected> Handshake::follow_proposals() {
  for (;;) {
    RONDO_TRY_ASSIGN(const PathProposal proposal, conversation_.receive<PathProposal>());
    RONDO_TRY(check_path(proposal.path, peers_ports_, own_ports_));
    RONDO_TRY_ASSIGN(const auto attempt, follow(proposal));
    if (attempt != nullptr) return connected_over(*attempt, proposal.path);
  }
}

Result<std::unique_ptr<PathAttempt>> Handshake::follow(const PathProposal& proposal) {
  auto made = make_attempt(proposal.path);
  if (is_of_every_path(made.status())) return give_up<PathAnswer>(made.status());
  const Status connected =
      made.ok() ? made.value()->connect(own_view(proposal.path), proposal.contact) : made.status();
  RONDO_TRY(conversation_.send(PathAnswer{.reason = wire_text(connected.message()),
                                          .contact = made.ok() ? made.value()->contact() : PairContact()}));
  if (!connected.ok()) return std::unique_ptr<PathAttempt>();
  auto attempt = made.take();
  RONDO_TRY_ASSIGN(const auto result, attempt->prove(conversation_, connected));
  return result.failure.empty() ? std::move(attempt) : std::unique_ptr<PathAttempt>();
}

Result<std::unique_ptr<PathAttempt>> Handshake::make_attempt(const VerbsPath& path) const {
  const uint32_t own = terms_.dials ? path.dialler.port : path.acceptor.port;
  return PathAttempt::make(devices_, own_ports_[own], terms_, pages_);
}

Path Handshake::own_view(const VerbsPath& path) const {
  const auto& [own_end, peers_end] =
      terms_.dials ? std::tie(path.dialler, path.acceptor) : std::tie(path.acceptor, path.dialler);
  const VerbsPort& own = own_ports_[own_end.port];
  const VerbsPort& peer = peers_ports_[peers_end.port];
  Path view{.port = own.number,
            .peer_lid = peer.lid,
            .by_gid = path.has_grh(),
            .mtu = path.mtu,
            .service_level = terms_.settings.service_level,
            .traffic_class = terms_.settings.traffic_class.value_or(0),
            .timeout = terms_.settings.timeout,
            .retries = terms_.settings.retries};
  if (!view.by_gid) return view;
  view.gid_index = own.gids[static_cast<size_t>(own_end.gid)].index;
  view.peer_gid = peer.gids[static_cast<size_t>(peers_end.gid)].raw;
  return view;
}

}  // namespace rondo::verbs
