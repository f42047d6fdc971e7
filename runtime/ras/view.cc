// SPDX-License-Identifier: Apache-2.0
#include "view.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace rondo {
namespace {

using CommKey = std::pair<uint64_t, uint64_t>;  // session, communicator

constexpr std::array<const char*, 4> kStateNames = {"NOCOMM", "RUNNING", "FINALIZE", "ABORT"};

unsigned bit(RasState state) { return static_cast<unsigned>(state); }
unsigned bit(RasTrouble trouble) { return static_cast<unsigned>(trouble); }

bool knows_session(const RasProcess& process, uint64_t session) {
  return std::any_of(process.ranks.begin(), process.ranks.end(),
                     [&](const RasRank& rank) { return rank.session == session; });
}

RasAbsent absent_rank(const HereMember& one, uint64_t session, const RasFindings& found) {
  RasAbsent absent{.rank = one.rank, .pid = one.pid};
  for (const RasProcess& process : found.processes) {
    if (process.pid != one.pid || !knows_session(process, session)) continue;
    absent.has_answered = process.omitted == 0;
    absent.why = absent.has_answered ? "has left the communicator" : "does not tell of all its communicators";
    return absent;
  }
  for (const RasFindings::Silent& silent : found.silent)
    if (silent.pid == one.pid) absent.why = silent.why;
  for (const RasProcess& process : found.processes) {
    if (!absent.why.empty() || process.pid != one.pid) continue;
    absent.has_answered = true;
    absent.why = "has left all communicators of the job";
  }
  if (absent.why.empty()) absent.why = "has ended, has no communicator any more, or cannot be asked here";
  return absent;
}

/// Ranks that members know to be on this host, and that are no members.
void add_absent(RasComm& comm, const RasFindings& found) {
  std::set<int> said;
  for (const RasMember& member : comm.members) said.insert(member.rank->rank);
  std::map<int, const HereMember*> known;
  for (const RasMember& member : comm.members)
    for (const HereMember& one : member.rank->here)
      if (!said.contains(one.rank)) known.emplace(one.rank, &one);
  for (const auto& [rank, one] : known) comm.absent.push_back(absent_rank(*one, comm.any().session, found));
}

/// A call that is just being recorded is not compared.
bool ranks_differ(const RasComm& comm) {
  const RasRank* first = nullptr;
  for (const RasMember& member : comm.members) {
    const RasRank& rank = *member.rank;
    if (rank.latest != comm.any().latest) return true;
    if (rank.call.empty()) continue;
    if (first != nullptr && rank.call_key != first->call_key) return true;
    first = &rank;
  }
  return false;
}

void judge(RasComm& comm) {
  for (const RasMember& member : comm.members) {
    comm.latest = std::max(comm.latest, member.rank->latest);
    comm.states |= bit(member.state());
    if (member.rank->failure != Code::Ok) comm.troubles |= bit(RasTrouble::Error);
  }
  for (const RasAbsent& absent : comm.absent) {
    if (absent.has_answered) comm.states |= bit(RasState::NoComm);
    if (!absent.has_answered) comm.troubles |= bit(RasTrouble::Incomplete);
  }
  if (std::popcount(comm.states) > 1 || ranks_differ(comm)) comm.troubles |= bit(RasTrouble::Mismatch);
}

/// The first process that claims a rank has it.
std::vector<RasComm> all_comms(const RasFindings& found) {
  std::map<CommKey, std::map<int, RasMember>> by_key;
  for (const RasProcess& process : found.processes)
    for (const RasRank& rank : process.ranks)
      by_key[{rank.session, rank.communicator}].emplace(rank.rank, RasMember{&rank, &process});
  std::vector<RasComm> comms;
  for (const auto& [key, members] : by_key) {
    RasComm comm;
    for (const auto& [rank, member] : members) comm.members.push_back(member);
    add_absent(comm, found);
    judge(comm);
    comms.push_back(std::move(comm));
  }
  return comms;
}

auto group_key(const RasComm& comm) {
  return std::tuple(comm.any().size, comm.any().hosts, std::bit_width(comm.states), comm.troubles);
}

std::vector<RasGroup> grouped(std::vector<RasComm> comms) {
  std::stable_sort(comms.begin(), comms.end(),
                   [](const RasComm& a, const RasComm& b) { return group_key(a) > group_key(b); });
  std::vector<RasGroup> groups;
  for (RasComm& comm : comms) {
    if (groups.empty() || group_key(groups.back().first()) != group_key(comm)) groups.emplace_back();
    groups.back().comms.push_back(std::move(comm));
  }
  return groups;
}

/// Sessions that have a process in common are of one job.
size_t count_jobs(const RasFindings& found) {
  std::map<uint64_t, uint64_t> parent;
  const auto root = [&](uint64_t session) {
    while (parent.at(session) != session) session = parent.at(session);
    return session;
  };
  for (const RasProcess& process : found.processes)
    for (const RasRank& rank : process.ranks) {
      parent.emplace(rank.session, rank.session);
      parent[root(rank.session)] = root(process.ranks.front().session);
    }
  return static_cast<size_t>(
      std::count_if(parent.begin(), parent.end(), [](const auto& one) { return one.first == one.second; }));
}

/// Of the session in which it has most.
size_t ranks_of(const RasProcess& process) {
  std::map<uint64_t, std::set<int>> by_session;
  for (const RasRank& rank : process.ranks) by_session[rank.session].insert(rank.session_rank);
  size_t most = 0;
  for (const auto& [session, ranks] : by_session) most = std::max(most, ranks.size());
  return most;
}

/// "2.5 s"
std::string seconds_text(int64_t ms) { return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000); }

}  // namespace

