// SPDX-License-Identifier: Apache-2.0
// Memory that network cards use: descriptors of it, and flushes of what they have written, which the stand-in
// for libibverbs carries out if the process has loaded it.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "driver.h"

namespace rondo::standin {
namespace {

/// Opened anew, as the descriptor's position is where the range begins.
int descriptor_of(const Allocation& allocation, uintptr_t address) {
  const std::string path = "/proc/self/fd/" + std::to_string(allocation.memory->fd());
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto begin = reinterpret_cast<uintptr_t>(allocation.mapping.begin());
  if (fd >= 0) ::lseek(fd, static_cast<off_t>(address - begin), SEEK_SET);
  return fd;
}

void land_writes() {
  void* const verbs = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (verbs == nullptr) return;
  using Command = int (*)(const char*);
  if (const auto command = reinterpret_cast<Command>(::dlsym(verbs, "rondo_standin_verbs_command"))) {
    const char* const host = std::getenv("RONDO_STANDIN_VERBS_HOST");
    command(("land " + std::string(host != nullptr ? host : "0")).c_str());
  }
  ::dlclose(verbs);
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr pointer, size_t bytes,
                                       CUmemRangeHandleType type, unsigned long long flags) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(handle != nullptr && bytes != 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(pointer % kPage == 0 && bytes % kPage == 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(driver().settings.has_rdma && driver().settings.has_dmabuf, CUDA_ERROR_NOT_SUPPORTED);
    const Allocation* const found = driver().allocations.find(pointer);
    STANDIN_REQUIRE(
        found != nullptr && found->kind == Allocation::Kind::Device && found->holds(pointer, bytes),
        CUDA_ERROR_INVALID_VALUE);
    const int fd = descriptor_of(*found, pointer);
    STANDIN_REQUIRE(fd >= 0, CUDA_ERROR_OPERATING_SYSTEM);
    *static_cast<int*>(handle) = fd;
    return CUDA_SUCCESS;
  });
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_REQUIRE(target == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER ||
                        scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES,
                    CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(driver().settings.flushes_rdma_writes, CUDA_ERROR_NOT_SUPPORTED);
    land_writes();
    return CUDA_SUCCESS;
  });
}
