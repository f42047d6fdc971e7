// SPDX-License-Identifier: Apache-2.0
#include "base/reduction.h"

namespace rondo {
namespace {

bool is_exact(Reduction op) { return op != Reduction::Sum && op != Reduction::Prod && op != Reduction::Avg; }

/// Floats that are accumulated in a wider type.
bool is_small_float(const ElementInfo& info) { return info.kind == ElementClass::Float && info.bytes <= 2; }

}  // namespace

std::string_view reduction_name(Reduction reduction) {
  switch (reduction) {
#define X(enumerator, number, name) \
  case Reduction::enumerator: return name;
    RONDO_REDUCTIONS(X)
#undef X
  }
  return "an unknown reduction";
}

bool reduction_takes(Reduction reduction, ElementType type) {
  const ElementClass kind = element_info(type).kind;
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Prod: return true;
    case Reduction::Min:
    case Reduction::Max: return kind != ElementClass::Complex;
    case Reduction::Avg: return kind != ElementClass::Boolean;
    case Reduction::BitAnd:
    case Reduction::BitOr:
    case Reduction::BitXor:
    case Reduction::LogicalAnd:
    case Reduction::LogicalOr:
    case Reduction::LogicalXor: return kind == ElementClass::Integer || kind == ElementClass::Boolean;
  }
  return false;
}

std::string_view association_name(Association association) {
  switch (association) {
    case Association::Any: return "own order";
    case Association::RankOrder: return "rank order";
    case Association::OneFold: return "one fold";
  }
  return "an unknown order";
}

Association association_that_fixes_bits(const CallType& type, const CallOp& op) {
  if (op.function != nullptr) return Association::RankOrder;
  const ElementInfo& info = element_info(type.element());
  const bool rounds = info.kind == ElementClass::Float || info.kind == ElementClass::Complex;
  if (!rounds || is_exact(op.built_in)) return Association::Any;
  return is_small_float(info) ? Association::OneFold : Association::RankOrder;
}

}  // namespace rondo
