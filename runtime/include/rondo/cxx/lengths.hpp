// SPDX-License-Identifier: Apache-2.0
/**
 * @file lengths.hpp
 * @brief How calls of rondo.hpp divide buffers among the ranks, and what they say of lengths that do not fit.
 */
#pragma once

#include <rondo/cxx/buffer.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace rondo {

/// How a buffer is divided among the ranks, for the calls with a length for each rank. Calls read it before
/// they return.
class Parts {
 public:
  /// Rank r has counts[r] elements, which follow those of rank r - 1.
  template <typename Counts>
  requires std::convertible_to<const Counts&, std::span<const std::size_t>> Parts(const Counts& counts)
      : counts_(counts) {}
  /// Rank r has counts[r] elements, from displs[r] on.
  Parts(std::span<const std::size_t> counts, std::span<const std::size_t> displs)
      : counts_(counts), displs_(displs), has_displs_(true) {}

  /// The number of elements of each rank.
  std::span<const std::size_t> counts() const noexcept { return counts_; }
  /// The offsets as the C API takes them.
  const std::size_t* displs() const noexcept { return has_displs_ ? displs_.data() : nullptr; }
  /// The offset of a rank's elements.
  std::size_t begin_of(std::size_t rank) const noexcept {
    if (has_displs_) return displs_[rank];
    std::size_t begin = 0;
    for (const std::size_t count : counts_.first(rank)) begin += count;
    return begin;
  }

  /// What is wrong with it for this number of ranks and elements, as "counts has ..."; empty if nothing is.
  std::string fault(std::size_t ranks, std::size_t elements) const {
    if (counts_.size() != ranks) return wrong_length("counts", counts_.size(), ranks);
    if (has_displs_ && displs_.size() != ranks) return wrong_length("displs", displs_.size(), ranks);
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t begin = has_displs_ ? displs_[rank] : next;
      if (begin > elements || counts_[rank] > elements - begin)
        return "rank " + std::to_string(rank) + " has " + std::to_string(counts_[rank]) + " elements from " +
               std::to_string(begin) + " on: they must lie within " + std::to_string(elements);
      next = begin + counts_[rank];
    }
    return {};
  }

 private:
  static std::string wrong_length(const char* name, std::size_t length, std::size_t ranks) {
    return std::string(name) + " has " + std::to_string(length) + " numbers: it must have " +
           std::to_string(ranks) + ", one a rank";
  }

  std::span<const std::size_t> counts_;
  std::span<const std::size_t> displs_;
  bool has_displs_ = false;
};

namespace detail {

template <typename T, typename U>
std::string length_fault(const char* name, std::span<T> buffer, const char* other_name, std::span<U> other) {
  return std::string(name) + " has " + std::to_string(buffer.size()) + " elements: it must have " +
         std::to_string(other.size()) + ", as " + other_name + " has";
}

/// A rank among others, and its share of their buffers. The faults say why lengths do not fit, and are empty
/// if they do, or if there are no ranks: the C call then refuses the null communicator.
struct Ranks {
  int rank = -1;
  int size = 0;

  std::size_t index() const noexcept { return static_cast<std::size_t>(rank); }
  std::size_t count() const noexcept { return static_cast<std::size_t>(size); }

  /// The buffer, or none elsewhere than at the root.
  template <typename T>
  std::span<T> used_at(int root, std::span<T> buffer) const {
    return rank == root ? buffer : std::span<T>();
  }
  template <typename T>
  std::span<T> own_block(std::span<T> all) const {
    if (size == 0) return {};
    const std::size_t block = all.size() / count();
    return all.subspan(index() * block, block);
  }
  /// Empty if the parts are wrong, which the call that gets it reports.
  template <typename T>
  std::span<T> own_part(std::span<T> all, const Parts& parts) const {
    if (size == 0 || !parts_fault(all, parts).empty()) return {};
    return all.subspan(parts.begin_of(index()), parts.counts()[index()]);
  }

  template <typename T, typename U>
  std::string blocks_fault(const char* name, std::span<T> all, const char* block_name,
                           std::span<U> block) const {
    if (size == 0 || (all.size() / count() == block.size() && all.size() % count() == 0)) return {};
    return std::string(name) + " has " + std::to_string(all.size()) + " elements: it must have " +
           std::to_string(size) + " times the " + std::to_string(block.size()) + " of " + block_name;
  }
  template <typename T>
  std::string parts_fault(std::span<T> all, const Parts& parts) const {
    return size == 0 ? std::string() : parts.fault(count(), all.size());
  }
  template <typename T, typename U>
  std::string part_fault(std::span<T> all, const Parts& parts, const char* own_name, std::span<U> own) const {
    if (size == 0) return {};
    if (std::string fault = parts_fault(all, parts); !fault.empty()) return fault;
    const std::size_t wanted = parts.counts()[index()];
    if (own.size() == wanted) return {};
    return std::string(own_name) + " has " + std::to_string(own.size()) + " elements: it must have " +
           std::to_string(wanted) + ", as counts has for this rank";
  }
};

}  // namespace detail
}  // namespace rondo
