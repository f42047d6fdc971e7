// SPDX-License-Identifier: Apache-2.0
// Translates NCCL's type and operation codes to the runtime's. Pure functions.
#pragma once

#include "comm.h"

namespace rondo::nccl {

Outcome type_of(ncclDataType_t datatype, rondo_type_t& out);
/// One of NCCL's five, or one created for this communicator.
Outcome op_of(ncclComm& comm, ncclRedOp_t op, rondo_op_t& out);

}  // namespace rondo::nccl
