// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: functions by their public names, in the version of a given CUDA release.
#include <dlfcn.h>

#include <string>

#include "driver.h"

namespace {

struct Renamed {
  const char* name;
  int before;  // a CUDA version
  const char* exported;
};
constexpr Renamed kRenamed[] = {
    {"cuGraphInstantiate", 1 << 30, "cuGraphInstantiateWithFlags"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v2"},
};
constexpr const char* kVersions[] = {"_v4", "_v3", "_v2", ""};

void* own_library() {
  Dl_info about{};
  static void* const handle = ::dladdr(reinterpret_cast<void*>(&cuInit), &about) == 0
                                  ? nullptr
                                  : ::dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  return handle;
}

void* find(const std::string& name, int version) {
  for (const Renamed& one : kRenamed)
    if (name == one.name && version < one.before) return ::dlsym(own_library(), one.exported);
  for (const char* suffix : kVersions)
    if (void* found = ::dlsym(own_library(), (name + suffix).c_str())) return found;
  return nullptr;
}

}  // namespace

CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  STANDIN_TRY(rondo::standin::admit_early(__func__));
  STANDIN_REQUIRE(symbol != nullptr && function != nullptr, CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE((flags & ~cuuint64_t{CU_GET_PROC_ADDRESS_LEGACY_STREAM}) == 0, CUDA_ERROR_INVALID_VALUE);
  *function = find(symbol, version);
  if (status != nullptr)
    *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
