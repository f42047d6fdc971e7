// SPDX-License-Identifier: Apache-2.0
// Libraries of kernels. Images are ignored: every library holds the kernels that were compiled for the host.
#include "library.h"

#include <cstring>

#include "graph.h"
#include "kernels.h"
#include "occupancy.h"

namespace rondo::standin {
namespace {

const device::HostKernel* find_kernel(const char* name) {
  for (const device::HostKernel& kernel : device::host_kernels())
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  return nullptr;
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;
namespace device = rondo::device;

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(library != nullptr && code != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(check_unsafe());
    *library = driver().libraries.add(std::make_shared<CUlib_st>());
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return call(__func__, [&](Lock&) {
    Driver& self = driver();
    const auto library = self.libraries.find(handle);
    STANDIN_REQUIRE(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
    for (const CUkernel kernel : library->kernels) {
      self.functions.remove_if([&](const CUfunc_st& one) { return one.kernel == kernel->kernel; });
      self.kernels.remove(kernel);
    }
    self.libraries.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(kernel != nullptr && name != nullptr, CUDA_ERROR_INVALID_VALUE);
    const auto library = driver().libraries.find(handle);
    STANDIN_REQUIRE(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
    const device::HostKernel* found = find_kernel(name);
    STANDIN_REQUIRE(found != nullptr, CUDA_ERROR_NOT_FOUND);
    *kernel = driver().kernels.add(std::make_shared<CUkern_st>(CUkern_st{found}));
    library->kernels.push_back(*kernel);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  return call(__func__, [&](Lock& lock) {
    Context* context = nullptr;
    STANDIN_REQUIRE(function != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(use_context(context));
    const auto kernel = driver().kernels.find(handle);
    STANDIN_REQUIRE(kernel != nullptr, CUDA_ERROR_INVALID_HANDLE);
    wait_unlocked(lock, work_of(*context));
    *function = driver().functions.add(std::make_shared<CUfunc_st>(CUfunc_st{kernel->kernel, context}));
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_TRY(use_context(context));
    STANDIN_REQUIRE(driver().functions.find(function) != nullptr, CUDA_ERROR_INVALID_HANDLE);
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return CUDA_SUCCESS;
    STANDIN_REQUIRE(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(value >= 0 && value <= kMaxSharedBytes, CUDA_ERROR_INVALID_VALUE);
    function->shared_bytes = value;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(value != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(driver().functions.find(function) != nullptr, CUDA_ERROR_INVALID_HANDLE);
    switch (attribute) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = device::kMaxThreads; break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = kThreadRegisters; break;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->shared_bytes; break;
      default: *value = 0;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared_bytes) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(blocks != nullptr && threads > 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(driver().functions.find(function) != nullptr, CUDA_ERROR_INVALID_HANDLE);
    *blocks = blocks_on_processor(threads, shared_bytes);
    return CUDA_SUCCESS;
  });
}
