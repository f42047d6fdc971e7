// SPDX-License-Identifier: Apache-2.0
// fold() of the simulated machine: the order of messages does not depend on the type of elements, so programs
// there use one type. The folds of all types take a minute to compile; kernels/cuda/twin has them.
#include <stdexcept>

#include "copy.cu"
#include "fold_long_integers.cu"

namespace rondo::device {

bool fold(const FoldTask& task, LaneIndex lane) {
  if (task.nsources == 1 && task.scaled == 0 && task.divisor == 1) return copy(task, lane);
  if (task.type != ElementType::Int32) throw std::logic_error("the simulated machine folds int32 only");
  return fold_long_integers(task, lane);
}

}  // namespace rondo::device
