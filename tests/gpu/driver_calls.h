// SPDX-License-Identifier: Apache-2.0
// The driver as Rondo finds it: loaded by name, with functions found by the names that cuda.h gives them.
#pragma once

#include <cuda.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "clock.h"
#include "process.h"

namespace rondo {

/// A symbol of libcuda.so.1; ends the program if there is none.
void* driver_symbol(const char* name);

#define DRIVER_TEXT_OF(name) #name
#define DRIVER_TEXT(name) DRIVER_TEXT_OF(name)
/// CU(cuMemAlloc)(...) calls cuMemAlloc_v2.
#define CU(name) (reinterpret_cast<decltype(&::name)>(::rondo::driver_symbol(DRIVER_TEXT(name))))
#define CHECK_CU(name, ...) CHECK(CU(name)(__VA_ARGS__) == CUDA_SUCCESS)
#define REQUIRE_CU(name, ...) REQUIRE(CU(name)(__VA_ARGS__) == CUDA_SUCCESS)

/// A primary context, current in this thread.
class Current {
 public:
  explicit Current(int device = 0);
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();

  CUcontext context() const { return context_; }

 private:
  int device_;
  CUcontext context_ = nullptr;
};

CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING);
CUdeviceptr make_memory(size_t bytes);
template <class T>
T* at(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Starts a test case in a process of its own.
test::Process start_case(const std::string& name, const Variables& variables);
/// Returns the exit status of such a process, 0 if the test passed, or 128 and the signal that ended it;
/// kills the process after `limit_s`.
int run_case(const std::string& name, const Variables& variables = {}, double limit_s = 30);

/// A host function that blocks until the test opens the gate.
struct Gate {
  std::atomic<bool> open = false;
  void into(CUstream stream);
};

using test::sleep_ms;

/// Whether the stream's work completes within `ms`.
bool ends_within(CUstream stream, int ms);

}  // namespace rondo
