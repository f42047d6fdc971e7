// SPDX-License-Identifier: Apache-2.0
/**
 * @file reduction.hpp
 * @brief What reducing calls of rondo.hpp combine elements by: an Op, or a Reduction that the user defines.
 */
#pragma once

#include <rondo/cxx/buffer.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

namespace rondo {

/// A reduction that rondo.h has, for its own types.
enum class Op : int {
  sum = RONDO_SUM,                  ///< a + b; logical or on bool.
  prod = RONDO_PROD,                ///< a * b; logical and on bool.
  min = RONDO_MIN,                  ///< The lesser; not on complex.
  max = RONDO_MAX,                  ///< The greater; not on complex.
  avg = RONDO_AVG,                  ///< The sum, divided by the number of ranks; not on bool.
  bit_and = RONDO_BIT_AND,          ///< Integers and bool.
  bit_or = RONDO_BIT_OR,            ///< Integers and bool.
  bit_xor = RONDO_BIT_XOR,          ///< Integers and bool.
  logical_and = RONDO_LOGICAL_AND,  ///< Integers and bool.
  logical_or = RONDO_LOGICAL_OR,    ///< Integers and bool.
  logical_xor = RONDO_LOGICAL_XOR   ///< Integers and bool.
};

/// In which order a Reduction may combine the ranks' operands.
enum class Order {
  any,  ///< In any: it is commutative.
  rank  ///< In the order of the ranks.
};

/// A reduction of elements of type T that the user defined. Move-only; null after a move. It must outlive the
/// calls made with it, on queues too.
template <typename Errors, Element T>
class BasicReduction {
 public:
  /// One that returns `combine(left, right)`, which must be associative. It runs on threads that make calls
  /// with it, and must not throw: the program would end.
  template <std::regular_invocable<const T&, const T&> F>
  requires std::convertible_to<std::invoke_result_t<F&, const T&, const T&>, T>
  static typename Errors::template Outcome<BasicReduction> create(F combine, Order order = Order::any) {
    auto function = std::make_unique<Function<F>>(std::move(combine));
    rondo_op_t op = no_op;
    const rondo_status_t status = rondo_op_create(&apply<F>, order == Order::any, function.get(), &op);
    return Errors::outcome(made(status, std::move(function), op));
  }

  /// One that sums the elements multiplied by a scalar of each rank's own.
  static typename Errors::template Outcome<BasicReduction> premul_sum(const T& scalar) requires
      BuiltinElement<T> {
    rondo_op_t op = no_op;
    const rondo_status_t status = rondo_op_create_premul_sum(&scalar, builtin_type<T>, &op);
    return Errors::outcome(made(status, std::make_unique<AnyFunction>(), op));
  }

  /// Whether it is one, and was not moved from.
  explicit operator bool() const noexcept { return function_ != nullptr; }
  /// Its number in the C API.
  rondo_op_t get() const noexcept { return function_ ? function_.get_deleter().op : no_op; }

 private:
  static constexpr rondo_op_t no_op = -1;

  /// What one combines elements by, if that is not rondo.h's own.
  struct AnyFunction {
    virtual ~AnyFunction() = default;
  };
  template <typename F>
  struct Function : AnyFunction {
    explicit Function(F f) : call(std::move(f)) {}
    F call;
  };

  template <typename F>
  static void apply(void* accumulator, const void* operand, std::size_t count, rondo_type_t,
                    void* user) noexcept {
    F& combine = static_cast<Function<F>*>(user)->call;
    if constexpr (alignof(T) > alignof(std::max_align_t)) {
      for (std::size_t i = 0; i < count; ++i) {
        Bytes* const left = static_cast<Bytes*>(accumulator) + i;
        const Bytes* const right = static_cast<const Bytes*>(operand) + i;
        *left =
            std::bit_cast<Bytes>(static_cast<T>(combine(std::bit_cast<T>(*left), std::bit_cast<T>(*right))));
      }
    } else {
      T* const left = static_cast<T*>(accumulator);
      const T* const right = static_cast<const T*>(operand);
      for (std::size_t i = 0; i < count; ++i) left[i] = static_cast<T>(combine(left[i], right[i]));
    }
  }

  /// An element where the library keeps it, which may be aligned for std::max_align_t only.
  using Bytes = std::array<std::byte, sizeof(T)>;

  struct Destroying {
    rondo_op_t op = no_op;
    void operator()(AnyFunction* function) const noexcept {
      rondo_op_destroy(op);
      delete function;
    }
  };

  BasicReduction(std::unique_ptr<AnyFunction> function, rondo_op_t op) noexcept
      : function_(function.release(), Destroying{op}) {}

  static Result<BasicReduction> made(rondo_status_t status, std::unique_ptr<AnyFunction> function,
                                     rondo_op_t op) {
    if (Result<void> result = detail::checked(status); !result) return result.error();
    return BasicReduction(std::move(function), op);
  }

  std::unique_ptr<AnyFunction, Destroying> function_;
};

/// The argument of a call that reduces elements of type T: an Op or a BasicReduction of T.
template <Element T>
class Reducer {
 public:
  /// One of rondo.h's.
  Reducer(Op op) noexcept requires BuiltinElement<T> : op_(static_cast<rondo_op_t>(op)) {}
  /// A user's.
  template <typename Errors>
  Reducer(const BasicReduction<Errors, T>& reduction) noexcept : op_(reduction.get()) {}
  /// Its number in the C API.
  rondo_op_t get() const noexcept { return op_; }

 private:
  rondo_op_t op_;
};

/// The argument of a call that reduces the elements of a buffer.
template <Buffer B>
using ReducerOf = std::type_identity_t<Reducer<ElementOf<B>>>;

}  // namespace rondo
