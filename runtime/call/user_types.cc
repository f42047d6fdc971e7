// SPDX-License-Identifier: Apache-2.0
#include "call/user_types.h"

#include <cstring>
#include <map>
#include <mutex>

#include "base/error_kinds.h"
#include "gpu/device.h"
#include "gpu/memory.h"

namespace rondo {
namespace {

constexpr int kFirstHandle = 1024;                 // well above the built-in ones
constexpr size_t kMaxTypeBytes = size_t{1} << 30;  // the maximum slot size

struct UserOp {
  CallOp op;
  int type = -1;  // pre-multiplied sums: the type of the scalar
};

struct Registry {
  std::mutex mutex;
  int next = kFirstHandle;
  std::map<int, CallType> types;
  std::map<int, UserOp> ops;
};

Registry& registry() {
  static auto& one = *new Registry;
  return one;
}

Status no_type(int handle) {
  return error(ErrorKind::NoSuchHandle,
               "type is {}: it must be one of rondo.h's types, 0 to {}, or from rondo_type_create()", handle,
               kElementTypes - 1);
}

Status no_op(int handle) {
  return error(ErrorKind::NoSuchHandle,
               "op is {}: it must be one of RONDO_SUM to RONDO_LOGICAL_XOR or from rondo_op_create()",
               handle);
}

/// Copies a scalar from host or device memory.
Status read_scalar(void* to, const void* from, size_t bytes) {
  RONDO_TRY_ASSIGN(const gpu::Place place, gpu::place_of(from));
  if (place.kind != gpu::Place::Kind::Device) {
    std::memcpy(to, from, bytes);
    return {};
  }
  const gpu::Current current(place.device);
  RONDO_TRY(current.status());
  return gpu::copy(to, from, bytes);
}

}  // namespace

Result<CallType> find_made_type(int handle) {
  std::lock_guard lock(registry().mutex);
  const auto found = registry().types.find(handle);
  if (found == registry().types.end()) return no_type(handle);
  return found->second;
}

Result<int> make_type(size_t bytes) {
  if (bytes < 1 || bytes > kMaxTypeBytes)
    return error(Code::InvalidArgument, "bytes is {}: a type has from 1 to {} bytes", bytes, kMaxTypeBytes);
  std::lock_guard lock(registry().mutex);
  const int handle = registry().next++;
  registry().types[handle] = {static_cast<uint32_t>(handle), static_cast<uint32_t>(bytes)};
  return handle;
}

Status forget_type(int handle) {
  std::lock_guard lock(registry().mutex);
  return registry().types.erase(handle) == 1 ? Status() : no_type(handle);
}

Result<CallOp> find_op(int handle, const CallType& type) {
  if (handle >= 0 && handle < kReductions) return CallOp::of(static_cast<Reduction>(handle));
  std::lock_guard lock(registry().mutex);
  const auto found = registry().ops.find(handle);
  if (found == registry().ops.end()) return no_op(handle);
  const UserOp& user = found->second;
  if (user.type >= 0 && static_cast<uint32_t>(user.type) != type.id)
    return error(ErrorKind::OpNotOfType,
                 "op is a pre-multiplied sum for type {}, and the call's type is another one",
                 element_info(static_cast<ElementType>(user.type)).name);
  return user.op;
}

Result<int> make_op(ReduceFunction function, bool commutative, void* user) {
  if (function == nullptr)
    return Status(ErrorKind::NullArgument, "fn is NULL: an operation needs a function");
  UserOp made;
  made.op.function = function;
  made.op.user = user;
  made.op.commutative = commutative;
  std::lock_guard lock(registry().mutex);
  const int handle = registry().next++;
  made.op.id = static_cast<uint32_t>(handle);
  registry().ops[handle] = made;
  return handle;
}

Result<int> make_premul_sum(const void* scalar, int type) {
  if (scalar == nullptr)
    return Status(ErrorKind::NullArgument, "scalar is NULL: it must point to one element");
  if (type < 0 || type >= kElementTypes || static_cast<ElementType>(type) == ElementType::Bool)
    return error(ErrorKind::OpNotOfType,
                 "type is {}: a pre-multiplied sum needs a built-in type other than bool", type);
  UserOp made;
  made.type = type;
  made.op.scales_input = true;
  RONDO_TRY(read_scalar(made.op.scalar, scalar, element_info(static_cast<ElementType>(type)).bytes));
  std::lock_guard lock(registry().mutex);
  const int handle = registry().next++;
  made.op.id = static_cast<uint32_t>(handle);
  registry().ops[handle] = made;
  return handle;
}

Status forget_op(int handle) {
  std::lock_guard lock(registry().mutex);
  return registry().ops.erase(handle) == 1 ? Status() : no_op(handle);
}

}  // namespace rondo
