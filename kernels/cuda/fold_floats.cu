// SPDX-License-Identifier: Apache-2.0
#include "fold_lanes.h"

namespace rondo::device {

RONDO_DEVICE_CALLED bool fold_floats(const FoldTask& task, LaneIndex lane) {
  switch (task.type) {
    case ElementType::Float32: return fold_ordered<float>(task, lane);
    case ElementType::Float64: return fold_ordered<double>(task, lane);
    case ElementType::Complex64: return fold_arithmetic<Complex<float>>(task, lane);
    default: return fold_arithmetic<Complex<double>>(task, lane);
  }
}

}  // namespace rondo::device
