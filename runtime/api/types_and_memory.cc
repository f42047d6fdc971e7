// SPDX-License-Identifier: Apache-2.0
// The C API's types, operations and memory.
#include "call/user_memory.h"
#include "call/user_types.h"
#include "handles.h"

namespace {

using namespace rondo;
using api::guarded;

// The constants that users compile in must match the tables.
#define X(enumerator, constant, ...) \
  static_assert(RONDO_##constant == static_cast<int>(ElementType::enumerator));
RONDO_ELEMENT_TYPES(X)
#undef X
static_assert(RONDO_LOGICAL_XOR == static_cast<int>(Reduction::LogicalXor) &&
              RONDO_LOGICAL_XOR + 1 == kReductions);
static_assert(RONDO_AVG == static_cast<int>(Reduction::Avg) && RONDO_MIN == static_cast<int>(Reduction::Min));
static_assert(RONDO_OUT_OF_MEMORY == static_cast<int>(Code::OutOfMemory));
static_assert(RONDO_TIMEOUT == static_cast<int>(Code::Timeout));

}  // namespace

rondo_status_t rondo_type_size(rondo_type_t type, size_t* bytes) {
  return guarded("rondo_type_size", nullptr, [&]() -> Status {
    if (bytes == nullptr) return api::null_argument("bytes");
    RONDO_TRY_ASSIGN(const CallType known, find_type(type));
    *bytes = known.bytes;
    return {};
  });
}

rondo_status_t rondo_type_create(size_t bytes, rondo_type_t* type) {
  return guarded("rondo_type_create", nullptr, [&]() -> Status {
    if (type == nullptr) return api::null_argument("type");
    RONDO_TRY_ASSIGN(*type, make_type(bytes));
    return {};
  });
}

rondo_status_t rondo_type_destroy(rondo_type_t type) {
  return guarded("rondo_type_destroy", nullptr, [&] { return forget_type(type); });
}

rondo_status_t rondo_op_create(rondo_reduce_fn fn, int commutative, void* user, rondo_op_t* op) {
  return guarded("rondo_op_create", nullptr, [&]() -> Status {
    if (op == nullptr) return api::null_argument("op");
    RONDO_TRY_ASSIGN(*op, make_op(fn, commutative != 0, user));
    return {};
  });
}

rondo_status_t rondo_op_create_premul_sum(const void* scalar, rondo_type_t type, rondo_op_t* op) {
  return guarded("rondo_op_create_premul_sum", nullptr, [&]() -> Status {
    if (op == nullptr) return api::null_argument("op");
    RONDO_TRY_ASSIGN(*op, make_premul_sum(scalar, type));
    return {};
  });
}

rondo_status_t rondo_op_destroy(rondo_op_t op) {
  return guarded("rondo_op_destroy", nullptr, [&] { return forget_op(op); });
}

rondo_status_t rondo_mem_alloc(void** ptr, size_t bytes) {
  return guarded("rondo_mem_alloc", nullptr, [&]() -> Status {
    if (ptr == nullptr) return api::null_argument("ptr");
    *ptr = nullptr;
    RONDO_TRY_ASSIGN(*ptr, allocate_shared(bytes));
    return {};
  });
}

rondo_status_t rondo_cuda_mem_alloc(void** ptr, size_t bytes, int device) {
  return guarded("rondo_cuda_mem_alloc", nullptr, [&]() -> Status {
    if (ptr == nullptr) return api::null_argument("ptr");
    *ptr = nullptr;
    RONDO_TRY_ASSIGN(*ptr, allocate_on_gpu(bytes, device));
    return {};
  });
}

rondo_status_t rondo_mem_free(void* ptr) {
  return guarded("rondo_mem_free", nullptr, [&] { return free_allocated(ptr); });
}

rondo_status_t rondo_register(rondo_comm_t comm, void* ptr, size_t bytes, void** handle) {
  return guarded("rondo_register", comm, [&]() -> Status {
    if (handle == nullptr) return api::null_argument("handle");
    *handle = nullptr;
    RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
    RONDO_TRY_ASSIGN(*handle, communicator->register_memory(ptr, bytes));
    return {};
  });
}

rondo_status_t rondo_deregister(rondo_comm_t comm, void* handle) {
  return guarded("rondo_deregister", comm, [&]() -> Status {
    if (comm == nullptr || comm->mark != api::kCommMark) return api::live(comm).status();
    return comm->communicator->deregister_memory(handle);
  });
}
