// SPDX-License-Identifier: Apache-2.0
// What the tests' plugin exports: the table of version VERSION. As TOO_OLD, it is under the name of a version
// that Rondo does not know; as INCOMPLETE, it lacks a function.
#include <cstring>

#include "abi.h"
#include "network.h"

namespace rondo::test_net {
namespace {

#if VERSION >= 11
int context_object = 0;
void check_context(void* context) { expect(context == &context_object, "another context"); }
#endif

int init_here(Logger logger) {
  if (logger == nullptr) misuse("init() without a logger");
  logger(3, ~0UL, __FILE__, __LINE__, "version %d of the tests' plugin is %s", VERSION, "informed");
  const int result = net_init();
  if (result != kSuccess) logger(2, ~0UL, __FILE__, __LINE__, "init() fails, with %d", result);
  return result;
}

#if VERSION >= 11
int init(void** context, uint64_t, Config* config, Logger logger, Profiler profiler) {
  expect(config != nullptr && config->traffic_class == -1, "a traffic class");
  expect(profiler != nullptr && profiler(nullptr, 0, nullptr, 0, nullptr) == 0, "init() without a profiler");
  *context = &context_object;
  return init_here(logger);
}
int listen(void* context, int dev, void* handle, void** comm) {
  check_context(context);
  return net_listen(dev, handle, comm);
}
int connect(void* context, int dev, void* handle, void** comm, void** device) {
  check_context(context);
  expect(device != nullptr && *device == nullptr, "offload to a device");
  return net_connect(dev, handle, comm);
}
#else
#if VERSION == 10
int init(Logger logger, Profiler profiler) {
  expect(profiler != nullptr && profiler(nullptr, 0, nullptr, 0, nullptr) == 0, "init() without a profiler");
  return init_here(logger);
}
int connect(int dev, Config* config, void* handle, void** comm, void** device) {
  expect(config != nullptr && config->traffic_class == -1, "a traffic class");
#else
int init(Logger logger) { return init_here(logger); }
int connect(int dev, void* handle, void** comm, void** device) {
#endif
  expect(device != nullptr && *device == nullptr, "offload to a device");
  return net_connect(dev, handle, comm);
}
int listen(int dev, void* handle, void** comm) { return net_listen(dev, handle, comm); }
#endif

int get_properties(int dev, DeviceProperties* properties) {
  static DeviceInfo infos[8];
  DeviceInfo& info = infos[dev % 8];
  if (const int result = net_properties(dev, &info); result != kSuccess) return result;
  std::memset(properties, 0xDB, sizeof *properties);  // what is not set is not meant
  properties->name = info.name;
  properties->pci_path = nullptr;
  properties->ptr_support = info.ptr_support;
  properties->speed = info.speed;
  properties->max_recvs = 1;
  properties->device_type = 0;
#if VERSION >= 9
  properties->max_p2p_bytes = info.max_bytes;
#endif
  return kSuccess;
}

int accept(void* listener, void** comm, void** device) {
  expect(device != nullptr && *device == nullptr, "offload to a device");
  return net_accept(listener, comm);
}

#if VERSION >= 10
int isend(void* comm, void* data, Size size, int tag, void* mhandle, void*, void** request) {
#else
int isend(void* comm, void* data, Size size, int tag, void* mhandle, void** request) {
#endif
  return net_send(comm, data, static_cast<size_t>(size), tag, mhandle, request);
}

#if VERSION >= 10
int irecv(void* comm, int n, void** data, Size* sizes, int* tags, void** mhandles, void** phandles,
          void** request) {
  expect(phandles != nullptr, "no place for the profiler's handles");
#else
int irecv(void* comm, int n, void** data, Size* sizes, int* tags, void** mhandles, void** request) {
#endif
  return net_receive(comm, n, data, static_cast<size_t>(sizes[0]), tags, mhandles, request);
}

#ifdef INCOMPLETE
constexpr bool kIsComplete = false;
#else
constexpr bool kIsComplete = true;
#endif

int close_send(void* comm) { return net_close(Kind::Send, comm); }
int close_recv(void* comm) { return net_close(Kind::Receive, comm); }
int close_listen(void* comm) { return net_close(Kind::Listen, comm); }

}  // namespace
}  // namespace rondo::test_net

#define JOINED(a, b) a##b
#define SYMBOL(version) JOINED(ncclNetPlugin_v, version)
#ifdef TOO_OLD
#define EXPORTED_VERSION 6
#else
#define EXPORTED_VERSION VERSION
#endif

extern "C" {
extern __attribute__((visibility("default"))) rondo::test_net::NetPluginTable SYMBOL(EXPORTED_VERSION);
rondo::test_net::NetPluginTable SYMBOL(EXPORTED_VERSION) = {
    .name = "TestNet",
    .init = rondo::test_net::init,
    .devices = rondo::test_net::net_devices,
    .get_properties = rondo::test_net::get_properties,
    .listen = rondo::test_net::listen,
    .connect = rondo::test_net::connect,
    .accept = rondo::test_net::accept,
    .reg_mr = rondo::test_net::net_register,
    .reg_mr_dma_buf = nullptr,
    .dereg_mr = rondo::test_net::net_deregister,
    .isend = rondo::test_net::isend,
    .irecv = rondo::test_net::kIsComplete ? rondo::test_net::irecv : nullptr,
    .iflush = nullptr,
    .test = rondo::test_net::net_test,
    .close_send = rondo::test_net::close_send,
    .close_recv = rondo::test_net::close_recv,
    .close_listen = rondo::test_net::close_listen,
    .get_device_mr = nullptr,
    .irecv_consumed = nullptr,
};
}
