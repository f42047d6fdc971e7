// SPDX-License-Identifier: Apache-2.0
/**
 * @file buffer.hpp
 * @brief What calls of rondo.hpp accept as a buffer.
 *
 * A buffer is a contiguous range of elements (std::vector, std::array, std::span, std::string, a C array,
 * rondo::Memory, ...) or a single element. It must be an lvalue or a view, as std::span is: a temporary that
 * owns its elements does not compile, as it would be gone before a started call ends. Calls keep a buffer's
 * address, never a copy of the range, and never change its length.
 */
#pragma once

#include <rondo/cxx/element.hpp>

#include <concepts>
#include <ranges>
#include <span>

namespace rondo {

namespace detail {

template <typename B>
concept BufferRange = std::ranges::contiguous_range<B> && std::ranges::sized_range<B> &&
    std::ranges::borrowed_range<B> && Element<std::ranges::range_value_t<B>>;

template <typename B>
concept BufferObject =
    !std::ranges::range<B> && std::is_lvalue_reference_v<B> && Element<std::remove_cvref_t<B>>;

template <typename B>
struct ElementInside {
  using Type = std::remove_reference_t<B>;
};
template <BufferRange B>
struct ElementInside<B> {
  using Type = std::remove_reference_t<std::ranges::range_reference_t<B>>;
};

/// The element type of a buffer, const if it may only be read.
template <typename B>
using ElementIn = typename ElementInside<B>::Type;

}  // namespace detail

/// Elements that a call may read.
template <typename B>
concept Buffer = detail::BufferRange<B> || detail::BufferObject<B>;

/// The type of a buffer's elements.
template <Buffer B>
using ElementOf = std::remove_cv_t<detail::ElementIn<B>>;

/// Elements that a call may also write.
template <typename B>
concept WritableBuffer = Buffer<B> && !std::is_const_v<detail::ElementIn<B>>;

/// A buffer to which elements of another one may be written.
template <typename Out, typename In>
concept ResultBufferOf = WritableBuffer<Out> && Buffer<In> && std::same_as<ElementOf<Out>, ElementOf<In>>;

/// A buffer's elements.
template <Buffer B>
std::span<detail::ElementIn<B>> elements_of(B&& buffer) {
  if constexpr (detail::BufferRange<B>)
    return {std::ranges::data(buffer), static_cast<std::size_t>(std::ranges::size(buffer))};
  else
    return {&buffer, 1};
}

}  // namespace rondo
