// SPDX-License-Identifier: Apache-2.0
// Preloaded before librondo (LD_PRELOAD) to corrupt its results, as BROKEN says, so that a test can check
// that rondo-perf notices. Affects only calls of rank 1 (rank 0 for "crash"); all other functions are the
// library's. Results of calls on a CUDA stream are corrupted in that stream.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include "rondo/rondo.h"

namespace {

using AllReduce = rondo_status_t (*)(const void*, void*, size_t, rondo_type_t, rondo_op_t, rondo_comm_t,
                                     rondo_stream_t);
using AllGather = rondo_status_t (*)(const void*, void*, size_t, rondo_type_t, rondo_comm_t, rondo_stream_t);

bool broken(const char* how, rondo_comm_t comm, int at = 1) {
  const char* wanted = std::getenv("BROKEN");
  int rank = 0;
  rondo_rank(comm, &rank);
  return wanted != nullptr && std::string_view(wanted) == how && rank == at;
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// The CUDA stream behind each handle of this thread.
thread_local std::map<rondo_stream_t, void*> cuda_streams;

template <typename Function>
Function of_driver(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function>(dlsym(driver, name));
}

/// Sets the bytes in the stream if it belongs to that device; returns whether it does.
bool set_by(int device, void* cuda_stream, void* at, unsigned char byte, size_t bytes) {
  void* context = nullptr;
  if (of_driver<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device) != 0) std::abort();
  of_driver<int (*)(void*)>("cuCtxPushCurrent_v2")(context);
  const auto fill = of_driver<int (*)(void*, unsigned char, size_t, void*)>("cuMemsetD8Async");
  const bool done = fill(at, byte, bytes, cuda_stream) == 0;
  of_driver<int (*)(void**)>("cuCtxPopCurrent_v2")(&context);
  return done;
}

/// In a stream, sets bytes to a value that no sum of small numbers has: the driver cannot flip single bits.
void set_in_stream(void* cuda_stream, void* at, unsigned char byte, size_t bytes) {
  int device = 0;
  while (!set_by(device, cuda_stream, at, byte, bytes)) ++device;
}

void flip(rondo_stream_t stream, void* at) {
  if (const auto found = cuda_streams.find(stream); found != cuda_streams.end())
    return set_in_stream(found->second, at, 0x7F, 1);
  *static_cast<unsigned char*>(at) ^= 0x20;
}

void poison(rondo_stream_t stream, void* at, size_t bytes) {
  if (const auto found = cuda_streams.find(stream); found != cuda_streams.end())
    return set_in_stream(found->second, at, 0xA5, bytes);
  std::memset(at, 0xA5, bytes);
}

}  // namespace

extern "C" RONDO_API rondo_stream_t rondo_cuda_stream(void* cuda_stream) {
  using CudaStream = rondo_stream_t (*)(void*);
  const rondo_stream_t stream = real<CudaStream>("rondo_cuda_stream")(cuda_stream);
  cuda_streams[stream] = cuda_stream;
  return stream;
}

extern "C" RONDO_API rondo_status_t rondo_all_reduce(const void* sendbuf, void* recvbuf, size_t count,
                                                     rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                                     rondo_stream_t stream) {
  if (broken("exit", comm)) std::_Exit(9);
  if (count > 1024 && broken("crash", comm, 0)) std::_Exit(9);
  if (broken("hang", comm)) {
    for (;;) pause();  // no deadline of the library ends this
  }
  const auto status = real<AllReduce>("rondo_all_reduce")(sendbuf, recvbuf, count, type, op, comm, stream);
  size_t bytes = 0;
  rondo_type_size(type, &bytes);
  if (count == 0 || status != RONDO_OK) return status;
  auto* out = static_cast<char*>(recvbuf);
  if (broken("value", comm)) flip(stream, out + (count - 1) * bytes);
  if (broken("before", comm)) flip(stream, out - 1);
  if (broken("after", comm)) flip(stream, out + count * bytes);
  if (broken("input", comm) && sendbuf != recvbuf) flip(stream, const_cast<void*>(sendbuf));
  if (broken("nothing", comm)) poison(stream, recvbuf, count * bytes);
  return status;
}

extern "C" RONDO_API rondo_status_t rondo_reduce(const void* sendbuf, void* recvbuf, size_t count,
                                                 rondo_type_t type, rondo_op_t op, int root,
                                                 rondo_comm_t comm, rondo_stream_t stream) {
  using Reduce = rondo_status_t (*)(const void*, void*, size_t, rondo_type_t, rondo_op_t, int, rondo_comm_t,
                                    rondo_stream_t);
  const auto status = real<Reduce>("rondo_reduce")(sendbuf, recvbuf, count, type, op, root, comm, stream);
  if (count > 0 && broken("elsewhere", comm) && root != 1) flip(stream, recvbuf);
  return status;
}
