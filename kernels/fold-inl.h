// SPDX-License-Identifier: Apache-2.0
// The loop shared by all vector kernels. Included once for each Highway target.
//
// A kernel consists of two parts:
//   Lanes  the layout of one step of elements in memory and in registers:
//            Accumulator            registers that hold a step, wide enough to compute in
//            step_bytes()           memory that a step covers
//            load(p), store(a, p)   at any alignment
//            Factor, factor(p)      the broadcast scalar of a scaled source        } if the
//            scale(a, factor)                                                      } operation
//            Divisor, divisor(n)    the broadcast divisor of the result            } is a sum
//            divide(a, divisor)                                                    }
//   Op     combines two accumulators
// All sources of a step are read before its result is written, so `out` may be any of the sources.
#if defined(RONDO_KERNELS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_KERNELS_FOLD_INL_H_
#undef RONDO_KERNELS_FOLD_INL_H_
#else
#define RONDO_KERNELS_FOLD_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace rondo {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Two accumulators: of a wider step, or of the two halves that a register of small elements unpacks to.
template <class A>
struct TwoHalves {
  A first, second;
};

template <class Op, class A>
HWY_INLINE A combine(Op op, A a, A b) {
  return op(a, b);
}

template <class Op, class A>
HWY_INLINE TwoHalves<A> combine(Op op, TwoHalves<A> a, TwoHalves<A> b) {
  return {combine(op, a.first, b.first), combine(op, a.second, b.second)};
}

/// Doubles the step size: independent registers hide the latency of loads and arithmetic.
template <class Lanes>
struct Twice {
  using Accumulator = TwoHalves<typename Lanes::Accumulator>;
  using Factor = typename Lanes::Factor;
  using Divisor = typename Lanes::Divisor;

  static HWY_INLINE size_t step_bytes() { return 2 * Lanes::step_bytes(); }
  static HWY_INLINE Accumulator load(const uint8_t* p) {
    return {Lanes::load(p), Lanes::load(p + Lanes::step_bytes())};
  }
  static HWY_INLINE void store(Accumulator a, uint8_t* p) {
    Lanes::store(a.first, p);
    Lanes::store(a.second, p + Lanes::step_bytes());
  }
  static HWY_INLINE Accumulator scale(Accumulator a, Factor factor) {
    return {Lanes::scale(a.first, factor), Lanes::scale(a.second, factor)};
  }
  static HWY_INLINE Accumulator divide(Accumulator a, Divisor divisor) {
    return {Lanes::divide(a.first, divisor), Lanes::divide(a.second, divisor)};
  }
};

/// Steps of about four registers.
template <class Lanes, size_t kRegisters = sizeof(typename Lanes::Accumulator) / HWY_MAX_BYTES>
using Wide = std::conditional_t<(kRegisters >= 4), Lanes,
                                std::conditional_t<kRegisters == 2, Twice<Lanes>, Twice<Twice<Lanes>>>>;

/// Extra policy: no scaling or division.
struct Plainly {
  template <class Lanes, class A>
  HWY_INLINE A source(size_t, A a) const {
    return a;
  }
  template <class Lanes, class A>
  HWY_INLINE A result(A a) const {
    return a;
  }
};

/// Extra policy: scales one source, divides the result, or both.
template <class Lanes>
struct ScaledAndDivided {
  explicit HWY_INLINE ScaledAndDivided(const ReduceArgs& args)
      : scaled(args.scaled_source < 0 ? SIZE_MAX : static_cast<size_t>(args.scaled_source)),
        divided(args.divisor != 1),
        factor(args.scaled_source < 0 ? typename Lanes::Factor{} : Lanes::factor(args.scalar)),
        divisor(Lanes::divisor(args.divisor)) {}

  template <class Steps, class A>
  HWY_INLINE A source(size_t index, A a) const {
    return index == scaled ? Steps::scale(a, factor) : a;
  }
  template <class Steps, class A>
  HWY_INLINE A result(A a) const {
    return divided ? Steps::divide(a, divisor) : a;
  }

