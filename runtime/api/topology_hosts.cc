// SPDX-License-Identifier: Apache-2.0
// The C API's topologies of communicators: each host is described by one rank, and ranks with equal
// descriptions find out that they are equal by a broadcast from the first of them.
#include <algorithm>
#include <map>

#include "base/error_kinds.h"
#include "comm/group.h"
#include "formats/host_kind.h"
#include "topology_handle.h"

namespace {

using namespace rondo;
using Kind = CollectiveKind;

/// What the first rank of a host says of it: the code of an error, or that there is none, and the error or
/// the description.
std::string statement_of(const Result<Machine>& machine, const Membership& membership) {
  const Status& status = machine.status();
  const auto code = static_cast<char>(status.code());
  if (machine.ok()) return code + host_kind_text(machine.value());
  return code + fmt::format("{}: {}", membership.rank_text(membership.rank()), status.text());
}

/// The machine out of a statement, or the error.
Result<Machine> machine_of_statement(std::string_view statement, const std::string& source) {
  const auto code = static_cast<Code>(statement[0]);
  statement.remove_prefix(1);
  if (code != Code::Ok) return Status::of_text(code, std::string(statement));
  return machine_of_host_kind(statement, source);
}

/// What every rank says first.
struct Opening {
  uint64_t statement_bytes;
  int64_t p2p_below_switches;
};

/// Which hosts a communicator's ranks are on, and the statements about them, each of which is sent once.
class HostSurvey {
 public:
  explicit HostSurvey(Communicator& communicator) : communicator_(communicator) {
    std::map<uint64_t, size_t> hosts;
    for (int rank = 0; rank != communicator.size(); ++rank)
      if (hosts.emplace(communicator.membership().peer(rank).endpoint.host, hosts.size()).second)
        first_ranks_.push_back(rank);
    kind_of_host_.assign(first_ranks_.size(), kUnknown);
  }

  /// Whether this rank has to make a statement.
  bool speaks() const { return std::ranges::binary_search(first_ranks_, communicator_.rank()); }

  /// Every rank that speaks gives its statement; all others an empty one.
  Status exchange(const std::string& own, const rondo_topology_config_t& config) {
    RONDO_TRY(open({.statement_bytes = own.size(), .p2p_below_switches = config.p2p_below_switches}));
    for (auto host = unknown_host(); host != kind_of_host_.end(); host = unknown_host()) {
      const int speaker = first_ranks_[static_cast<size_t>(host - kind_of_host_.begin())];
      RONDO_TRY_ASSIGN(std::string statement, from(speaker, own));
      RONDO_TRY(find_equals(statement, own));
      speakers_.push_back(speaker);
      statements_.push_back(std::move(statement));
    }
    return {};
  }

  Result<std::vector<Machine>> kinds() const {
    std::vector<Machine> machines;
    for (size_t kind = 0; kind != statements_.size(); ++kind) {
      RONDO_TRY_ASSIGN(Machine machine, machine_of_statement(statements_[kind],
                                                             fmt::format("rank {}'s host", speakers_[kind])));
      machines.push_back(std::move(machine));
    }
    return machines;
  }

  std::span<const size_t> kind_of_host() const { return kind_of_host_; }

 private:
  static constexpr size_t kUnknown = SIZE_MAX;

  std::vector<size_t>::iterator unknown_host() { return std::ranges::find(kind_of_host_, kUnknown); }

  Status open(const Opening& own) {
    openings_.resize(static_cast<size_t>(communicator_.size()));
    RONDO_TRY(all_gather(&own, openings_.data(), sizeof(own)));
    for (int rank = 0; rank != communicator_.size(); ++rank) {
      const Opening& opening = openings_[static_cast<size_t>(rank)];
      if (opening.p2p_below_switches != openings_[0].p2p_below_switches)
        return error(ErrorKind::SettingsDiffer,
                     "ranks disagree: config->p2p_below_switches is {} at rank 0 and {} at rank {}",
                     openings_[0].p2p_below_switches, opening.p2p_below_switches, rank);
    }
    return {};
  }

  Result<std::string> from(int speaker, const std::string& own) {
    std::string statement = own;
    statement.resize(openings_[static_cast<size_t>(speaker)].statement_bytes);
    RONDO_TRY(make_call(Kind::Broadcast, statement.data(), statement.data(), statement.size(), speaker));
    return statement;
  }

  Status find_equals(const std::string& statement, const std::string& own) {
    const auto is_equal = static_cast<uint8_t>(statement == own);
    std::vector<uint8_t> equal(static_cast<size_t>(communicator_.size()));
    RONDO_TRY(all_gather(&is_equal, equal.data(), sizeof(is_equal)));
    for (size_t host = 0; host != first_ranks_.size(); ++host)
      if (equal[static_cast<size_t>(first_ranks_[host])] != 0) kind_of_host_[host] = statements_.size();
    return {};
  }

  Status all_gather(const void* own, void* all, size_t bytes) {
    return make_call(Kind::AllGather, own, all, bytes, 0);
  }

  /// Of bytes. Ranks that make another call are told of rondo_topology_detect_all().
  Status make_call(Kind kind, const void* send, void* recv, size_t bytes, int root) {
    Call call;
    call.kind = kind;
    call.send = send;
    call.recv = recv;
    call.count = bytes;
    call.type = CallType::of(ElementType::UInt8);
    call.root = root;
    call.purpose = CallPurpose::DetectHosts;
    return submit({.communicator = &communicator_, .what = std::move(call)});
  }

  Communicator& communicator_;
  std::vector<Opening> openings_;     // by rank
  std::vector<int> first_ranks_;      // by host
  std::vector<size_t> kind_of_host_;  // indices of statements
  std::vector<std::string> statements_;
  std::vector<int> speakers_;  // of those
};

}  // namespace

rondo_status_t rondo_topology_detect_all(rondo_topology_t* topology, rondo_comm_t comm,
                                         const rondo_topology_config_t* config) {
  if (topology != nullptr) *topology = nullptr;
  return api::guarded("rondo_topology_detect_all", comm, [&]() -> Status {
    if (topology == nullptr) return api::null_argument("topology");
    RONDO_TRY_ASSIGN(Communicator* const communicator, api::live(comm));
    RONDO_TRY(refuse_in_group("detecting the hosts of a communicator"));
    RONDO_TRY_ASSIGN(const rondo_topology_config_t known, api::checked(config));
    if (known.hosts != 1)
      return error(ErrorKind::ConfigInvalid,
                   "config->hosts is {}: expected 1, as the communicator has its hosts", known.hosts);
    HostSurvey survey(*communicator);
    std::string own;
    if (survey.speaks()) {
      DetectOptions options;
      options.visible_devices.reset();
      own = statement_of(api::described_host(options), communicator->membership());
    }
    RONDO_TRY(survey.exchange(own, known));
    RONDO_TRY_ASSIGN(std::vector<Machine> kinds, survey.kinds());
    return api::make_topology(topology, std::move(kinds), survey.kind_of_host(), known);
  });
}
