// SPDX-License-Identifier: Apache-2.0
// The interface of NCCL's network plugins, versions 8 to 11, stated in full and apart from the library's own
// statement of it: if the two differ, nothing works. VERSION says which one this plugin has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::test_net {

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using Profiler = int (*)(void** handle, int type, void* parent, int64_t plugin, void* description);

#if VERSION == 8
using Size = int;
#else
using Size = size_t;
#endif

struct DeviceProperties {
  char* name;
  char* pci_path;
  uint64_t guid;
  int ptr_support;
  int reg_is_global;
#if VERSION >= 9
  int force_flush;
#endif
  int speed;
  int port;
  float latency;
  int max_comms;
  int max_recvs;
  int device_type;
  int device_version;
#if VERSION >= 9
  struct {
    int ndevs;
    int devs[4];
  } virtual_device;
  size_t max_p2p_bytes;
  size_t max_coll_bytes;
#endif
#if VERSION >= 11
  int max_multi_request_size;
#endif
};

struct Config {
  int traffic_class;
};

struct NetPluginTable {
  const char* name;
#if VERSION >= 11
  int (*init)(void** context, uint64_t comm_id, Config*, Logger, Profiler);
#elif VERSION == 10
  int (*init)(Logger, Profiler);
#else
  int (*init)(Logger);
#endif
  int (*devices)(int* ndev);
  int (*get_properties)(int dev, DeviceProperties*);
#if VERSION >= 11
  int (*listen)(void* context, int dev, void* handle, void** listen_comm);
  int (*connect)(void* context, int dev, void* handle, void** send_comm, void** device);
#elif VERSION == 10
  int (*listen)(int dev, void* handle, void** listen_comm);
  int (*connect)(int dev, Config*, void* handle, void** send_comm, void** device);
#else
  int (*listen)(int dev, void* handle, void** listen_comm);
  int (*connect)(int dev, void* handle, void** send_comm, void** device);
#endif
  int (*accept)(void* listen_comm, void** recv_comm, void** device);
  int (*reg_mr)(void* comm, void* data, size_t size, int type, void** mhandle);
  int (*reg_mr_dma_buf)(void* comm, void* data, size_t size, int type, uint64_t offset, int fd,
                        void** mhandle);
  int (*dereg_mr)(void* comm, void* mhandle);
#if VERSION >= 10
  int (*isend)(void* comm, void* data, Size size, int tag, void* mhandle, void* phandle, void** request);
  int (*irecv)(void* comm, int n, void** data, Size* sizes, int* tags, void** mhandles, void** phandles,
               void** request);
#else
  int (*isend)(void* comm, void* data, Size size, int tag, void* mhandle, void** request);
  int (*irecv)(void* comm, int n, void** data, Size* sizes, int* tags, void** mhandles, void** request);
#endif
  int (*iflush)(void* comm, int n, void** data, int* sizes, void** mhandles, void** request);
  int (*test)(void* request, int* done, int* sizes);
  int (*close_send)(void* comm);
  int (*close_recv)(void* comm);
  int (*close_listen)(void* comm);
  int (*get_device_mr)(void* comm, void* mhandle, void** pointer);
  int (*irecv_consumed)(void* comm, int n, void* request);
#if VERSION >= 9
  int (*make_virtual_device)(int* dev, void* properties);
#endif
#if VERSION >= 11
  int (*finalize)(void* context);
  int (*set_net_attr)(void* context, void* attributes);
#endif
};

}  // namespace rondo::test_net
