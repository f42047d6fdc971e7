// SPDX-License-Identifier: Apache-2.0
#include "fold_lanes.h"

namespace rondo::device {
namespace {

/// On booleans every operation is one of three; a sum is `or`.
RONDO_DEVICE bool fold_booleans(const FoldTask& task, LaneIndex lane) {
  if (task.nsources == 1) return fold_one<Bool8>(task, lane);
  switch (task.op) {
    case Reduction::Prod:
    case Reduction::Min:
    case Reduction::BitAnd:
    case Reduction::LogicalAnd: return fold_with<Bool8, Reduction::LogicalAnd>(task, lane);
    case Reduction::BitXor:
    case Reduction::LogicalXor: return fold_with<Bool8, Reduction::LogicalXor>(task, lane);
    default: return fold_with<Bool8, Reduction::Sum>(task, lane);
  }
}

}  // namespace

RONDO_DEVICE_CALLED bool fold_short_integers(const FoldTask& task, LaneIndex lane) {
  switch (task.type) {
    case ElementType::Int8: return fold_integers<int8_t>(task, lane);
    case ElementType::UInt8: return fold_integers<uint8_t>(task, lane);
    case ElementType::Int16: return fold_integers<int16_t>(task, lane);
    case ElementType::UInt16: return fold_integers<uint16_t>(task, lane);
    default: return fold_booleans(task, lane);
  }
}

}  // namespace rondo::device
