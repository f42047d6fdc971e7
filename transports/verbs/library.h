// SPDX-License-Identifier: Apache-2.0
// libibverbs, looked up at run time, so that one librondo serves machines with and without it. Most verbs are
// functions of the library; those of the fast path (posting, polling, arming) are inline functions of its
// header, which call the device's driver and need no symbol. Any thread.
#pragma once

#include <infiniband/verbs.h>

#include "base/status.h"

namespace rondo::verbs {

/// The function ibv_NAME and the version of its symbol. Older versions of a symbol take other structures.
#define RONDO_VERBS_FUNCTIONS(X)         \
  X(get_device_list, "IBVERBS_1.1")      \
  X(free_device_list, "IBVERBS_1.1")     \
  X(get_device_name, "IBVERBS_1.1")      \
  X(open_device, "IBVERBS_1.1")          \
  X(close_device, "IBVERBS_1.1")         \
  X(query_device, "IBVERBS_1.1")         \
  X(query_port, "IBVERBS_1.1")           \
  X(query_pkey, "IBVERBS_1.1")           \
  X(fork_init, "IBVERBS_1.1")            \
  X(alloc_pd, "IBVERBS_1.1")             \
  X(dealloc_pd, "IBVERBS_1.1")           \
  X(reg_mr_iova2, "IBVERBS_1.8")         \
  X(dereg_mr, "IBVERBS_1.1")             \
  X(create_comp_channel, "IBVERBS_1.0")  \
  X(destroy_comp_channel, "IBVERBS_1.0") \
  X(create_cq, "IBVERBS_1.1")            \
  X(destroy_cq, "IBVERBS_1.1")           \
  X(get_cq_event, "IBVERBS_1.1")         \
  X(ack_cq_events, "IBVERBS_1.1")        \
  X(create_qp, "IBVERBS_1.1")            \
  X(modify_qp, "IBVERBS_1.1")            \
  X(destroy_qp, "IBVERBS_1.1")           \
  X(wc_status_str, "IBVERBS_1.1")        \
  X(get_async_event, "IBVERBS_1.1")      \
  X(ack_async_event, "IBVERBS_1.1")

struct Library {
#define X(name, version) decltype(&::ibv_##name) name = nullptr;
  RONDO_VERBS_FUNCTIONS(X)
#undef X
  /// What the inline ibv_query_gid_table() of the header calls.
  decltype(&::_ibv_query_gid_table) query_gid_table = nullptr;
  // Enhanced Connection Establishment; null: the library has none.
  decltype(&::ibv_query_ece) query_ece = nullptr;
  decltype(&::ibv_set_ece) set_ece = nullptr;
  /// Null: the library is older than rdma-core 34.
  decltype(&::ibv_reg_dmabuf_mr) reg_dmabuf_mr = nullptr;
};

/// Loads this library, which then stays loaded. Unsupported, naming the library or the function that is
/// missing.
Result<Library> load_library(const char* file);

/// libibverbs.so.1, loaded on first use.
Result<const Library*> library();

}  // namespace rondo::verbs
