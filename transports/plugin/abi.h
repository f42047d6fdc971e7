// SPDX-License-Identifier: Apache-2.0
// The binary interface of NCCL's network plugins, as far as Rondo uses it. For each version of the interface
// that a plugin has, it exports a table, ncclNetPlugin_vN: a name, then functions. Only what precedes the
// last function that is called is declared here. Plain data, which the plugin lays out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rondo::plugin {

constexpr int kOldestVersion = 8;
constexpr int kNewestVersion = 11;
constexpr size_t kHandleBytes = 128;  // by which a peer connects
constexpr size_t kMaxRequests = 32;   // outstanding on a comm
constexpr int kHostMemory = 1;        // a kind of memory, and its bit
constexpr int kNoTag = 0;             // one message at a time goes from comm to comm
constexpr int kAnyTrafficClass = -1;  // CommConfig: the plugin's own
constexpr int kVersionLevel = 1, kWarnLevel = 2, kTraceLevel = 5;  // of LogFunction

using LogFunction = void (*)(int level, unsigned long flags, const char* file, int line, const char* format,
                             ...);
using ProfileFunction = int (*)(void** event, int type, void* parent, int64_t id, void* description);

struct CommConfig {
  int traffic_class = kAnyTrafficClass;
};

/// What a plugin knows of a device.
struct Properties8 {
  const char* name;
  const char* pci_path;
  uint64_t guid;
  int memory_kinds;
  int registers_globally;
  int speed;  // Mbit/s
  int port;
  float latency;
  int max_comms;
  int max_receives;
  int offload_type;
  int offload_version;
};

struct Properties9 {
  const char* name;
  const char* pci_path;
  uint64_t guid;
  int memory_kinds;
  int registers_globally;
  int forces_flush;
  int speed;  // Mbit/s
  int port;
  float latency;
  int max_comms;
  int max_receives;
  int offload_type;
  int offload_version;
  int joined_devices;
  int joined[4];
  size_t max_message_bytes;
  size_t max_collective_bytes;
  uint64_t reserved[8];  // for what version 11, or a later edition of it, adds
};
static_assert(offsetof(Properties8, speed) == 32 && offsetof(Properties9, speed) == 36);
static_assert(offsetof(Properties9, max_message_bytes) == 88);

// The functions whose arguments differ between versions. All return 0, or what went wrong.

struct Calls8 {
  static constexpr int kVersion = 8;
  using Properties = Properties8;
  using Length = int;
  using Init = int (*)(LogFunction);
  using Listen = int (*)(int device, void* handle, void** comm);
  using Connect = int (*)(int device, void* handle, void** comm, void** offload);
  using Send = int (*)(void* comm, void* data, int bytes, int tag, void* region, void** request);
  using Receive = int (*)(void* comm, int count, void** data, int* bytes, int* tags, void** regions,
                          void** request);
};

struct Calls9 : Calls8 {
  static constexpr int kVersion = 9;
  using Properties = Properties9;
  using Length = size_t;
  using Send = int (*)(void* comm, void* data, size_t bytes, int tag, void* region, void** request);
  using Receive = int (*)(void* comm, int count, void** data, size_t* bytes, int* tags, void** regions,
                          void** request);
};

struct Calls10 : Calls9 {
  static constexpr int kVersion = 10;
  using Init = int (*)(LogFunction, ProfileFunction);
  using Connect = int (*)(int device, CommConfig*, void* handle, void** comm, void** offload);
  using Send = int (*)(void* comm, void* data, size_t bytes, int tag, void* region, void* event,
                       void** request);
  using Receive = int (*)(void* comm, int count, void** data, size_t* bytes, int* tags, void** regions,
                          void** events, void** request);
};

struct Calls11 : Calls10 {
  static constexpr int kVersion = 11;
  using Init = int (*)(void** context, uint64_t job, CommConfig*, LogFunction, ProfileFunction);
  using Listen = int (*)(void* context, int device, void* handle, void** comm);
  using Connect = int (*)(void* context, int device, void* handle, void** comm, void** offload);
};

template <class Calls>
struct NetTable {
  const char* name;
  typename Calls::Init init;
  int (*devices)(int* count);
  int (*properties)(int device, typename Calls::Properties*);
  typename Calls::Listen listen;
  typename Calls::Connect connect;  // no comm: to be called again, as accept is
  int (*accept)(void* listener, void** comm, void** offload);
  int (*register_memory)(void* comm, void* data, size_t bytes, int kind, void** region);
  int (*register_dma_buffer)(void* comm, void* data, size_t bytes, int kind, uint64_t offset, int descriptor,
                             void** region);
  int (*deregister_memory)(void* comm, void* region);
  typename Calls::Send send;  // no request: to be called again, as receive is
  typename Calls::Receive receive;
  int (*flush)(void* comm, int count, void** data, int* bytes, void** regions, void** request);
  int (*test)(void* request, int* is_done, int* bytes);
  int (*close_send)(void* comm);
  int (*close_receive)(void* comm);
  int (*close_listen)(void* comm);
};
static_assert(std::is_standard_layout_v<NetTable<Calls11>>);
static_assert(offsetof(NetTable<Calls8>, close_listen) == 16 * sizeof(void*));

}  // namespace rondo::plugin
