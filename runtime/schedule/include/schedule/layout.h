// SPDX-License-Identifier: Apache-2.0
// Layout: maps (tile, buffer, chunk) of a Schedule to bytes, for one call.
//
// A call runs its whole Schedule once per tile; in a tile every chunk is at most `tile_elements` long, so
// that a Step's chunks fit in a slot and no ring deadlocks with all ranks sending. Both ends of a connection
// compute the same lengths. From the second tile on, both skip a Step that has no bytes; in the first tile it
// still runs, because its slot's header carries the call's signature. Plain data and arithmetic, shared by
// host threads and CUDA blocks; immutable: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schedule/schedule.h"

namespace rondo {

/// A range of bytes in a buffer.
struct Piece {
  size_t offset = 0;
  size_t bytes = 0;
};

/// How one buffer of a call is divided into chunks.
struct BufferLayout {
  enum class Form : uint8_t { Parts, Blocks, Varying };
  static constexpr size_t kPartAlignment = 64;  // bytes: parts begin at cache lines of the buffer

  Form form = Form::Parts;
  int chunks = 1;
  size_t count = 0;  // elements: of the vector, of a block, of the longest block
  size_t element_bytes = 1;
  size_t tile_elements = 1;
  const size_t* counts = nullptr;   // Varying: lengths of the blocks; null: all are empty
  const size_t* offsets = nullptr;  // Varying: start of each block
  size_t scale = 1;                 // elements per element of the caller, the unit of counts and offsets

  /// One vector of `count` elements in `chunks` parts: each tile is a consecutive stretch of the vector, and
  /// the parts divide the tile, so consecutive chunks of a tile are consecutive bytes.
  static constexpr BufferLayout parts(size_t count, size_t element_bytes, int chunks, size_t tile_elements) {
    return {.form = Form::Parts,
            .chunks = chunks,
            .count = count,
            .element_bytes = element_bytes,
            .tile_elements = tile_elements};
  }
  /// `chunks` contiguous blocks of `count` elements; a tile is a stretch of each block.
  static constexpr BufferLayout blocks(size_t count, size_t element_bytes, int chunks, size_t tile_elements) {
    BufferLayout layout = parts(count, element_bytes, chunks, tile_elements);
    layout.form = Form::Blocks;
    return layout;
  }
  /// Blocks with individual lengths and offsets, in elements; the spans must outlive the layout. If they are
  /// empty, so are all `chunks` blocks.
  static constexpr BufferLayout varying(std::span<const size_t> counts, std::span<const size_t> offsets,
                                        size_t element_bytes, int chunks, size_t tile_elements,
                                        size_t scale = 1) {
    BufferLayout layout = parts(0, element_bytes, chunks, tile_elements);
    layout.scale = scale;
    layout.form = Form::Varying;
    if (counts.empty()) return layout;
    layout.counts = counts.data();
    layout.offsets = offsets.data();
    for (const size_t one : counts) layout.count = one * scale > layout.count ? one * scale : layout.count;
    return layout;
  }

  constexpr size_t tiles() const {
    const size_t most = form == Form::Parts ? tile_elements * static_cast<size_t>(chunks) : tile_elements;
    return count <= most ? 1 : divide_up(count, most);  // spares short calls the cost of a division
  }

  /// A block's length over all tiles, in the caller's elements (the vector's, if chunks are its parts).
  constexpr size_t elements(int chunk) const {
    if (form != Form::Varying) return count / scale;
    return counts == nullptr ? 0 : counts[chunk];
  }

  constexpr Piece piece(size_t tile, int chunk) const {
    if (form == Form::Parts) return part(tile, static_cast<size_t>(chunk));
    const size_t length = elements(chunk) * scale;
    const size_t begin = lesser(length, tile * tile_elements);
    const size_t end = lesser(length, begin + tile_elements);
    return {(block_begin(chunk) + begin) * element_bytes, (end - begin) * element_bytes};
  }

 private:
  static constexpr size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }
  static constexpr size_t lesser(size_t a, size_t b) { return a < b ? a : b; }

  constexpr size_t block_begin(int chunk) const {
    if (form == Form::Blocks) return static_cast<size_t>(chunk) * count;
    return offsets == nullptr ? 0 : offsets[chunk] * scale;
  }
  constexpr Piece part(size_t tile, size_t index) const {
    const size_t most = tile_elements * static_cast<size_t>(chunks);
    if (tile * most >= count) return {count * element_bytes, 0};
    const size_t length = lesser(count - tile * most, most);
    if (chunks == 1) return {tile * most * element_bytes, length * element_bytes};
    size_t each = divide_up(length, static_cast<size_t>(chunks));
    const size_t line = kPartAlignment > element_bytes ? kPartAlignment / element_bytes : 1;
    if (const size_t aligned = divide_up(each, line) * line; aligned <= tile_elements) each = aligned;
    const size_t begin = lesser(length, index * each);
    const size_t end = lesser(length, begin + each);
    return {(tile * most + begin) * element_bytes, (end - begin) * element_bytes};
  }
};

/// The layouts of a call's three buffers.
struct Layout {
  BufferLayout input;
  BufferLayout output;
  size_t scratch_chunk_bytes = 0;  // capacity of each scratch chunk
  size_t tiles = 1;

  /// The bytes of a chunk. For the length of a scratch chunk see Buffer.
  constexpr Piece piece(size_t tile, Buffer buffer, int chunk) const {
    switch (buffer) {
      case Buffer::Input: return input.piece(tile, chunk);
      case Buffer::Output: return output.piece(tile, chunk);
      case Buffer::Scratch:
        return {static_cast<size_t>(chunk) * scratch_chunk_bytes,
                longer().piece(tile, chunk % longer().chunks).bytes};
      case Buffer::None: break;
    }
    return {};
  }
  /// The chunk's BufferLayout::elements().
  constexpr size_t elements(Buffer buffer, int chunk) const {
    if (buffer == Buffer::Input) return input.elements(chunk);
    if (buffer == Buffer::Output) return output.elements(chunk);
    return longer().elements(chunk % longer().chunks);
  }

 private:
  constexpr const BufferLayout& longer() const { return input.chunks >= output.chunks ? input : output; }
};

}  // namespace rondo
