// SPDX-License-Identifier: Apache-2.0
// The seam between device code and the machine, for nvcc: defines lanes and how they access memory.
// twin/device.h is the same for g++. Device code uses CUDA built-ins and PTX only through this file.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "base/element.h"
#include "kernels/small_float.h"
#include "word.h"

/// Device functions that are always inlined, and ones that are never inlined.
#define RONDO_DEVICE __device__ __forceinline__
#define RONDO_DEVICE_CALLED __device__ __noinline__

namespace rondo::device {

/// The 16 bytes that a lane moves at once.
struct alignas(16) Pack {
  uint32_t words[4];
};

template <class To, class From>
RONDO_DEVICE To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

/// Two words, each of which is read and written as a whole.
struct alignas(16) Words {
  uint64_t first;
  uint64_t second;
};

/// How many threads of a block move an LL128 line together, and how many Packs each.
inline constexpr uint32_t kLineLanes = 8;
inline constexpr uint32_t kLinePacks = 1;

/// A waiting thread's polls per poll of host memory, which takes a microsecond.
inline constexpr uint32_t kLooksPerStop = 1000;

/// Accesses to memory that other lanes may use; ordered only by barriers and by the words below.
template <class T>
RONDO_DEVICE T read(const T* at) {
  return *at;
}
template <class T>
RONDO_DEVICE void write(T* at, const T& value) {
  *at = value;
}
RONDO_DEVICE Pack read(const Pack* at) {
  const uint4 value = *reinterpret_cast<const uint4*>(at);
  return {{value.x, value.y, value.z, value.w}};
}
/// One 16-byte store. For a plain assignment the compiler emits four stores if it has computed each word.
RONDO_DEVICE void write(Pack* at, const Pack& pack) {
  asm volatile("st.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(pack.words[0]), "r"(pack.words[1]),
               "r"(pack.words[2]), "r"(pack.words[3])
               : "memory");
}

RONDO_DEVICE uint64_t load_acquire(Word word, const uint64_t* at) {
  uint64_t value;
  if (stays_on_device(word))
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  else
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
RONDO_DEVICE void store_release(Word word, uint64_t* at, uint64_t value) {
  if (stays_on_device(word))
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
  else
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
RONDO_DEVICE uint64_t load_relaxed(const uint64_t* at) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}

/// Released only has to order the writes of a later message after the reads of an earlier one. That needs no
/// fence, which would wait for everything the block has sent: the loaded values were used before the barrier
/// that precedes the store, and no store is issued before the branch that it depends on. PTX guarantees this
/// only for releases and acquires, but GPUs do it. Lines do not need it: a reader that finds a later
/// message's line keeps waiting, and releases nothing.
RONDO_DEVICE void store_after_reads(uint64_t* at, uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
RONDO_DEVICE uint64_t load_before_writes(const uint64_t* at) { return load_relaxed(at); }

/// LL lines need no fence, since each word contains its flag. PTX treats a vector access as scalar accesses
/// in any order, and each 64-bit one as indivisible: a word arrives whole or not at all, but the two
/// independently.
RONDO_DEVICE Words load_words(const Words* at) {
  Words words;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(at)
               : "memory");
  return words;
}
RONDO_DEVICE void store_words(Words* at, const Words& words) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(words.first), "l"(words.second)
               : "memory");
}

RONDO_DEVICE uint64_t exchange(uint64_t* at, uint64_t value) {
  return atomicExch_system(reinterpret_cast<unsigned long long*>(at), value);
}
/// Returns the previous value.
RONDO_DEVICE uint64_t add(uint64_t* at, uint64_t value) {
  return atomicAdd_system(reinterpret_cast<unsigned long long*>(at), value);
}

/// The threads of a block. All threads' accesses before barrier() or any() are visible to all after it.
class Block {
 public:
  RONDO_DEVICE uint32_t thread() const { return threadIdx.x; }
  RONDO_DEVICE uint32_t threads() const { return blockDim.x; }
  RONDO_DEVICE void barrier() { __syncthreads(); }
  /// A barrier; whether any thread passed true.
  RONDO_DEVICE bool any(bool so) { return __syncthreads_or(so) != 0; }
  /// Called while a thread polls a word.
  RONDO_DEVICE void pause() {}

  // Called together by kLineLanes threads, the first of which has a multiple of kLineLanes as its index:

  /// An LL128 line, with each thread holding its Packs. PTX does not guarantee that the eight accesses to an
  /// aligned line are performed, and observed at the other end, as one; memory and NVLink do so on the GPUs
  /// for which LL128 may be selected.
  RONDO_DEVICE void load_line(const Pack* line, Pack (&mine)[kLinePacks]) {
    __syncwarp(group());
    mine[0] = bits_as<Pack>(load_words(reinterpret_cast<const Words*>(line) + place()));
  }
  RONDO_DEVICE void store_line(Pack* line, const Pack (&mine)[kLinePacks]) {
    __syncwarp(group());
    store_words(reinterpret_cast<Words*>(line) + place(), bits_as<Words>(mine[0]));
  }
  /// The value passed by the group's last thread.
  RONDO_DEVICE uint64_t of_last(uint64_t value) {
    return __shfl_sync(group(), value, kLineLanes - 1, kLineLanes);
  }

 private:
  static RONDO_DEVICE uint32_t place() { return threadIdx.x % kLineLanes; }
  static RONDO_DEVICE uint32_t group() { return 0xFFu << (threadIdx.x % 32 - place()); }
};

/// Small floats to float32 and back, as kernels/small_float.h defines it: in software, unless a function
/// below uses the GPU's instructions for the type.
template <SmallFloat T>
RONDO_DEVICE float widen(T value) {
  return to_float(value);
}
template <SmallFloat T>
RONDO_DEVICE T narrow(float value) {
  return round_to<T>(value);
}

RONDO_DEVICE float widen(Float16 value) { return __half2float(__ushort_as_half(value.bits)); }
RONDO_DEVICE float widen(BFloat16 value) { return __uint_as_float(static_cast<uint32_t>(value.bits) << 16); }
RONDO_DEVICE float widen(Float8E4M3 value) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E4M3)));
}
RONDO_DEVICE float widen(Float8E5M2 value) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E5M2)));
}

template <>
RONDO_DEVICE Float16 narrow<Float16>(float value) {
  return {isnan(value) ? uint16_t{0x7E00} : __half_as_ushort(__float2half_rn(value))};
}
template <>
RONDO_DEVICE BFloat16 narrow<BFloat16>(float value) {
  if (isnan(value)) return {0x7FC0};
  const uint32_t bits = __float_as_uint(value);
  return {static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}
template <>
RONDO_DEVICE Float8E4M3 narrow<Float8E4M3>(float value) {
  return {isnan(value) ? uint8_t{0x7F} : __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)};
}
template <>
RONDO_DEVICE Float8E5M2 narrow<Float8E5M2>(float value) {
  return {isnan(value) ? uint8_t{0x7E} : __nv_cvt_float_to_fp8(value, __NV_NOSAT, __NV_E5M2)};
}

}  // namespace rondo::device
