// SPDX-License-Identifier: Apache-2.0
#include "fold_lanes.h"

namespace rondo::device {

RONDO_DEVICE_CALLED bool fold_small_floats(const FoldTask& task, LaneIndex lane) {
  switch (task.type) {
    case ElementType::Float16: return fold_ordered<Float16>(task, lane);
    case ElementType::BFloat16: return fold_ordered<BFloat16>(task, lane);
    case ElementType::Float8E4M3: return fold_ordered<Float8E4M3>(task, lane);
    default: return fold_ordered<Float8E5M2>(task, lane);
  }
}

}  // namespace rondo::device
