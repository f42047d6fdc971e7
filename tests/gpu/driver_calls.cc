// SPDX-License-Identifier: Apache-2.0
#include "driver_calls.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "catch.h"

namespace rondo {

void* driver_symbol(const char* name) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "no %s: %s\n", name, ::dlerror());
    std::_Exit(2);
  }
  return found;
}

Current::Current(int device) : device_(device) {
  REQUIRE_CU(cuInit, 0);
  REQUIRE_CU(cuDevicePrimaryCtxRetain, &context_, device);
  REQUIRE_CU(cuCtxPushCurrent, context_);
}

Current::~Current() {
  CU(cuCtxPopCurrent)(nullptr);
  CU(cuDevicePrimaryCtxRelease)(device_);
}

CUstream make_stream(unsigned flags) {
  CUstream stream = nullptr;
  REQUIRE_CU(cuStreamCreate, &stream, flags);
  return stream;
}

CUdeviceptr make_memory(size_t bytes) {
  CUdeviceptr memory = 0;
  REQUIRE_CU(cuMemAlloc, &memory, bytes);
  return memory;
}

bool ends_within(CUstream stream, int ms) {
  for (int i = 0; i < ms && CU(cuStreamQuery)(stream) == CUDA_ERROR_NOT_READY; ++i) sleep_ms(1);
  return CU(cuStreamQuery)(stream) == CUDA_SUCCESS;
}

void Gate::into(CUstream stream) {
  const CUhostFn wait = [](void* self) {
    while (!static_cast<Gate*>(self)->open) sleep_ms(1);
  };
  REQUIRE_CU(cuLaunchHostFunc, stream, wait, this);
}

test::Process start_case(const std::string& name, const Variables& variables) {
  return test::Process([&] {
    for (const auto& [variable, value] : variables) ::setenv(variable.c_str(), value.c_str(), 1);
    ::execl("/proc/self/exe", "test_standin_driver", name.c_str(), nullptr);
    throw std::runtime_error("no /proc/self/exe");
  });
}

int run_case(const std::string& name, const Variables& variables, double limit_s) {
  const test::Outcome outcome = start_case(name, variables).wait(limit_s);
  return outcome.signal != 0 ? 128 + outcome.signal : outcome.status;
}

}  // namespace rondo
