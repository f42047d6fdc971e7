// SPDX-License-Identifier: Apache-2.0
#include "gpu/stopwatch.h"

#include <utility>

#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {

Result<Stopwatch> Stopwatch::create(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  Stopwatch made;
  made.device_ = device;
  for (CUevent* event : {&made.start_, &made.stop_})
    RONDO_TRY(outcome(cuda->cuEventCreate(event, CU_EVENT_DEFAULT), "creating a timing event"));
  return made;
}

Stopwatch::~Stopwatch() {
  if (start_ == nullptr) return;
  const Current current(device_);
  if (!current.status().ok()) return;
  driver().value()->cuEventDestroy(start_);
  if (stop_ != nullptr) driver().value()->cuEventDestroy(stop_);
}

Stopwatch::Stopwatch(Stopwatch&& other) noexcept { *this = std::move(other); }

Stopwatch& Stopwatch::operator=(Stopwatch&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(start_, other.start_);
  std::swap(stop_, other.stop_);
  return *this;
}

Status Stopwatch::start(Stream stream) {
  return outcome(driver().value()->cuEventRecord(start_, stream), "starting a stopwatch");
}

Status Stopwatch::stop(Stream stream) {
  return outcome(driver().value()->cuEventRecord(stop_, stream), "stopping a stopwatch");
}

Result<double> Stopwatch::elapsed_us() const {
  const Driver& cuda = *driver().value();
  float elapsed_ms = 0;
  RONDO_TRY(outcome(cuda.cuEventSynchronize(stop_), "waiting for an event"));
  RONDO_TRY(outcome(cuda.cuEventElapsedTime_v1(&elapsed_ms, start_, stop_), "reading a stopwatch"));
  return static_cast<double>(elapsed_ms) * 1e3;
}

}  // namespace rondo::gpu
