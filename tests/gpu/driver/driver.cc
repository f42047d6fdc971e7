// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <pthread.h>

#include <cstdlib>
#include <map>

#include "graph.h"
#include "library.h"
#include "stream.h"
#include "user_object.h"

namespace rondo::standin {
namespace {

void end() { driver().ended = true; }

void become_foreign() {
  Driver& self = driver();
  self.foreign = true;
  for (const auto& device : self.devices) device->turn.leave_to_parent();
}

void start(Driver& self) {
  for (const int physical : self.settings.visible) {
    const std::string path =
        self.settings.folder.empty() ? "" : self.settings.folder + "/device-" + std::to_string(physical);
    self.devices.push_back(std::make_unique<Device>(static_cast<int>(self.devices.size()), physical,
                                                    !self.settings.concurrent, path));
  }
  std::atexit(end);
  pthread_atfork(nullptr, nullptr, become_foreign);
}

}  // namespace

Driver& driver() {
  static Driver* const self = new Driver;
  return *self;
}

bool& in_host_function() {
  thread_local bool inside = false;
  return inside;
}

CUresult asked_fault(const char* function) {
  static std::mutex mutex;
  static auto* const calls = new std::map<std::string, uint64_t>;
  const std::vector<Fault>& faults = driver().settings.faults;
  if (faults.empty()) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex);
  const uint64_t call = ++(*calls)[function];
  for (const Fault& fault : faults)
    if (fault.function == function && fault.call == call) return static_cast<CUresult>(fault.error);
  return CUDA_SUCCESS;
}

CUresult admit_early(const char* function) {
  STANDIN_REQUIRE(!driver().foreign, CUDA_ERROR_NOT_INITIALIZED);
  STANDIN_REQUIRE(!driver().ended, CUDA_ERROR_DEINITIALIZED);
  STANDIN_REQUIRE(!in_host_function(), CUDA_ERROR_NOT_PERMITTED);
  return asked_fault(function);
}

CUresult admit(const char* function) {
  STANDIN_REQUIRE(driver().initialized || driver().foreign, CUDA_ERROR_NOT_INITIALIZED);
  return admit_early(function);
}

}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuInit(unsigned flags) {
  STANDIN_TRY(admit_early(__func__));
  STANDIN_REQUIRE(flags == 0, CUDA_ERROR_INVALID_VALUE);
  Driver& self = driver();
  const std::lock_guard lock(self.mutex);
  STANDIN_REQUIRE(!self.settings.visible.empty(), CUDA_ERROR_NO_DEVICE);
  if (!self.initialized) start(self);
  self.initialized = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  STANDIN_REQUIRE(version != nullptr, CUDA_ERROR_INVALID_VALUE);
  *version = 13000;
  return CUDA_SUCCESS;
}
