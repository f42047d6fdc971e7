// SPDX-License-Identifier: Apache-2.0
#include "base/signature.h"

#include "base/element.h"
#include "base/error_kinds.h"
#include "base/reduction.h"
#include "base/signature_text.h"
#include "base/status.h"

namespace rondo {
namespace {

const char* function_of(CallPurpose purpose) {
  switch (purpose) {
    case CallPurpose::Collective: break;
    case CallPurpose::Split: return "rondo_split() or rondo_duplicate()";
    case CallPurpose::DetectHosts: return "rondo_topology_detect_all()";
  }
  return "?";
}

}  // namespace

std::string call_text(const Signature& s) {
  if (s.purpose != CallPurpose::Collective) return function_of(s.purpose);
  return std::string(collective_name(s.kind)) + (s.varying != 0 ? "_v" : "");
}

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

std::string describe(const Signature& s) {
  std::string text = call_text(s);
  if (s.purpose != CallPurpose::Collective) return fmt::format("{}, call {}", text, s.sequence);
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
  const bool is_same_call = a == same_plan;
  const char* hint = is_same_call
                         ? ", but with a different algorithm, executor or transport, different slot or "
                           "exchange sizes, different groups, or only one of them in reproducible mode"
                         : "";
  return error(is_same_call ? ErrorKind::SettingsDiffer : ErrorKind::RanksDisagree,
               "ranks disagree: rank {} called {}; rank {} called {}{}", rank_a, describe(a), rank_b,
               describe(b), hint);
}

Status never_called(int caller, int other, const Signature& call) {
  return error(ErrorKind::RanksDisagree, "ranks disagree: rank {} called {}, which rank {} never called",
               caller, describe(call), other);
}

}  // namespace rondo
