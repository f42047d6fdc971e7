// SPDX-License-Identifier: Apache-2.0
// The network of the tests' own plugin (README.md): comms are TCP sockets. It is strict: a
// caller that breaks a rule of the interface is ended by abort(), with a word on standard error. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo::test_net {

// As NCCL numbers them.
constexpr int kSuccess = 0, kSystemError = 2, kInternalError = 3, kRemoteError = 6;

/// Aborts with this word.
[[noreturn]] void misuse(const char* what);
inline void expect(bool condition, const char* what) {
  if (!condition) misuse(what);
}

struct DeviceInfo {
  char name[16];
  int ptr_support;
  int speed;
  size_t max_bytes;
};

// The functions of the interface, without what differs between its versions.
int net_init();
int net_devices(int* count);
int net_properties(int device, DeviceInfo* info);
int net_listen(int device, void* handle, void** comm);
int net_connect(int device, void* handle, void** comm);
int net_accept(void* listener, void** comm);
int net_register(void* comm, void* data, size_t bytes, int type, void** region);
int net_deregister(void* comm, void* region);
int net_send(void* comm, void* data, size_t bytes, int tag, void* region, void** request);
int net_receive(void* comm, int count, void** data, size_t bytes, const int* tags, void** regions,
                void** request);
int net_test(void* request, int* done, int* bytes);
enum class Kind { Listen, Send, Receive };
int net_close(Kind kind, void* comm);

}  // namespace rondo::test_net
