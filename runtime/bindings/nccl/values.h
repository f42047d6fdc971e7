// NCCL's numbers of types and operations in the runtime's. Pure functions.
#pragma once

#include "comm.h"

namespace rondo::nccl {

Outcome type_of(ncclDataType_t datatype, rondo_type_t& out);
/// One of NCCL's five, or one that was made for this communicator.
Outcome op_of(ncclComm& comm, ncclRedOp_t op, rondo_op_t& out);

}  // namespace rondo::nccl
