// SPDX-License-Identifier: Apache-2.0
/**
 * @file memory.hpp
 * @brief Memory that lets calls of rondo.hpp avoid copies: Memory, Allocator, Registration.
 */
#pragma once

#include <rondo/cxx/element.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

namespace rondo {

/// Elements in memory of rondo_mem_alloc(), which other processes of the host read in place, or in GPU memory
/// of rondo_cuda_mem_alloc(). A contiguous range, and so a buffer. Move-only; null after a move.
template <typename Errors, Element T>
class BasicMemory {
 public:
  /// What a call returns that has a U to return.
  template <typename U>
  using Outcome = typename Errors::template Outcome<U>;

  /// `count` elements of unspecified value.
  static Outcome<BasicMemory> allocate(std::size_t count) {
    return Errors::outcome(
        make(count, [](void** pointer, std::size_t bytes) { return rondo_mem_alloc(pointer, bytes); }));
  }
  /// `count` elements of unspecified value in the memory of this CUDA device. Only calls and the GPU may
  /// access them.
  static Outcome<BasicMemory> allocate_on_gpu(std::size_t count, int device) {
    return Errors::outcome(make(count, [device](void** pointer, std::size_t bytes) {
      return rondo_cuda_mem_alloc(pointer, bytes, device);
    }));
  }

  /// Whether there is any.
  explicit operator bool() const noexcept { return data_ != nullptr; }
  T* data() noexcept { return data_.get(); }              ///< The first element.
  const T* data() const noexcept { return data_.get(); }  ///< The first element.
  /// The number of elements.
  std::size_t size() const noexcept { return data_ ? data_.get_deleter().count : 0; }
  T* begin() noexcept { return data(); }                                        ///< As of any range.
  T* end() noexcept { return data() + size(); }                                 ///< As of any range.
  const T* begin() const noexcept { return data(); }                            ///< As of any range.
  const T* end() const noexcept { return data() + size(); }                     ///< As of any range.
  T& operator[](std::size_t i) noexcept { return data_.get()[i]; }              ///< An element.
  const T& operator[](std::size_t i) const noexcept { return data_.get()[i]; }  ///< An element.

 private:
  struct Freeing {
    std::size_t count = 0;
    void operator()(T* data) const noexcept { rondo_mem_free(data); }
  };

  BasicMemory(T* data, std::size_t count) noexcept : data_(data, Freeing{count}) {}

  template <typename Allocate>
  static Result<BasicMemory> make(std::size_t count, Allocate&& allocate) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
      return detail::refused("Memory", "count is " + std::to_string(count) + ", more than memory can hold");
    void* memory = nullptr;
    if (auto result = detail::checked(allocate(&memory, count * sizeof(T))); !result) return result.error();
    return BasicMemory(static_cast<T*>(memory), count);
  }

  std::unique_ptr<T, Freeing> data_;
};

#ifdef __cpp_exceptions
/// An allocator of such host memory: std::vector<float, rondo::Allocator<float>>. Each allocation has pages
/// of its own, so it suits long vectors.
template <Element T>
struct Allocator {
  using value_type = T;  ///< As of any allocator.

  Allocator() = default;  ///< It has no state.
  template <typename U>
  Allocator(const Allocator<U>&) noexcept {}  ///< It has no state.

  /// Memory for `count` elements; throws std::bad_alloc.
  T* allocate(std::size_t count) {
    void* pointer = nullptr;
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    if (rondo_mem_alloc(&pointer, count * sizeof(T)) != RONDO_OK) throw std::bad_alloc();
    return static_cast<T*>(pointer);
  }
  /// Frees it.
  void deallocate(T* pointer, std::size_t) noexcept { rondo_mem_free(pointer); }
  /// Any frees what another has allocated.
  friend bool operator==(const Allocator&, const Allocator&) noexcept { return true; }
};
#endif

/// Memory that is registered with a communicator (rondo_register()). Move-only; null after a move. It must
/// end before the memory and before the communicator.
template <typename Errors>
class BasicRegistration {
 public:
  /// What a call returns that has a T to return.
  template <typename T>
  using Outcome = typename Errors::template Outcome<T>;

  /// Whether it is one, and was neither closed nor moved from.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// Ends it. After an error with Code::in_progress or Code::timeout peers still have the memory open: call
  /// it again before freeing that.
  Outcome<void> close() {
    if (handle_ == nullptr) return Errors::outcome(Result<void>());
    const rondo_comm_t comm = handle_.get_deleter().comm;
    Result<void> result = detail::checked(rondo_deregister(comm, handle_.get()), comm);
    if (result) static_cast<void>(handle_.release());
    return Errors::outcome(std::move(result));
  }

 private:
  template <typename E>
  friend class BasicCommunicator;

  struct Deregistering {
    rondo_comm_t comm = nullptr;
    void operator()(void* handle) const noexcept { rondo_deregister(comm, handle); }
  };

  BasicRegistration(rondo_comm_t comm, void* handle) noexcept : handle_(handle, Deregistering{comm}) {}

  std::unique_ptr<void, Deregistering> handle_;
};

}  // namespace rondo
