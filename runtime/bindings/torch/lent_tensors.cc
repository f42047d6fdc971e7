// SPDX-License-Identifier: Apache-2.0
#include "lent_tensors.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <c10/core/impl/alloc_cpu.h>
#include <rondo/rondo.h>

namespace rondo::torch_binding {
namespace {

/// The least that RONDO_HEAP_FROM can be: shorter blocks are never read in place.
constexpr size_t kFrom = size_t{64} << 10;

void dispose(void* block) {
  if (block == nullptr) return;
  c10::profiledCPUMemoryReporter().Delete(block);
  rondo_free(block);
}

/// Like torch's own, which gives its memory back by free().
class LentTensorAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* block = bytes >= kFrom ? rondo_aligned_alloc(c10::gAlignment, bytes) : nullptr;
    if (block == nullptr) block = c10::alloc_cpu(bytes);
    if (block != nullptr) c10::profiledCPUMemoryReporter().New(block, bytes);
    return {block, block, &dispose, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &dispose; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

void lend_tensors() {
  static auto& allocator = *new LentTensorAllocator;  // outlives every tensor
  if (c10::GetAllocator(c10::DeviceType::CPU) == c10::GetDefaultCPUAllocator())
    c10::SetAllocator(c10::DeviceType::CPU, &allocator);
}

}  // namespace rondo::torch_binding
