// SPDX-License-Identifier: Apache-2.0
#include "device_kernels.h"

#include <array>
#include <map>
#include <mutex>

#include "embedded_code.h"
#include "kernels.h"
#include "kernels/device_folds.h"

extern "C" const rondo::EmbeddedCode rondo_device_code[];

namespace rondo {
namespace {

gpu::Image& image() {
  static auto& loaded = image_of(rondo_device_code);
  return loaded;
}

constexpr std::array kNames{device::kFoldListKernel, device::kExecuteKernel, device::kTicketKernel};
using Loaded = std::array<LoadedKernel, kNames.size()>;  // by DeviceKernel

Result<Loaded> load(int device) {
  Loaded loaded;
  for (size_t which = 0; which < loaded.size(); ++which) {
    LoadedKernel& one = loaded[which];
    RONDO_TRY_ASSIGN(one.kernel, image().find(kNames[which], device));
    RONDO_TRY_ASSIGN(one.resident_blocks, gpu::resident_blocks(one.kernel, device::kMaxThreads));
  }
  return loaded;
}

}  // namespace

Result<LoadedKernel> device_kernel(DeviceKernel which, int device) {
  static auto& mutex = *new std::mutex;
  static auto& by_device = *new std::map<int, Loaded>;
  const std::lock_guard lock(mutex);
  auto found = by_device.find(device);
  if (found == by_device.end()) {
    RONDO_TRY_ASSIGN(const Loaded loaded, load(device));
    found = by_device.emplace(device, loaded).first;
  }
  return found->second[static_cast<size_t>(which)];
}

Status load_device_kernels(int device) { return device_kernel(DeviceKernel::FoldList, device).status(); }

}  // namespace rondo
