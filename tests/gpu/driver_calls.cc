// SPDX-License-Identifier: Apache-2.0
#include "driver_calls.h"

#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
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

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

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

namespace {

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> all;
  for (char** one = environ; *one != nullptr; ++one) all.emplace_back(*one);
  for (const auto& [name, value] : variables) {
    std::string prefix = name;
    prefix += '=';
    std::erase_if(all, [&](const std::string& one) { return one.rfind(prefix, 0) == 0; });
    all.push_back(prefix.append(value));
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  found.reserve(texts.size() + 1);
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

}  // namespace

Process start_case(const std::string& name, const Variables& variables) {
  std::vector<std::string> arguments{"driver_test", name};
  std::vector<std::string> environment = environment_with(variables);
  pid_t id = -1;
  ::posix_spawn(&id, "/proc/self/exe", nullptr, nullptr, pointers(arguments).data(),
                pointers(environment).data());
  return Process(id);
}

int Process::wait(int limit_s) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limit_s);
  int status = 0;
  while (::waitpid(id_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) ::kill(id_, SIGKILL);
    sleep_ms(2);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_case(const std::string& name, const Variables& variables, int limit_s) {
  return start_case(name, variables).wait(limit_s);
}

}  // namespace rondo
