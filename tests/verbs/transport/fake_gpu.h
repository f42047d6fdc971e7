// SPDX-License-Identifier: Apache-2.0
// FakeGpu: a GPU's memory as the CPU has it: at its addresses every access faults. What stands in for the
// GPU's kernels uses a second mapping, seen().
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/exportable.h"
#include "in_process.h"
#include "process.h"

namespace rondo::verbs_test {

class FakeGpu final : public GpuMemory {
 public:
  explicit FakeGpu(size_t bytes, Visibility visibility = Visibility::AtOnce)
      : bytes_((bytes + kPage - 1) / kPage * kPage),
        visibility_(visibility),
        memfd_(::memfd_create("gpu", MFD_CLOEXEC)) {
    test::require(::ftruncate(memfd_.get(), static_cast<off_t>(bytes_)) == 0, "ftruncate");
    data_ = map(PROT_NONE);
    seen_ = map(PROT_READ | PROT_WRITE);
  }
  ~FakeGpu() override {
    ::munmap(data_, bytes_);
    ::munmap(seen_, bytes_);
  }

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// Where kernels find what has an address of the memory; other addresses stay what they are.
  std::byte* seen(const std::byte* at) const {
    return at >= data_ && at < data_ + bytes_ ? seen_ + (at - data_) : const_cast<std::byte*>(at);
  }
  uint64_t copies() const { return copies_; }
  bool copies_fail = false;

  Result<Fd> dmabuf() const override { return Fd(::dup(memfd_.get())); }
  Status copy(std::byte* to, const std::byte* from, size_t bytes) const override {
    ++copies_;
    if (copies_fail) return error(Code::SystemError, "this GPU copies nothing");
    std::memcpy(seen(to), seen(from), bytes);
    return {};
  }
  Visibility visibility() const override { return visibility_; }
  Status flush() const override {
    command("land 0");
    return {};
  }

 private:
  static constexpr size_t kPage = 4096;
  std::byte* map(int rights) const {
    void* const at = ::mmap(nullptr, bytes_, rights, MAP_SHARED, memfd_.get(), 0);
    test::require(at != MAP_FAILED, "mmap");
    return static_cast<std::byte*>(at);
  }

  const size_t bytes_;
  const Visibility visibility_;
  const Fd memfd_;
  std::byte* data_ = nullptr;
  std::byte* seen_ = nullptr;
  mutable std::atomic<uint64_t> copies_ = 0;
};

}  // namespace rondo::verbs_test
