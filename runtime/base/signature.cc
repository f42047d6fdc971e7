#include "base/signature.h"

#include <fmt/ranges.h>

#include <vector>

#include "base/collective_names.h"
#include "base/element.h"
#include "base/reduction.h"
#include "base/status.h"
#include "base/words.h"

namespace rondo {
namespace {

std::string type_text(const Signature& s) {
  if (s.type < static_cast<uint32_t>(kElementTypes))
    return std::string(element_info(static_cast<ElementType>(s.type)).name);
  return fmt::format("user type of {} bytes", s.type_bytes);
}

std::string op_text(const Signature& s) {
  if (s.op < static_cast<uint32_t>(kReductions))
    return std::string(reduction_name(static_cast<Reduction>(s.op)));
  return s.op == kPremulSum ? "pre-multiplied sum" : "user-defined operation";
}

}  // namespace

std::string_view collective_name(CollectiveKind kind) {
  switch (kind) {
#define X(enumerator, name) \
  case CollectiveKind::enumerator: return name;
    RONDO_COLLECTIVES(X)
#undef X
    case CollectiveKind::PointToPoint: return "send/recv";
  }
  return "an unknown collective";
}

std::optional<CollectiveKind> collective_by_name(std::string_view name) {
  const std::string plain = plain_name(name);
  for (int i = 0; i < kCollectives; ++i)
    if (plain_name(collective_name(static_cast<CollectiveKind>(i))) == plain)
      return static_cast<CollectiveKind>(i);
  if (plain == "bcast") return CollectiveKind::Broadcast;
  return std::nullopt;
}

std::string no_collective(std::string_view name) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kCollectives; ++i) names.push_back(collective_name(static_cast<CollectiveKind>(i)));
  return fmt::format("there is no collective '{}'; there are {}{}", name, fmt::join(names, ", "),
                     did_you_mean(name, names));
}

std::string describe(const Signature& s) {
  std::string text(collective_name(s.kind));
  if (s.varying) text += "_v";
  const char* where = s.on_gpu != 0 ? " on GPUs" : "";
  if (s.kind == CollectiveKind::Barrier) return fmt::format("{}(){}, call {}", text, where, s.sequence);
  text += s.varying ? fmt::format("({} elements in this message, ", s.count)
                    : fmt::format("(count={}, ", s.count);
  text += type_text(s);
  if (reduces(s.kind)) text += ", " + op_text(s);
  if (has_root(s.kind)) text += fmt::format(", root={}", s.root);
  return text + fmt::format("){}, call {}", where, s.sequence);
}

Status mismatch(int rank_a, const Signature& a, int rank_b, const Signature& b) {
  Signature same_plan = b;
  same_plan.plan = a.plan;
  const char* hint = a == same_plan ? ", but by another algorithm or another transport, with other sizes of "
                                      "slots, in other groups, or not both reproducibly"
                                    : "";
  return error(Code::Mismatch, "ranks disagree: rank {} called {}; rank {} called {}{}", rank_a, describe(a),
               rank_b, describe(b), hint);
}

Status never_called(int caller, int other, const Signature& call) {
  return error(Code::Mismatch, "ranks disagree: rank {} called {}, which rank {} never called", caller,
               describe(call), other);
}

}  // namespace rondo
