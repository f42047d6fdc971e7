// SPDX-License-Identifier: Apache-2.0
// Registered GPU memory, and whether peers read it in place.
#pragma once

#include <thread>

#include "calls.h"
#include "processes.h"

namespace rondo::test {

/// One allocation of rondo_cuda_mem_alloc(), from which a rank's buffers are taken.
class Arena {
 public:
  Arena(int device, size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    check(rondo_cuda_mem_alloc(&memory, bytes, device));
    begin_ = static_cast<std::byte*>(memory);
  }
  ~Arena() { rondo_mem_free(begin_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

  std::byte* take(size_t bytes) {
    std::byte* const piece = begin_ + used_;
    used_ += (bytes + kUnit - 1) / kUnit * kUnit;
    require(used_ <= bytes_, "the arena is too small");
    return piece;
  }
  int64_t* ints(size_t count, int64_t value) {
    auto* const data = reinterpret_cast<int64_t*>(take(count * sizeof(int64_t)));
    const std::vector<int64_t> values(count, value);
    require_ok(gpu::copy(data, values.data(), count * sizeof(int64_t)));
    kept_ = used_;
    return data;
  }
  /// For trials, which return what they take; must not outlive the arena.
  ForeignMemory memory(int device) {
    ForeignMemory made = foreign_memory(gpu::MemoryKind::Device, device);
    made.allocate = [this](size_t bytes) {
      if (pieces_.use_count() == 1) used_ = kept_;
      std::byte* const piece = take(bytes);
      return std::shared_ptr<std::byte>(piece, [kept = pieces_](std::byte*) {});
    };
    return made;
  }

 private:
  static constexpr size_t kUnit = 256;
  static constexpr size_t kStart = 3 * kUnit;  // no buffer begins at the allocation's start
  size_t bytes_;
  std::byte* begin_ = nullptr;
  size_t used_ = kStart;
  size_t kept_ = kStart;
  std::shared_ptr<int> pieces_ = std::make_shared<int>();  // held by every piece of a trial
};

/// Registers a piece of memory for its lifetime.
class Registered {
 public:
  Registered(rondo_comm_t comm, void* memory, size_t bytes) : comm_(comm) {
    check(rondo_register(comm, memory, bytes, &handle_), comm);
  }
  Registered(rondo_comm_t comm, const Arena& arena) : Registered(comm, arena.begin(), arena.bytes()) {}
  ~Registered() {
    if (handle_ != nullptr) rondo_deregister(comm_, handle_);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

  rondo_status_t deregister() {
    const rondo_status_t status = rondo_deregister(comm_, handle_);
    if (status == RONDO_OK) handle_ = nullptr;
    return status;
  }

 private:
  rondo_comm_t comm_;
  void* handle_ = nullptr;
};

/// All ranks call until peers read each rank's inputs, at these addresses, in place.
inline void await_direct(const Rank& rank, const std::vector<const void*>& inputs, Device& device,
                         int limit_s = 20) {
  constexpr size_t kCount = 3;
  int64_t* const all = device.ints(kCount * static_cast<size_t>(rank.size), 0);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(limit_s);
  for (int all_direct = 0; all_direct == 0;) {
    require(std::chrono::steady_clock::now() < end, "peers never read registered memory in place");
    int direct = 1;
    for (const void* const input : inputs) {
      check(rondo_all_gather(input, all, kCount, RONDO_INT64, rank.comm, nullptr), rank.comm);
      direct &= last_algorithm(rank) == "gpu_windows" ? 1 : 0;
    }
    check(rondo_all_reduce(&direct, &all_direct, 1, RONDO_INT32, RONDO_MIN, rank.comm, nullptr), rank.comm);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline void await_direct(const Rank& rank, Arena& arena, Device& device) {
  await_direct(rank, {arena.ints(3, rank.rank)}, device);
}

}  // namespace rondo::test
