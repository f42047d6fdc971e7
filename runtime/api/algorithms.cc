// SPDX-License-Identifier: Apache-2.0
// The C API's queries about algorithms: their names, and why a call uses which one.
#include <map>

#include "algorithms/algorithm.h"
#include "base/collective.h"
#include "call/check.h"
#include "handles.h"
#include "plan/selector.h"

namespace {

using namespace rondo;
using api::guarded;

Result<CollectiveKind> kind_of(const char* collective) {
  if (collective == nullptr) return api::null_argument("collective");
  if (const auto kind = collective_by_name(collective)) return *kind;
  return error(Code::InvalidArgument, "collective: {}", no_collective(collective));
}

}  // namespace

rondo_status_t rondo_explain(rondo_comm_t comm, const char* collective, size_t count, rondo_type_t type,
                             rondo_op_t op, int root, const char** text) {
  return guarded("rondo_explain", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Communicator* const of, api::live(comm));
    if (text == nullptr) return api::null_argument("text");
    RONDO_TRY_ASSIGN(const CollectiveKind kind, kind_of(collective));
    const CallRequest request{.kind = kind, .count = count, .type = type, .op = op, .root = root};
    RONDO_TRY_ASSIGN(const Call call, checked_without_buffers(request, of->size()));
    thread_local std::string latest;
    RONDO_TRY_ASSIGN(latest, explain(of->options().selector, call, of->links().shape(call), of->executors()));
    if (const std::string connections = of->connections().describe(); !connections.empty())
      latest += fmt::format("rank {} is connected to\n{}", of->rank(), connections);
    *text = latest.c_str();
    return {};
  });
}

rondo_status_t rondo_algorithm_names(const char* collective, const char** names) {
  return guarded("rondo_algorithm_names", nullptr, [&]() -> Status {
    RONDO_TRY_ASSIGN(const CollectiveKind kind, kind_of(collective));
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