RasState RasMember::state() const {
  if (rank->failure == Code::Aborted) return RasState::Abort;
  return rank->finished ? RasState::Finalize : RasState::Running;
}

std::string RasComm::id() const { return fmt::format("{:016x}-{:x}", any().session, any().communicator); }

const char* RasComm::state_name() const {
  return kStateNames.at(static_cast<size_t>(std::bit_width(states)) - 1);
}

std::string RasComm::trouble_names() const {
  std::vector<const char*> names;
  if (has(RasTrouble::Incomplete)) names.push_back("INCOMPLETE");
  if (has(RasTrouble::Error)) names.push_back("ERROR");
  if (has(RasTrouble::Mismatch)) names.push_back("MISMATCH");
  return names.empty() ? "OK" : fmt::format("{}", fmt::join(names, ","));
}

size_t RasGroup::members() const {
  size_t members = 0;
  for (const RasComm& comm : comms) members += comm.members.size();
  return members;
}

std::pair<size_t, size_t> RasGroup::here_range() const {
  std::pair<size_t, size_t> range{SIZE_MAX, 0};
  for (const RasComm& comm : comms) {
    const size_t here = comm.members.size() + comm.absent.size();
    range = {std::min(range.first, here), std::max(range.second, here)};
  }
  return range;
}

RasView ras_view(const RasFindings& found) {
  RasView view{.jobs = count_jobs(found), .ranks_range = {SIZE_MAX, 0}};
  for (const RasProcess& process : found.processes) {
    view.omitted += process.omitted;
    if (process.ranks.empty()) continue;
    const size_t ranks = ranks_of(process);
    ++view.processes;
    view.ranks += ranks;
    view.ranks_range = {std::min(view.ranks_range.first, ranks), std::max(view.ranks_range.second, ranks)};
  }
  if (view.processes == 0) view.ranks_range = {0, 0};
  view.groups = grouped(all_comms(found));
  for (const RasGroup& group : view.groups)
    view.spread += static_cast<size_t>(std::count_if(
        group.comms.begin(), group.comms.end(), [](const RasComm& comm) { return comm.elsewhere() > 0; }));
  return view;
}

const char* state_name(RasState state) {
  return kStateNames.at(static_cast<size_t>(std::bit_width(bit(state))) - 1);
}

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (end == begin + 2) end = begin + 1;  // "0, 1" is shorter than "0 to 1"
    const std::string last = end == begin + 1 ? "" : fmt::format(" to {}", ranks[end - 1]);
    parts.push_back(fmt::format("{}{}", ranks[begin], last));
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(parts, ", "));
}

std::string activity_text(const RasRank& rank) {
  const std::string waits_for = rank.waits_for < 0 ? "" : fmt::format(", waits for rank {}", rank.waits_for);
  if (rank.failure != Code::Ok) return "has failed";
  if (rank.finished) return rank.inside ? "is ending the communicator" : "has ended its calls";
  if (rank.inside && !rank.call.empty())
    return fmt::format("is in {} for {}{}", rank.call, seconds_text(std::max<int64_t>(0, rank.begun_ms)),
                       waits_for);
  if (!rank.messages.empty()) return fmt::format("waits in {}{}", rank.messages, waits_for);
  if (rank.latest == 0) return "has made no call";
  if (rank.call.empty()) return fmt::format("begins call {}", rank.latest);
  const int64_t since_ms = std::max<int64_t>(0, rank.ended_ms);
  if (rank.on_gpu) return fmt::format("put {} on a stream {} ago", rank.call, seconds_text(since_ms));
  return fmt::format("is done with {} for {}", rank.call, seconds_text(since_ms));
}

}  // namespace rondo
