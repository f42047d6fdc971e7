// SPDX-License-Identifier: Apache-2.0
// One call of a _v form by all ranks, by device code compiled for the host: blocks of random lengths, some
// empty, with gaps between them.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "collective_result.h"
#include "device_world.h"
#include "shapes.h"

namespace rondo {

template <class T>
class VaryingExchange {
 public:
  VaryingExchange(const Algorithm& algorithm, const Shape& shape, size_t most, ElementType type,
                  const DeviceWorld::Options& options, std::mt19937_64& random)
      : shape_(shape), parts_(algorithm.parts(shape)), ranks_(static_cast<size_t>(shape.nranks)) {
    draw_lengths(most, random);
    const size_t chunk = options.slot_bytes / static_cast<size_t>(algorithm.max_count(shape)) / sizeof(T);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      place(rank.input, lengths_of(r, true));
      place(rank.output, lengths_of(r, false));
      for (size_t b = 0; b < rank.input.counts.size(); ++b)
        for (size_t i = 0; i < rank.input.counts[b]; ++i) rank.input.at(b, i) = sent(r, b, i);
      device::CallParams& call = calls_.emplace_back();
      call.input = reinterpret_cast<const std::byte*>(rank.input.memory.data());
      call.output = reinterpret_cast<std::byte*>(rank.output.memory.data());
      call.layout = {lay(rank.input, has_all(true), chunk), lay(rank.output, has_all(false), chunk),
                     chunk * sizeof(T), 1};
      call.layout.tiles = std::max(call.layout.input.tiles(), call.layout.output.tiles());
      if (reduces(shape.kind)) {
        call.type = type;
        call.type_bytes = sizeof(T);
      }
      call.signature.kind = shape.kind;
      call.signature.varying = 1;
      call.health = &rank.health;
    }
  }

  std::vector<device::CallParams>& calls() { return calls_; }

  /// Describes the first wrong element; empty if there is none.
  std::string fault() const {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const Side& output = ranks_[r].output;
      Side right;
      place(right, output.counts);
      for (size_t b = 0; b < right.counts.size(); ++b)
        for (size_t i = 0; i < right.counts[b]; ++i) right.at(b, i) = expected(r, b, i);
      const auto found =
          std::mismatch(output.memory.begin(), output.memory.end(), right.memory.begin(), right.memory.end());
      if (found.first != output.memory.end())
        return "rank " + std::to_string(r) + ", element " +
               std::to_string(found.first - output.memory.begin()) + " of the output";
    }
    return "";
  }

 private:
  static constexpr T kUntouched = T(119);

  /// A buffer of blocks; memory outside the blocks must stay unchanged.
  struct Side {
    std::vector<size_t> counts;
    std::vector<size_t> offsets;
    std::vector<T> memory;
    T& at(size_t block, size_t i) { return memory[offsets[block] + i]; }
  };
  struct Rank {
    Side input;
    Side output;
    device::CallHealth health;
  };

  void draw_lengths(size_t most, std::mt19937_64& random) {
    const size_t n = ranks_.size();
    lengths_.assign(n, std::vector<size_t>(n));
    for (auto& row : lengths_)
      for (size_t& length : row) length = random() % 3 == 0 ? 0 : random() % most;
    for (size_t from = 0; from < n; ++from)
      for (size_t to = 0; to < n; ++to) {
        if (!has_all(true)) lengths_[from][to] = lengths_[from][0];
        if (!has_all(false)) lengths_[from][to] = lengths_[0][to];
      }
  }

  /// Whether that buffer has a block for each rank.
  bool has_all(bool input) const {
    const CollectiveTraits& kind = traits(shape_.kind);
    return input ? kind.sends_blocks() : kind.receives_blocks();
  }
  /// Lengths of rank r's blocks; empty if it does not get them (gather_v and scatter_v, not at the root).
  std::vector<size_t> lengths_of(size_t r, bool input) const {
    if (!has_all(input)) return {input ? lengths_[r][0] : lengths_[0][r]};
    if (has_root(shape_.kind) && r != static_cast<size_t>(shape_.root)) return {};
    std::vector<size_t> lengths;
    for (size_t peer = 0; peer < ranks_.size(); ++peer)
      lengths.push_back(input ? lengths_[r][peer] : lengths_[peer][r]);
    return lengths;
  }
  static void place(Side& side, const std::vector<size_t>& counts) {
    side.counts = counts;
    size_t end = 1;
    for (const size_t count : counts) {
      side.offsets.push_back(end);
      end += count + 1;
    }
    side.memory.assign(end, kUntouched);
  }
  BufferLayout lay(const Side& side, bool all, size_t tile_elements) const {
    const int blocks = all ? shape_.nranks : 1;
    return BufferLayout::varying_blocks(side.counts, side.offsets, sizeof(T), blocks * parts_, tile_elements,
                                        parts_);
  }

  static T sent(size_t rank, size_t block, size_t i) {
    return static_cast<T>(static_cast<int>((rank * 7 + block * 5 + i * 3 + 1) % 13));
  }
  T expected(size_t r, size_t block, size_t i) const {
    const auto from = test::block_result(shape_.kind, shape_.nranks, shape_.root, static_cast<int>(r),
                                         static_cast<int>(block))
                          .value();
    T sum{};
    for (int rank = from.first; rank < from.end; ++rank)
      sum = static_cast<T>(sum + sent(static_cast<size_t>(rank), static_cast<size_t>(from.block), i));
    return sum;
  }

  Shape shape_;
  int parts_;
  std::vector<std::vector<size_t>> lengths_;  // from rank, to rank
  std::vector<Rank> ranks_;
  std::vector<device::CallParams> calls_;
};

}  // namespace rondo