  size_t scaled;
  bool divided;
  typename Lanes::Factor factor;
  typename Lanes::Divisor divisor;
};

inline size_t data_bytes(const ReduceArgs& args) { return args.count * element_info(args.type).bytes; }

/// Addresses of any number of sources.
struct ManySources {
  explicit HWY_INLINE ManySources(const ReduceArgs& args)
      : pointers(args.sources.data()), number(args.sources.size()) {}
  HWY_INLINE size_t count() const { return number; }
  HWY_INLINE const uint8_t* at(size_t index) const { return static_cast<const uint8_t*>(pointers[index]); }

  const void* const* pointers;
  size_t number;
};

/// The same for two sources, the most common case: the pointers stay in registers.
struct TwoSources {
  explicit HWY_INLINE TwoSources(const ReduceArgs& args)
      : first(static_cast<const uint8_t*>(args.sources[0])),
        second(static_cast<const uint8_t*>(args.sources[1])) {}
  static HWY_INLINE size_t count() { return 2; }
  HWY_INLINE const uint8_t* at(size_t index) const { return index == 0 ? first : second; }

  const uint8_t* first;
  const uint8_t* second;
};

/// The result of one step at byte `at` of every source.
template <class Lanes, class Op, class Sources, class Extra>
HWY_INLINE typename Lanes::Accumulator fold_step(const Sources& sources, size_t at, const Extra& extra) {
  auto result = extra.template source<Lanes>(0, Lanes::load(sources.at(0) + at));
  for (size_t k = 1; k < sources.count(); ++k) {
    result = combine(Op(), result, extra.template source<Lanes>(k, Lanes::load(sources.at(k) + at)));
  }
  return extra.template result<Lanes>(result);
}

/// Copies `bytes` bytes of less than a step to `room`, followed by zeros up to the step's end. With one
/// vector store per register if the target can: narrower stores cannot be forwarded to a vector load, which
/// stalls until all earlier stores have drained, those to a peer's lines included.
template <class Lanes>
HWY_INLINE void copy_padded(const uint8_t* from, size_t bytes, uint8_t* room) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  // What masks of loads can select.
  using Word = std::conditional_t<HWY_TARGET <= HWY_AVX3, uint8_t, uint32_t>;
  const hn::ScalableTag<Word> d;
  if (bytes % sizeof(Word) == 0) {
    for (size_t at = 0; at < Lanes::step_bytes(); at += hn::Lanes(d) * sizeof(Word)) {
      const size_t left = at < bytes ? (bytes - at) / sizeof(Word) : 0;
      const auto mask = hn::FirstN(d, std::min(left, hn::Lanes(d)));
      hn::Store(hn::MaskedLoad(mask, d, reinterpret_cast<const Word*>(from + at)), d,
                reinterpret_cast<Word*>(room + at));
    }
    return;
  }
#endif
  std::memset(room, 0, Lanes::step_bytes());
  std::memcpy(room, from, bytes);
}

/// Handles less than one step, by way of padded copies.
template <class Lanes, class Op, class Sources, class Extra>
HWY_INLINE void fold_scrap(const Sources& sources, uint8_t* out, size_t bytes, const Extra& extra) {
  HWY_ALIGN uint8_t room[4 * HWY_MAX_BYTES];
  copy_padded<Lanes>(sources.at(0), bytes, room);
  auto result = extra.template source<Lanes>(0, Lanes::load(room));
  for (size_t k = 1; k < sources.count(); ++k) {
    copy_padded<Lanes>(sources.at(k), bytes, room);
    result = combine(Op(), result, extra.template source<Lanes>(k, Lanes::load(room)));
  }
  Lanes::store(extra.template result<Lanes>(result), room);
  std::memcpy(out, room, bytes);
}

