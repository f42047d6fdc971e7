// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

namespace rondo::device {

RONDO_DEVICE_CALLED bool fold(const FoldTask& task, LaneIndex lane) {
  if (task.nsources == 1 && task.scaled == 0 && task.divisor == 1) return copy(task, lane);
  switch (task.type) {
    case ElementType::Int8:
    case ElementType::UInt8:
    case ElementType::Int16:
    case ElementType::UInt16:
    case ElementType::Bool: return fold_short_integers(task, lane);
    case ElementType::Int32:
    case ElementType::UInt32:
    case ElementType::Int64:
    case ElementType::UInt64: return fold_long_integers(task, lane);
    case ElementType::Float32:
    case ElementType::Float64:
    case ElementType::Complex64:
    case ElementType::Complex128: return fold_floats(task, lane);
#define X(storage, ...) case ElementType::storage:
      RONDO_SMALL_FLOATS(X)
#undef X
      return fold_small_floats(task, lane);
  }
  return true;
}

}  // namespace rondo::device
