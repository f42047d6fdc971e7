// SPDX-License-Identifier: Apache-2.0
#include "base/association.h"

namespace rondo {
namespace {

bool is_exact(Reduction op) { return op != Reduction::Sum && op != Reduction::Prod && op != Reduction::Avg; }

/// Floats that are accumulated in a wider type.
bool is_small_float(const ElementInfo& info) { return info.kind == ElementClass::Float && info.bytes <= 2; }

}  // namespace

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
