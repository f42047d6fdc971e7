// SPDX-License-Identifier: Apache-2.0
// Types and operations, and ncclRedOp*().
#include "comm.h"

#include <array>

#include "group.h"

namespace rondo::nccl {
namespace {

constexpr auto kTypes = std::to_array<rondo_type_t>({
#define X(name, type) type,
    RONDO_NCCL_TYPES(X)
#undef X
});
constexpr std::array<rondo_op_t, 5> kOps = {RONDO_SUM, RONDO_PROD, RONDO_MAX, RONDO_MIN, RONDO_AVG};

Outcome no_op(int op) {
  return wrong(
      ncclInvalidArgument,
      "op is {}: it must be ncclSum to ncclAvg, or from ncclRedOpCreatePreMulSum() with this communicator",
      op);
}

Outcome create(ncclRedOp_t* op, const void* scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,
               ncclComm& comm) {
  if (op == nullptr) return null_argument("op");
  if (scalar == nullptr) return null_argument("scalar");
  if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate)
    return wrong(ncclInvalidArgument,
                 "residence is {}: it must be ncclScalarDevice or ncclScalarHostImmediate",
                 static_cast<int>(residence));
  rondo_type_t type = RONDO_INT8;
  RONDO_NCCL_TRY(type_of(datatype, type));
  rondo_op_t made = 0;
  RONDO_NCCL_TRY(outcome_of(rondo_op_create_premul_sum(scalar, type, &made)));
  const std::lock_guard lock(comm.mutex);
  comm.ops.insert(made);
  *op = static_cast<ncclRedOp_t>(made);
  return {};
}

Outcome destroy(ncclRedOp_t op, ncclComm& comm) {
  {
    const std::lock_guard lock(comm.mutex);
    if (comm.ops.erase(static_cast<int>(op)) == 0)
      return wrong(ncclInvalidArgument,
                   "op is {}, which is not from ncclRedOpCreatePreMulSum() with this communicator",
                   static_cast<int>(op));
  }
  return outcome_of(rondo_op_destroy(static_cast<int>(op)));  // calls already issued keep it
}

}  // namespace

Outcome type_of(ncclDataType_t datatype, rondo_type_t& out) {
  const auto index = static_cast<size_t>(datatype);
  if (index >= kTypes.size())
    return wrong(ncclInvalidArgument, "datatype is {}: it must be from 0 (ncclInt8) to {}",
                 static_cast<int>(datatype), kTypes.size() - 1);
  out = kTypes[index];
  return {};
}

Outcome op_of(ncclComm& comm, ncclRedOp_t op, rondo_op_t& out) {
  const auto index = static_cast<size_t>(op);
  if (index < kOps.size()) {
    out = kOps[index];
    return {};
  }
  const std::lock_guard lock(comm.mutex);
  if (comm.ops.count(static_cast<int>(op)) == 0) return no_op(static_cast<int>(op));
  out = static_cast<int>(op);
  return {};
}

}  // namespace rondo::nccl

using namespace rondo::nccl;

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return with("ncclRedOpCreatePreMulSum", comm,
              [&](ncclComm& known) { return create(op, scalar, datatype, residence, known); });
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return with_any("ncclRedOpDestroy", comm, [&](ncclComm& known) { return rondo::nccl::destroy(op, known); });
}

RONDO_NCCL_ALIAS(RedOpCreatePreMulSum);
RONDO_NCCL_ALIAS(RedOpDestroy);
