// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>

#include "embedded_code.h"
#include "kernels.h"
#include "kernels/compare.h"

extern "C" const rondo::EmbeddedCode rondo_compare_code[];

namespace rondo {
namespace {

constexpr uint64_t kMaxBlocks = 1024;  // more than a GPU holds at once; blocks loop over the elements

Result<gpu::Kernel> kernel_on(int device) {
  static auto& image = image_of(rondo_compare_code);
  static auto& mutex = *new std::mutex;
  static auto& by_device = *new std::map<int, gpu::Kernel>;
  const std::lock_guard lock(mutex);
  const auto found = by_device.find(device);
  if (found != by_device.end()) return found->second;
  RONDO_TRY_ASSIGN(const auto kernel, image.find(device::kCompareKernel, device));
  return by_device.emplace(device, kernel).first->second;
}

}  // namespace

Status compare(const void* found, const void* expected, size_t count, const ElementEquality& equality,
               uint64_t* different, int device, gpu::Stream stream) {
  if (count == 0) return {};
  RONDO_TRY_ASSIGN(const auto kernel, kernel_on(device));
  const device::Comparison task{.found = found,
                                .expected = expected,
                                .count = count,
                                .part_bytes = equality.part_bytes,
                                .parts = equality.parts,
                                .zeros_alike = equality.zeros_alike ? 1u : 0u,
                                .different = different};
  const uint64_t wanted = (count + device::kMaxThreads - 1) / device::kMaxThreads;
  const auto blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
  return gpu::launch(kernel, {.blocks = blocks, .threads = device::kMaxThreads}, stream, &task);
}

}  // namespace rondo
