// SPDX-License-Identifier: Apache-2.0
// The C API's queries about algorithms: their names, and why a call uses which one.
#include <algorithm>
#include <map>

#include "algorithms/algorithm.h"
#include "base/collective.h"
#include "base/error_kinds.h"
#include "call/check.h"
#include "handles.h"
#include "plan/selector.h"
#include "rondo/plan.h"
#include "synthesis/found_time.h"

namespace {

using namespace rondo;
using api::guarded;

/// How long the plan takes on the links that it was made for, as rondo_plan_explain() says it; empty if it
/// was made for none.
std::string on_links(const Communicator& of, const Algorithm& algorithm, const Call& call) {
  constexpr rondo_plan_network_t kNetwork = RONDO_PLAN_NETWORK_INITIALIZER;
  const FoundPlans* const plans = of.options().selector.found_plans().get();
  if (plans == nullptr || of.size() < 2 || !FoundPlans::have(call.kind, algorithm.name)) return "";
  const int slots = std::max(kNetwork.slots, algorithm.slots);
  const auto bytes = static_cast<double>(call.vector_bytes(of.size()).value_or(0));
  const auto time = time_on_links(plans->ranks(), algorithm, of.links().shape(call), bytes, RONDO_PLAN_TILES,
                                  kNetwork.latency, slots);
  if (!time.ok()) return "";
  return fmt::format(
      "predicted on the links of the ranks' GPUs, {:g} us of latency, {} slots of each connection, in {} "
      "tiles\n{}",
      kNetwork.latency * 1e6, slots, RONDO_PLAN_TILES, text_of(time.value()));
}

}  // namespace

Result<CollectiveKind> rondo::api::kind_of(const char* collective) {
  if (collective == nullptr) return null_argument("collective");
  if (const auto kind = collective_by_name(collective)) return *kind;
  return error(ErrorKind::NameUnknown, "collective: {}", no_collective(collective));
}

rondo_status_t rondo_explain(rondo_comm_t comm, const char* collective, size_t count, rondo_type_t type,
                             rondo_op_t op, int root, const char** text) {
  return guarded("rondo_explain", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Communicator* const of, api::live(comm));
    if (text == nullptr) return api::null_argument("text");
    RONDO_TRY_ASSIGN(const CollectiveKind kind, api::kind_of(collective));
    const CallRequest request{.kind = kind, .count = count, .type = type, .op = op, .root = root};
    RONDO_TRY_ASSIGN(const Call call, checked_without_buffers(request, of->size()));
    thread_local std::string latest;
    RONDO_TRY_ASSIGN(Choice made,
                     explain(of->options().selector, call, of->links().shape(call), of->executors()));
    latest = std::move(made.text) + on_links(*of, *made.algorithm, call);
    if (const std::string connections = of->connections().describe(); !connections.empty())
      latest += fmt::format("rank {} is connected to\n{}", of->rank(), connections);
    *text = latest.c_str();
    return {};
  });
}

rondo_status_t rondo_algorithm_names(const char* collective, const char** names) {
  return guarded("rondo_algorithm_names", nullptr, [&]() -> Status {
    RONDO_TRY_ASSIGN(const CollectiveKind kind, api::kind_of(collective));
    if (names == nullptr) return api::null_argument("names");
    static const auto& lists = *new std::map<CollectiveKind, std::string>([] {
      std::map<CollectiveKind, std::string> made;
      for (const Algorithm& row : algorithms()) {
        std::string& list = made[row.kind];
        list += (list.empty() ? "" : ",") + std::string(row.name);
      }
      return made;
    }());
    *names = lists.at(kind).c_str();
    return {};
  });
}
