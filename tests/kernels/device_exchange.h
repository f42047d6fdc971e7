// SPDX-License-Identifier: Apache-2.0
// One collective of all ranks by device code compiled for the host, and its expected results.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/algorithm.h"
#include "collective_result.h"
#include "device_world.h"
#include "shapes.h"

namespace rondo {

/// The operand of rank `rank` at `index`: small, so that sums are exact in every type.
template <class T>
T operand(int rank, size_t index) {
  return static_cast<T>(static_cast<int>((static_cast<size_t>(rank) * 7 + index * 3 + 1) % 13));
}

template <class T>
T sum_of(int first, int end, size_t index) {
  T sum{};
  for (int rank = first; rank < end; ++rank) sum = static_cast<T>(sum + operand<T>(rank, index));
  return sum;
}

/// The expected value at `index` of the rank's output; nullopt if it must stay unchanged.
template <class T>
std::optional<T> expected(const Shape& shape, int rank, size_t count, size_t index) {
  const bool blocks = traits(shape.kind).receives_blocks();
  const auto block = blocks ? static_cast<int>(index / count) : 0;
  const auto from = test::block_result(shape.kind, shape.nranks, shape.root, rank, block);
  if (!from) return std::nullopt;
  const size_t first = static_cast<size_t>(from->block) * count;
  return sum_of<T>(from->first, from->end, first + (blocks ? index % count : index));
}

/// One call of all ranks, with its own buffers.
template <class T>
class Exchange {
 public:
  Exchange(const Algorithm& algorithm, const Shape& shape, size_t count, ElementType type,
           const DeviceWorld::Options& options)
      : shape_(shape), count_(count), health_(static_cast<size_t>(shape.nranks)) {
    const size_t chunk = options.slot_bytes / static_cast<size_t>(algorithm.max_count(shape)) / sizeof(T);
    const Chunks chunks = chunks_of(shape, algorithm.parts(shape));
    const Chunks blocks = chunks_of(shape, 1);
    for (int rank = 0; rank < shape.nranks; ++rank) {
      inputs_.emplace_back(count * static_cast<size_t>(blocks.input) + 1);
      outputs_.emplace_back(count * static_cast<size_t>(blocks.output) + 1, kUntouched);
      for (size_t i = 0; i < inputs_.back().size(); ++i) inputs_.back()[i] = operand<T>(rank, i);
      device::CallParams call;
      call.input = reinterpret_cast<const std::byte*>(inputs_.back().data());
      call.output = reinterpret_cast<std::byte*>(outputs_.back().data());
      const auto lay = [&](int buffer_chunks) {
        return BufferLayout::blocks(count, sizeof(T), buffer_chunks, chunk, chunks.parts);
      };
      call.layout = {lay(chunks.input), lay(chunks.output), chunk * sizeof(T), 1};
      call.layout.tiles = std::max(call.layout.input.tiles(), call.layout.output.tiles());
      if (reduces(shape.kind)) {
        call.type = type;
        call.type_bytes = sizeof(T);
      }
      call.signature.count = count;
      call.signature.kind = shape.kind;
      call.health = &health_[static_cast<size_t>(rank)];
      calls_.push_back(call);
    }
  }

  std::vector<device::CallParams>& calls() { return calls_; }
  device::CallHealth& health(int rank) { return health_[static_cast<size_t>(rank)]; }

  /// Resets all outputs.
  void forget() {
    for (auto& output : outputs_) std::fill(output.begin(), output.end(), kUntouched);
  }
  /// Whether the rank's output was never written.
  bool untouched(int rank) const {
    const auto& output = outputs_[static_cast<size_t>(rank)];
    return std::all_of(output.begin(), output.end(), [](T value) { return value == kUntouched; });
  }
  /// Describes the first wrong element; empty if there is none.
  std::string fault() const {
    for (int rank = 0; rank < shape_.nranks; ++rank) {
      const auto& output = outputs_[static_cast<size_t>(rank)];
      for (size_t i = 0; i < output.size(); ++i) {
        const bool behind = i + 1 == output.size();
        const T right = behind ? kUntouched : expected<T>(shape_, rank, count_, i).value_or(kUntouched);
        if (output[i] != right)
          return "rank " + std::to_string(rank) + ", element " + std::to_string(i) + " of the output";
      }
    }
    return "";
  }

 private:
  static constexpr T kUntouched = T(119);

  Shape shape_;
  size_t count_;
  std::vector<std::vector<T>> inputs_;
  std::vector<std::vector<T>> outputs_;
  std::vector<device::CallHealth> health_;
  std::vector<device::CallParams> calls_;
};

}  // namespace rondo
