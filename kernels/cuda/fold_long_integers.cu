// SPDX-License-Identifier: Apache-2.0
#include "fold_lanes.h"

namespace rondo::device {

RONDO_DEVICE_CALLED bool fold_long_integers(const FoldTask& task, LaneIndex lane) {
  switch (task.type) {
    case ElementType::Int32: return fold_integers<int32_t>(task, lane);
    case ElementType::UInt32: return fold_integers<uint32_t>(task, lane);
    case ElementType::Int64: return fold_integers<int64_t>(task, lane);
    default: return fold_integers<uint64_t>(task, lane);
  }
}

}  // namespace rondo::device
