// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>

#include <atomic>
#include <memory>

#include "base/error_kinds.h"
#include "gpu/device.h"

namespace rondo::gpu {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

#define RONDO_NAME_OF(name) #name  // after expansion of cuda.h's macros

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

template <class... Arguments>
CUresult not_there(Arguments...) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

template <class Function>
void find_optional(void* library, const char* name, Function*& function) {
  if (!find(library, name, function)) function = not_there;
}

/// The first function that the library lacks; null if none.
const char* look_up(void* library, Driver& functions) {
#define X(name) \
  if (!find(library, RONDO_NAME_OF(name), functions.name)) return RONDO_NAME_OF(name);
  RONDO_DRIVER_FUNCTIONS(X)
  X(cuStreamGetCaptureInfo_v2)
#undef X
#define X(name) find_optional(library, RONDO_NAME_OF(name), functions.name);
  RONDO_OPTIONAL_DRIVER_FUNCTIONS(X)
#undef X
  find_optional(library, "cuEventElapsedTime", functions.cuEventElapsedTime_v1);
  return nullptr;
}

Result<const Driver*> load() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // stays loaded
  if (library == nullptr) {
    const char* why = ::dlerror();
    return error(ErrorKind::NoCudaDriver, "there is no CUDA driver: {}", why ? why : kLibrary);
  }
  auto functions = std::make_unique<Driver>();
  if (const char* missing = look_up(library, *functions))
    return error(ErrorKind::CudaDriverOld,
                 "the CUDA driver is too old: it has no {}, and must be CUDA 12.0's or later", missing);
  const CUresult result = functions->cuInit(0);
  if (result != CUDA_SUCCESS) {
    const char* words = nullptr;
    functions->cuGetErrorString(result, &words);
    return error(ErrorKind::NoCudaDriver, "CUDA cannot be used: {}", words ? words : "an unknown error");
  }
  return static_cast<const Driver*>(functions.release());
}

}  // namespace

Result<const Driver*> driver() {
  static const auto& loaded = *new Result<const Driver*>(load());
  return loaded;
}

bool in_use() {
  static std::atomic<bool> seen{false};
  if (seen.load(std::memory_order_relaxed)) return true;
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const auto get = reinterpret_cast<decltype(&::cuCtxGetCurrent)>(::dlsym(library, "cuCtxGetCurrent"));
  ::dlclose(library);
  CUcontext context = nullptr;
  if (get == nullptr || get(&context) == CUDA_ERROR_NOT_INITIALIZED) return false;
  seen.store(true, std::memory_order_relaxed);
  return true;
}

Status outcome(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* words = nullptr;
  if (const auto loaded = driver(); loaded.ok()) {
    loaded.value()->cuGetErrorName(result, &name);
    loaded.value()->cuGetErrorString(result, &words);
  }
  const auto kind = result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorKind::GpuOutOfMemory : ErrorKind::CudaFailed;
  const auto device = Current::device();
  return error(kind, "{}{}: {} ({})", what, device ? fmt::format(" on GPU {}", *device) : "",
               words ? words : "CUDA gives no reason", name ? name : "unknown");
}

}  // namespace rondo::gpu
