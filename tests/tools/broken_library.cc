// Stands before librondo (LD_PRELOAD) and spoils what it does, as BROKEN says, so that a test can see
// rondo-perf notice it. Calls of rank 1 only; every other function is the library's own.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "rondo/rondo.h"

namespace {

using AllReduce = rondo_status_t (*)(const void*, void*, size_t, rondo_type_t, rondo_op_t, rondo_comm_t,
                                     rondo_stream_t);
using AllGather = rondo_status_t (*)(const void*, void*, size_t, rondo_type_t, rondo_comm_t, rondo_stream_t);

bool broken(const char* how, rondo_comm_t comm) {
  const char* wanted = std::getenv("BROKEN");
  int rank = 0;
  rondo_rank(comm, &rank);
  return wanted != nullptr && std::string_view(wanted) == how && rank == 1;
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void flip(void* buffer, size_t byte) { static_cast<unsigned char*>(buffer)[byte] ^= 0x20; }

}  // namespace

extern "C" RONDO_API rondo_status_t rondo_all_reduce(const void* sendbuf, void* recvbuf, size_t count,
                                                     rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                                     rondo_stream_t stream) {
  if (broken("exit", comm)) std::_Exit(9);
  if (broken("hang", comm)) {
    for (;;) pause();  // no deadline of the library ends this
  }
  const auto status = real<AllReduce>("rondo_all_reduce")(sendbuf, recvbuf, count, type, op, comm, stream);
  size_t bytes = 0;
  rondo_type_size(type, &bytes);
  if (count == 0 || status != RONDO_OK) return status;
  if (broken("value", comm)) flip(recvbuf, (count - 1) * bytes);
  if (broken("before", comm)) flip(static_cast<char*>(recvbuf) - 1, 0);
  if (broken("after", comm)) flip(recvbuf, count * bytes);
  if (broken("input", comm) && sendbuf != recvbuf) flip(const_cast<void*>(sendbuf), 0);
  if (broken("nothing", comm)) std::memset(recvbuf, 0xA5, count * bytes);
  return status;
}

extern "C" RONDO_API rondo_status_t rondo_reduce(const void* sendbuf, void* recvbuf, size_t count,
                                                 rondo_type_t type, rondo_op_t op, int root,
                                                 rondo_comm_t comm, rondo_stream_t stream) {
  using Reduce = rondo_status_t (*)(const void*, void*, size_t, rondo_type_t, rondo_op_t, int, rondo_comm_t,
                                    rondo_stream_t);
  const auto status = real<Reduce>("rondo_reduce")(sendbuf, recvbuf, count, type, op, root, comm, stream);
  if (count > 0 && broken("elsewhere", comm) && root != 1) flip(recvbuf, 0);
  return status;
}
