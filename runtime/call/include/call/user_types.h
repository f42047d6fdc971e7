// SPDX-License-Identifier: Apache-2.0
// User-defined types and operations, by their C API handles. Any thread.
#pragma once

#include "base/element.h"
#include "base/reduction.h"
#include "base/status.h"

namespace rondo {

/// A type that make_type() made; InvalidArgument if there is none.
Result<CallType> find_made_type(int handle);
/// The type of a handle; InvalidArgument if there is none.
inline Result<CallType> find_type(int handle) {
  if (handle >= 0 && handle < kElementTypes) [[likely]]
    return CallType::of(static_cast<ElementType>(handle));
  return find_made_type(handle);
}
Result<int> make_type(size_t bytes);
Status forget_type(int handle);

/// The operation of a handle, for a call of that type; InvalidArgument if there is none or if it is for
/// another type.
Result<CallOp> find_op(int handle, const CallType& type);
Result<int> make_op(ReduceFunction function, bool commutative, void* user);
Result<int> make_premul_sum(const void* scalar, int type);
Status forget_op(int handle);

}  // namespace rondo
