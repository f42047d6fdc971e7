// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/json_text.h"
#include "report.h"

namespace rondo {
namespace {

constexpr size_t kMaxNamed = 10;    // ranks with a line each, unless all are requested
constexpr int64_t kLong_ms = 1000;  // a wait that is worth a warning

class TextReport {
 public:
  TextReport(const RasOptions& options, const RasFindings& found, const RasDetail& detail)
      : options_(options), found_(found), detail_(detail), view_(ras_view(found)) {}

  std::string written() {
    line("{}", options_.product);
    write_jobs();
    write_communicators();
    if (!detail_.summary_only) {
      heading("Errors");
      section([this] { write_silent(); });
      heading("Warnings");
      section([this] { each([this](const RasComm& comm, const std::string& name) { warn(comm, name); }); });
      if (detail_.verbose) write_ranks();
    }
    heading("Notes");
    for (const std::string& note : ras_notes(view_, found_, detail_)) line("{}", note);
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void heading(const char* title) {
    if (!text_.ends_with("\n\n")) line("");
    line("{}\n{:=<{}}\n", title, "", std::strlen(title));
  }

  template <typename Write>
  void section(const Write& write) {
    const size_t before = text_.size();
    write();
    if (text_.size() == before) line("none");
  }

  /// With "#0-1 'dp' (id)", as in NCCL's reports.
  template <typename Write>
  void each(const Write& write) {
    for (size_t group = 0; group < view_.groups.size(); ++group) {
      const std::vector<RasComm>& comms = view_.groups[group].comms;
      for (size_t at = 0; at < comms.size(); ++at)
        write(comms[at],
              fmt::format("#{}-{} '{}' ({})", group, at, in_one_line(comms[at].any().name), comms[at].id()));
    }
  }

  static std::string range_text(const std::pair<size_t, size_t>& range) {
    if (range.first == range.second) return std::to_string(range.first);
    return fmt::format("{}-{}", range.first, range.second);
  }

  void write_jobs() {
    heading("Job summary");
    line("  Nodes  Processes        Ranks  Processes    Ranks");
    line("(asked)   per node  per process    (asked)  (asked)");
    line("{:7}  {:9}  {:>11}  {:9}  {:7}", 1, view_.processes, range_text(view_.ranks_range), view_.processes,
         view_.ranks);
    if (view_.jobs > 1) line("\nThese processes are of {} jobs.", view_.jobs);
  }

  void write_communicators() {
    line("\nCommunicators... ({:.2f}s)\n=============\n", found_.seconds);
    if (view_.groups.empty()) return line("There are no communicators.");
    line("Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors");
    line("    #  in group  per comm  per node  per comm  in group");
    for (size_t at = 0; at < view_.groups.size(); ++at) {
      const RasGroup& group = view_.groups[at];
      const RasRank& any = group.first().any();
      line("{:5}  {:8}  {:8}  {:>8}  {:8}  {:8}  {:>8}  {}", at, group.comms.size(), any.hosts,
           range_text(group.here_range()), any.size, group.members(), group.first().state_name(),
           group.first().trouble_names());
    }
  }

  void write_silent() {
    if (!found_.silent.empty()) {
      line("INCOMPLETE\n  {} of this user did not answer",
           found_.silent.size() == 1 ? "1 process" : fmt::format("{} processes", found_.silent.size()));
      for (const RasFindings::Silent& one : found_.silent)
        line("  {} {}", one.pid != 0 ? fmt::format("Process {}", one.pid) : "A process", one.why);
      line("");
    }
    each([this](const RasComm& comm, const std::string& name) { write_errors(comm, name); });
  }

  void write_errors(const RasComm& comm, const std::string& name) {
    if (comm.has(RasTrouble::Incomplete)) {
      line("{} INCOMPLETE", name);
      for (const RasAbsent& absent : comm.absent)
        if (!absent.has_answered) line("  Rank {} -- process {} {}", absent.rank, absent.pid, absent.why);
      line("");
    }
    if (!comm.has(RasTrouble::Error)) return;
    line("{} ERROR", name);
    std::map<std::pair<Code, std::string>, std::vector<int>> failures;
    for (const RasMember& member : comm.members)
      if (member.rank->failure != Code::Ok)
        failures[{member.rank->failure, member.rank->failure_text}].push_back(member.rank->rank);
    for (const auto& [failure, ranks] : failures)
      line("  {} failed with {}: {}", in_ranks(ranks), code_name(failure.first), in_one_line(failure.second));
    line("");
  }

  void warn(const RasComm& comm, const std::string& name) {
    if (comm.has(RasTrouble::Mismatch)) {
      line("{} MISMATCH", name);
      write_states(comm);
      write_counts(comm);
      write_calls(comm);
      line("");
    }
    write_waits(comm, name);
  }

  void write_states(const RasComm& comm) {
    if ((comm.states & (comm.states - 1)) == 0) return;
    line("  Communicator ranks have different status");
    std::map<RasState, std::vector<int>> by_state;
    for (const RasMember& member : comm.members) by_state[member.state()].push_back(member.rank->rank);
    for (const RasAbsent& absent : comm.absent)
      if (absent.has_answered) by_state[RasState::NoComm].push_back(absent.rank);
    for (const auto& [state, ranks] : by_state) line("  {}: {}", state_name(state), ranks_text(ranks));
  }

  using Ranks = std::vector<const RasMember*>;

  /// The ranks that are furthest first.
  void write_counts(const RasComm& comm) {
    std::map<uint32_t, Ranks, std::greater<>> by_latest;
    for (const RasMember& member : comm.members) by_latest[member.rank->latest].push_back(&member);
    if (by_latest.size() == 1) return;
    line("  Communicator ranks have begun different numbers of calls");
    for (const auto& [latest, members] : by_latest) write_count(comm, latest, members);
    const Ranks& furthest = by_latest.begin()->second;
    const bool is_new = std::all_of(furthest.begin(), furthest.end(), [](const RasMember* member) {
      return member->rank->begun_ms < kLong_ms;
    });
    if (is_new && !comm.has(RasTrouble::Error))
      line("  The latest call began less than a second ago: ask again, the numbers may grow");
  }

  void write_count(const RasComm& comm, uint32_t latest, const Ranks& members) {
    const uint32_t lag = comm.latest - latest;
    const std::string behind = lag == 0   ? "the latest"
                               : lag == 1 ? "1 call behind"
                                          : fmt::format("{} calls behind", lag);
    line("  {} begun {} calls, {}: {}", has_ranks(members.size()), latest, behind,
         ranks_text(numbers(members)));
    if (lag == 0) return line("    The first of them {}", activity_text(*members.front()->rank));
    write_members(members);
  }

  static std::string has_ranks(size_t count) {
    return count == 1 ? "1 rank has" : fmt::format("{} ranks have", count);
  }
  static std::vector<int> numbers(const Ranks& members) {
    std::vector<int> ranks;
    for (const RasMember* member : members) ranks.push_back(member->rank->rank);
    return ranks;
  }

  void write_members(const Ranks& members) {
    const size_t named = detail_.verbose ? members.size() : std::min(members.size(), kMaxNamed);
    for (size_t at = 0; at < named; ++at) write_member("    ", *members[at]);
    if (named < members.size()) line("    and {} more, which VERBOSE STATUS has", members.size() - named);
  }

  void write_member(const char* indent, const RasMember& member) {
    const RasRank& rank = *member.rank;
    const std::string device = rank.device < 0 ? "no GPU" : fmt::format("GPU {}", rank.device);
    line("{}Rank {} -- {}, process {} on node {}: {}", indent, rank.rank, device, member.process->pid,
         in_one_line(member.process->host), in_one_line(activity_text(rank)));
  }

  /// Ranks that call different functions, or the same with different arguments.
  void write_calls(const RasComm& comm) {
    std::map<uint32_t, std::map<uint64_t, Ranks>> by_call;
    for (const RasMember& member : comm.members)
      if (!member.rank->call.empty()) by_call[member.rank->latest][member.rank->call_key].push_back(&member);
    for (const auto& [latest, by_key] : by_call) {
      if (by_key.size() == 1) continue;
      line("  Communicator ranks have made different calls as call {}", latest);
      for (const auto& [key, members] : by_key)
        line("  {}: {}", ranks_text(numbers(members)), in_one_line(members.front()->rank->call));
    }
  }

  /// Ranks that have long waited for one that says nothing here, or for one another.
  void write_waits(const RasComm& comm, const std::string& name) {
    if (comm.has(RasTrouble::Mismatch) || comm.has(RasTrouble::Error)) return;
    Ranks waiting;
    for (const RasMember& member : comm.members)
      if (member.rank->waited_ms() >= kLong_ms || !member.rank->messages.empty()) waiting.push_back(&member);
    if (waiting.empty()) return;
    line("{} WAITS\n  {}", name, ranks_text(numbers(waiting)));
    write_members(waiting);
    line("");
  }

  void write_ranks() {
    heading("Ranks");
    each([this](const RasComm& comm, const std::string& name) {
      line("{}", name);
      for (const RasMember& member : comm.members) write_member("  ", member);
      for (const RasAbsent& absent : comm.absent)
        line("  Rank {} -- process {} {}", absent.rank, absent.pid, absent.why);
      if (comm.elsewhere() > 0) line("  {} more on other nodes", comm.elsewhere());
      line("");
    });
  }

  static std::string in_ranks(const std::vector<int>& ranks) {
    std::string text = ranks_text(ranks);
    text.front() = 'R';
    return text;
  }

  const RasOptions& options_;
  const RasFindings& found_;
  const RasDetail detail_;
  const RasView view_;
  std::string text_;
};

}  // namespace

std::vector<std::string> ras_notes(const RasView& view, const RasFindings& found, const RasDetail& detail) {
  std::vector<std::string> notes{
      "Only processes of this user on this node are asked, and only those that use Rondo's libnccl.so.2."};
  if (view.spread != 0)
    notes.push_back(fmt::format("{} {} ranks on other nodes: ask there too.", view.spread,
                                view.spread == 1 ? "communicator has" : "communicators have"));
  if (view.omitted != 0)
    notes.push_back(
        fmt::format("Processes have not told of {} of their parts in communicators.", view.omitted));
  if (!found.all_listed)
    notes.emplace_back("Not all processes are known: /proc/net/unix cannot be read, or is too long.");
  notes.emplace_back("Communicators that are still being made, or have ended at all ranks, are not shown.");
  if (detail.summary_only)
    notes.emplace_back("Which user asks cannot be told, so this is the summary alone.");
  return notes;
}

std::string ras_text(const RasOptions& options, const RasFindings& found, const RasDetail& detail) {
  return TextReport(options, found, detail).written();
}

}  // namespace rondo
