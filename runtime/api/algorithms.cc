// The C API's questions about algorithms: which there are, and why a call goes by which.
#include <map>

#include "algorithms/algorithm.h"
#include "base/collective_names.h"
#include "comm/explanation.h"
#include "comm/types.h"
#include "handles.h"

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
    RONDO_TRY_ASSIGN(const Communicator* of, api::live(comm));
    if (text == nullptr) return api::null_argument("text");
    RONDO_TRY_ASSIGN(const CollectiveKind kind, kind_of(collective));
    Call call = PlainCall{.kind = kind, .count = count, .root = root}.call();
    RONDO_TRY_ASSIGN(call.type, find_type(type));
    if (reduces(kind)) {
      RONDO_TRY_ASSIGN(call.op, find_op(op, call.type));
    }
    RONDO_TRY(check_meaning(call, of->size()));
    thread_local std::string latest;
    RONDO_TRY_ASSIGN(latest, explain(of->options().selector, call,
                                     {.links = of->links(),
                                      .slot_bytes = of->params().slot_bytes,
                                      .exchange = of->exchange_terms(call.kind)}));
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
