#include "driver_calls.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "catch.h"

namespace rondo {

void* driver_symbol(const char* name) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "no %s: %s\n", name, ::dlerror());
    std::abort();
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

int run_case(const std::string& name, const Variables& variables, int limit_s) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const auto& [variable, value] : variables) ::setenv(variable.c_str(), value.c_str(), 1);
    ::alarm(static_cast<unsigned>(limit_s));
    ::execl("/proc/self/exe", "driver_test", name.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace rondo
