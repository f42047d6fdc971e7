// SPDX-License-Identifier: Apache-2.0
// Which paths the ends of a connection propose and prove, one after the other.
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/error_kinds.h"
#include "base/log.h"
#include "verbs/gid_choice.h"
#include "verbs/handshake.h"
#include "verbs/rails.h"

namespace rondo::verbs {
namespace {

constexpr int64_t kSearch_ms = 10'000;      // no path is begun later
constexpr int64_t kSearchAgain_ms = 1'000;  // likewise, if all of them carried nothing some minutes ago

/// A limit of the process.
bool is_of_every_path(const Status& failure) { return failure.code() == Code::InvalidUsage; }

}  // namespace

Status Handshake::no_address() const {
  return error(ErrorKind::NoPortReaches,
               "no InfiniBand or RoCE port of this host reaches one of rank {}'s host: {}", terms_.peer,
               peers_ports_.empty() ? "it offers none" : why_no_pair(own_ports_[0], peers_ports_[0]));
}

Result<Handshake::Connected> Handshake::propose_paths() {
  const PathTurns turns{.dialler = terms_.turn, .acceptor = peers_turn_, .lane = terms_.lane};
  PathSearch search(paths_between(own_ports_, peers_ports_, turns));
  if (!search.current()) return give_up<PathProposal>(no_address());
  if (!lost_.path.empty()) {
    is_new_ = true;
    devices_->history().add(lost_.path, 0);
    failures_ = fmt::format(" {}: {};", lost_.path, lost_.failure);
  }
  const bool has_hope = search.apply([&](const VerbsPath& path) { return carried(path); });
  const Deadline deadline = Deadline::in_ms(has_hope ? kSearch_ms : kSearchAgain_ms);
  RONDO_TRY_ASSIGN(const bool is_found, find_path(search, deadline, turns));
  if (search.left() != 0 && !is_found) failures_ += fmt::format(" {} more were not tried", search.left());
  if (!is_found)
    return give_up<PathProposal>(error(ErrorKind::NoPathCarries,
                                       "no path over InfiniBand or RoCE to rank {} carries messages:{}",
                                       terms_.peer, failures_));
  const char* const which_failed = failures_.empty() ? "other" : "better";
  if (after_first(paths_[0], turns) == kMorePairs) RONDO_TRY(add_pairs(turns, deadline));
  log_choice(which_failed);
  return connected();
}

Result<bool> Handshake::find_path(PathSearch& search, const Deadline& deadline, const PathTurns& turns) {
  for (auto path = search.current(); path && !deadline.passed(); path = search.current()) {
    PathAttempt::ProofResult result;
    const PairsToFollow follow = ends_.empty() ? after_first(*path, turns) : kMorePairs;
    RONDO_TRY_ASSIGN(const bool is_proved, propose(*path, follow, result));
    if (is_proved) {
      is_new_ |= devices_->history().add(text(*path), path->mtu);
      return true;
    }
    if (search.failed(result.too_long)) is_new_ |= devices_->history().add(text(*path), 0);
  }
  return false;
}

/// Of each other rail one that works, if there is any, and then again on those in turn. What fails is left
/// out.
Status Handshake::add_pairs(const PathTurns& turns, const Deadline& deadline) {
  const size_t wanted = pairs_ != 0 ? pairs_ : kUsualPairs;
  for (auto& paths : paths_beside(paths_[0], own_ports_, peers_ports_, turns)) {
    if (ends_.size() == wanted) break;
    const auto is_lost = [&](const VerbsPath& path) { return text(path) == lost_.path; };
    if (std::any_of(paths.begin(), paths.end(), is_lost)) continue;  // a failed port, whatever the address
    std::erase_if(paths, [&](const VerbsPath& path) { return carried(path) == 0; });
    PathSearch rail(std::move(paths));
    rail.apply([&](const VerbsPath& path) { return carried(path); });
    RONDO_TRY(find_path(rail, deadline, turns).status());
  }
  const std::vector<VerbsPath> working = paths_;
  for (bool works = true; works && ends_.size() < pairs_;) {
    PathAttempt::ProofResult result;
    RONDO_TRY_ASSIGN(works, propose(working[ends_.size() % working.size()], kMorePairs, result));
  }
  return conversation_.send(PathProposal{.follow = kNoMore});
}

PairsToFollow Handshake::after_first(const VerbsPath& path, const PathTurns& turns) const {
  const bool is_alone = pairs_ == 0 && paths_beside(path, own_ports_, peers_ports_, turns).empty();
  return pairs_ == 1 || is_alone ? kLastPair : kMorePairs;
}

std::string Handshake::text_of_all() const {
  std::vector<std::string> texts;
  for (const VerbsPath& path : paths_) {
    std::string one = fmt::format("{}, MTU {}", text(path), path.mtu);
    if (std::find(texts.begin(), texts.end(), one) == texts.end()) texts.push_back(std::move(one));
  }
  return fmt::format("{}", fmt::join(texts, " and "));
}

void Handshake::log_choice(const char* which_failed) const {
  const std::string found = fmt::format("rank {} is reached by {}", terms_.peer, text_of_all());
  const VerbsPath& path = paths_[0];
  const AddressPair addresses{path.dialler.gid, path.acceptor.gid};
  if (!is_new_)
    log().debug("{}", found);
  else if (failures_.empty())
    log().info("{}: the first of all paths, with {}", found,
               kind_of(addresses, diallers()[path.dialler.port], acceptors()[path.acceptor.port]));
  else
    log().warn("{}, because {} paths fail:{}", found, which_failed, failures_);
}

/// What fails at one end only, as where its port lacks a partition, is a failure of the path too.
Result<bool> Handshake::propose(const VerbsPath& path, PairsToFollow follow,
                                PathAttempt::ProofResult& result) {
  auto made = make_attempt(path);
  if (ends_.empty() && is_of_every_path(made.status())) return give_up<PathProposal>(made.status());
  result.failure = made.status().message();
  if (made.ok()) {
    const auto attempt = made.take();
    RONDO_TRY(
        conversation_.send(PathProposal{.path = path, .follow = follow, .contact = attempt->contact()}));
    RONDO_TRY_ASSIGN(const PathAnswer answer, conversation_.receive<PathAnswer>());
    result.failure = answer.reason.data();
    if (result.failure.empty()) {
      const Status connected = attempt->connect(own_view(path), answer.contact, own_address(path));
      RONDO_TRY_ASSIGN(result, prove(*attempt, connected, path));
    }
  }
  if (!result.failure.empty())
    failures_ += fmt::format(" {}, MTU {}: {};", text(path), path.mtu, result.failure);
  return result.failure.empty();
}

Result<PathAttempt::ProofResult> Handshake::prove(PathAttempt& attempt, const Status& connected,
                                                  const VerbsPath& path) {
  RONDO_TRY_ASSIGN(auto result, attempt.prove(conversation_, connected));
  if (!result.failure.empty()) return result;
  ends_.push_back(attempt.take_end());
  paths_.push_back(path);
  return result;
}

Result<Handshake::Connected> Handshake::follow_proposals() {
  for (;;) {
    RONDO_TRY_ASSIGN(const PathProposal proposal, conversation_.receive<PathProposal>());
    const bool fits = proposal.follow == kNoMore ? !ends_.empty() : ends_.size() < kMaxPairs;
    if (!fits) return nonsense("follow", proposal.follow);
    if (proposal.follow == kNoMore) return connected();
    RONDO_TRY(check_path(proposal.path, peers_ports_, own_ports_));
    RONDO_TRY_ASSIGN(const bool is_proved, follow(proposal));
    if (is_proved && proposal.follow == kLastPair) return connected();
  }
}

Result<bool> Handshake::follow(const PathProposal& proposal) {
  auto made = make_attempt(proposal.path);
  if (ends_.empty() && is_of_every_path(made.status())) return give_up<PathAnswer>(made.status());
  const Status connected =
      made.ok() ? made.value()->connect(own_view(proposal.path), proposal.contact, own_address(proposal.path))
                : made.status();
  RONDO_TRY(conversation_.send(PathAnswer{.reason = wire_text(connected.message()),
                                          .contact = made.ok() ? made.value()->contact() : PairContact()}));
  if (!connected.ok()) return false;
  RONDO_TRY_ASSIGN(const auto result, prove(*made.value(), connected, proposal.path));
  return result.failure.empty();
}

Result<std::unique_ptr<PathAttempt>> Handshake::make_attempt(const VerbsPath& path) const {
  const uint32_t own = terms_.dials ? path.dialler.port : path.acceptor.port;
  return PathAttempt::make(devices_, own_ports_[own], terms_, pages_, ends_);
}

ReadBack::OwnAddress Handshake::own_address(const VerbsPath& path) const {
  const VerbsPath::PathEnd& end = terms_.dials ? path.dialler : path.acceptor;
  const VerbsPort& own = own_ports_[end.port];
  ReadBack::OwnAddress address{.lid = own.lid};
  if (path.has_grh()) address.gid = own.gids[static_cast<size_t>(end.gid)].raw;
  return address;
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