/// Whether there are Lanes of a given number of bytes, up to a step of these.
template <class Lanes>
concept HasShortSteps = requires {
  typename Lanes::template Short<8>;
};

/// Folds data that is just so long in a register of that length: without a mask, whose loads may cross into
/// the next cache line, and without padding.
template <class Lanes, class Op, size_t kBytes, class Sources>
HWY_INLINE bool fold_short(const Sources& sources, uint8_t* out, size_t bytes) {
  if constexpr (kBytes < Lanes::kElementBytes || kBytes > HWY_MAX_BYTES)
    return false;
  else {
    using Short = typename Lanes::template Short<kBytes>;
    if (bytes == kBytes) Short::store(fold_step<Short, Op>(sources, 0, Plainly()), out);
    return bytes == kBytes;
  }
}

/// The last step ends at the end of the data and may overlap the one before it. Because `out` may be a
/// source, it is computed before anything is stored, and it is stored last.
template <class Lanes, class Op, class Sources, class Extra>
HWY_INLINE void fold_sources(const Sources& sources, uint8_t* out, size_t bytes, const Extra& extra) {
  using WideLanes = Wide<Lanes>;
  if (bytes < Lanes::step_bytes()) return fold_scrap<Lanes, Op>(sources, out, bytes, extra);
  const size_t last = bytes - Lanes::step_bytes();
  const auto last_result = fold_step<Lanes, Op>(sources, last, extra);
  size_t at = 0;
  if constexpr (!std::is_same_v<WideLanes, Lanes>) {
    for (; bytes - at > WideLanes::step_bytes(); at += WideLanes::step_bytes()) {
      WideLanes::store(fold_step<WideLanes, Op>(sources, at, extra), out + at);
    }
  }
  for (; at < last; at += Lanes::step_bytes()) {
    Lanes::store(fold_step<Lanes, Op>(sources, at, extra), out + at);
  }
  Lanes::store(last_result, out + last);
}

// Each loop is a separate function, not inlined: compilers take much longer on one function with many loops.
template <class Lanes, class Op>
HWY_NOINLINE void fold_two(const ReduceArgs& args) {
  const TwoSources sources(args);
  auto* const out = static_cast<uint8_t*>(args.out);
  const size_t bytes = data_bytes(args);
  if constexpr (HasShortSteps<Lanes>) {
    if (fold_short<Lanes, Op, 4>(sources, out, bytes) || fold_short<Lanes, Op, 8>(sources, out, bytes) ||
        fold_short<Lanes, Op, 16>(sources, out, bytes) || fold_short<Lanes, Op, 32>(sources, out, bytes))
      return;
  }
  fold_sources<Lanes, Op>(sources, out, bytes, Plainly());
}

template <class Lanes, class Op>
HWY_NOINLINE void fold_many(const ReduceArgs& args) {
  fold_sources<Lanes, Op>(ManySources(args), static_cast<uint8_t*>(args.out), data_bytes(args), Plainly());
}

template <class Lanes, class Op>
HWY_NOINLINE void fold_scaled_and_divided(const ReduceArgs& args) {
  fold_sources<Lanes, Op>(ManySources(args), static_cast<uint8_t*>(args.out), data_bytes(args),
                          ScaledAndDivided<Lanes>(args));
}

/// Combines the sources, ignoring scalar and divisor.
template <class Lanes, class Op>
HWY_INLINE void fold(const ReduceArgs& args) {
  if (args.sources.size() == 2) {
    fold_two<Lanes, Op>(args);
  } else {
    fold_many<Lanes, Op>(args);
  }
}

/// Combines the sources, applying scalar and divisor.
template <class Lanes, class Op>
HWY_INLINE void fold_extended(const ReduceArgs& args) {
  if (args.scaled_source < 0 && args.divisor == 1) {
    fold<Lanes, Op>(args);
  } else {
    fold_scaled_and_divided<Lanes, Op>(args);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rondo
HWY_AFTER_NAMESPACE();

#endif
