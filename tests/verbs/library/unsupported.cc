// SPDX-License-Identifier: Apache-2.0
// What programs that are linked with libibverbs may name, and no RC connection needs.
#include <cerrno>

#include "context.h"

using namespace rondo::fabric;

EXPORTED ibv_srq* ibv_create_srq(ibv_pd*, ibv_srq_init_attr*) { return refuse(EOPNOTSUPP); }
EXPORTED int ibv_modify_srq(ibv_srq*, ibv_srq_attr*, int) { return EOPNOTSUPP; }
EXPORTED int ibv_query_srq(ibv_srq*, ibv_srq_attr*) { return EOPNOTSUPP; }
EXPORTED int ibv_destroy_srq(ibv_srq*) { return EOPNOTSUPP; }
EXPORTED ibv_ah* ibv_create_ah(ibv_pd*, ibv_ah_attr*) { return refuse(EOPNOTSUPP); }
EXPORTED int ibv_destroy_ah(ibv_ah*) { return EOPNOTSUPP; }
EXPORTED int ibv_rereg_mr(ibv_mr*, int, ibv_pd*, void*, size_t, int) { return EOPNOTSUPP; }
EXPORTED int ibv_attach_mcast(ibv_qp*, const ibv_gid*, uint16_t) { return EOPNOTSUPP; }
EXPORTED int ibv_detach_mcast(ibv_qp*, const ibv_gid*, uint16_t) { return EOPNOTSUPP; }
EXPORTED ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp*) { return nullptr; }
