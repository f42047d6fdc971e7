// SPDX-License-Identifier: Apache-2.0
#include "fold_lanes.h"

namespace rondo::device {

RONDO_DEVICE_CALLED bool fold_small_floats(const FoldTask& task, LaneIndex lane) {
  switch (task.type) {
#define X(storage, ...) \
  case ElementType::storage: return fold_ordered<storage>(task, lane);
    RONDO_SMALL_FLOATS(X)
#undef X
    default: return true;
  }
}

}  // namespace rondo::device
