// SPDX-License-Identifier: Apache-2.0
#include "base/reduction.h"

namespace rondo {

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

}  // namespace rondo
