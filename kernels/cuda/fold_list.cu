// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

namespace rondo::device {

RONDO_DEVICE_CALLED void fold_all(const FoldList& list, void* const* pointers, LaneIndex lane) {
  for (uint32_t i = 0; i < list.nfolds; ++i) {
    const FoldList::Fold& one = list.folds[i];
    FoldTask task;
    task.sources = pointers + one.sources;
    task.nsources = one.nsources;
    task.outs = pointers + one.outs;
    task.nouts = one.nouts;
    task.count = one.count;
    task.type = list.type;
    task.op = list.op;
    task.divisor = list.divisor;
    task.scaled = one.scaled;
    task.scalars = list.scalars;
    fold(task, lane);
  }
}

}  // namespace rondo::device
