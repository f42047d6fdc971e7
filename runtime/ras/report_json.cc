// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <time.h>

#include <array>
#include <utility>

#include "base/json_text.h"
#include "report.h"

namespace rondo {
namespace {

/// NCCL's names of those that it has too, in its order.
constexpr std::array<std::pair<CollectiveKind, const char*>, 8> kNames{{
    {CollectiveKind::Broadcast, "Broadcast"},
    {CollectiveKind::Reduce, "Reduce"},
    {CollectiveKind::AllGather, "AllGather"},
    {CollectiveKind::ReduceScatter, "ReduceScatter"},
    {CollectiveKind::AllReduce, "AllReduce"},
    {CollectiveKind::AllToAll, "AlltoAll"},
    {CollectiveKind::Gather, "Gather"},
    {CollectiveKind::Scatter, "Scatter"},
}};

const char* bool_text(bool value) { return value ? "true" : "false"; }

std::string local_time() {
  const time_t now = ::time(nullptr);
  tm parts{};
  std::array<char, 32> text{};
  ::localtime_r(&now, &parts);
  ::strftime(text.data(), text.size(), "%F %T", &parts);
  return text.data();
}

template <typename Items, typename Object>
std::string json_array(const Items& items, const char* indent, const Object& object) {
  std::vector<std::string> objects;
  for (const auto& item : items) objects.push_back(indent + object(item));
  return objects.empty() ? "[]" : fmt::format("[\n{}\n{}]", fmt::join(objects, ",\n"), indent + 2);
}

std::string counts_object(const RasRank& rank) {
  std::vector<std::string> counts;
  for (const auto& [kind, name] : kNames)
    counts.push_back(fmt::format(R"("{}": {})", name, rank.calls[static_cast<size_t>(kind)]));
  return fmt::format("{{{}}}", fmt::join(counts, ", "));
}

/// `nvml_dev`: Rondo does not know it.
std::string member_object(const RasOptions& options, const RasMember& member) {
  const RasRank& rank = *member.rank;
  return fmt::format(
      R"({{"rank": {}, "host": {}, "pid": {}, "cuda_dev": {}, "nvml_dev": null, )"
      R"("status": {{"init_state": 0, "async_error": {}, "finalize_called": {}, "destroy_flag": false, )"
      R"("abort_flag": {}}}, "collective_counts": {}, "latest_call": {}, "activity": {}, "error": {}}})",
      rank.rank, json_string(member.process->host), member.process->pid, rank.device,
      options.nccl_result(rank.failure), bool_text(rank.finished),
      bool_text(member.state() == RasState::Abort), counts_object(rank), rank.latest,
      json_string(activity_text(rank)), rank.failure == Code::Ok ? "null" : json_string(rank.failure_text));
}

std::string absent_object(const RasAbsent& absent) {
  return fmt::format(
      R"({{"rank": {}, "pid": {}, "status": {{"unresponsive": {}, "considered_dead": false}}, "reason": {}}})",
      absent.rank, absent.pid, bool_text(!absent.has_answered), json_string(absent.why));
}

std::string comm_object(const RasOptions& options, const RasComm& comm) {
  const RasRank& any = comm.any();
  return fmt::format(
      R"({{"hash": "0x{:016x}", "secondary_hash": "0x{:016x}", "name": {}, "size": {}, "nodes": {}, )"
      R"("ranks_count": {}, "missing_ranks_count": {}, "ranks_on_other_nodes": {}, "state": "{}", )"
      R"("errors": "{}",)"
      "\n      \"ranks\": {},\n      \"missing_ranks\": {}}}",
      any.session, any.communicator, json_string(any.name), any.size, any.hosts, comm.members.size(),
      comm.absent.size(), comm.elsewhere(), comm.state_name(), comm.trouble_names(),
      json_array(comm.members, "        ", [&](const RasMember& one) { return member_object(options, one); }),
      json_array(comm.absent, "        ", absent_object));
}

std::vector<const RasComm*> shown(const RasView& view, const RasDetail& detail) {
  std::vector<const RasComm*> comms;
  for (const RasGroup& group : view.groups)
    for (const RasComm& comm : group.comms)
      if (!detail.summary_only) comms.push_back(&comm);
  return comms;
}

}  // namespace

std::string ras_json(const RasOptions& options, const RasFindings& found, const RasDetail& detail) {
  const RasView view = ras_view(found);
  size_t count = 0;
  for (const RasGroup& group : view.groups) count += group.comms.size();
  return fmt::format(
      "{{\n  \"product\": {},\n  \"nccl_version\": {},\n  \"cuda_runtime_version\": null,\n"
      "  \"cuda_driver_version\": null,\n  \"timestamp\": \"{}\",\n  \"jobs_count\": {},\n"
      "  \"processes_count\": {},\n  \"communicators_count\": {},\n  \"communicators\": {},\n"
      "  \"ras\": {{\"collection_time_sec\": {:.3f}, \"timeouts_count\": {}}},\n  \"notes\": {}\n}}\n",
      json_string(options.product), json_string(options.nccl_version), local_time(), view.jobs,
      view.processes, count,
      json_array(shown(view, detail), "    ",
                 [&](const RasComm* comm) { return comm_object(options, *comm); }),
      found.seconds, found.silent.size(), json_array(ras_notes(view, found, detail), "    ", json_string));
}

}  // namespace rondo
