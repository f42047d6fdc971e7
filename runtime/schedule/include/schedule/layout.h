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

#include "schedule/step.h"

namespace rondo {

/// A range of bytes in a buffer.
struct Piece {
  size_t offset = 0;
  size_t bytes = 0;
};

/// How one buffer of a call is divided into chunks: it holds blocks (a vector is one block), and each block
/// consists of equally many parts. A tile is a stretch of each block, and the parts divide the stretch:
/// consecutive parts of a block are consecutive bytes of the tile.
struct BufferLayout {
  static constexpr size_t kPartAlignment = 64;  // bytes: parts begin at cache lines of their stretch

  int chunks = 1;
  int parts = 1;     // of a block: chunk b * parts + p is part p of block b
  size_t count = 0;  // elements of a block, or of the longest
  size_t element_bytes = 1;
  size_t tile_elements = 1;
  bool varying = false;             // blocks differ in length
  const size_t* counts = nullptr;   // varying: lengths of the blocks; null: all are empty
  const size_t* offsets = nullptr;  // varying: start of each block
  size_t scale = 1;                 // elements per element of the caller, the unit of counts and offsets

  /// One vector of `count` elements in `parts` parts.
  static constexpr BufferLayout vector(size_t count, size_t element_bytes, int parts, size_t tile_elements) {
    return blocks(count, element_bytes, parts, tile_elements, parts);
  }
  /// Contiguous blocks of `count` elements.
  static constexpr BufferLayout blocks(size_t count, size_t element_bytes, int chunks, size_t tile_elements,
                                       int parts = 1) {
    return {.chunks = chunks,
            .parts = parts,
            .count = count,
            .element_bytes = element_bytes,
            .tile_elements = tile_elements};
  }
  /// Blocks with individual lengths and offsets, in elements; the spans must outlive the layout. If they are
  /// empty, so are all `chunks` chunks.
  static constexpr BufferLayout varying_blocks(std::span<const size_t> counts,
                                               std::span<const size_t> offsets, size_t element_bytes,
                                               int chunks, size_t tile_elements, int parts = 1,
                                               size_t scale = 1) {
    BufferLayout layout = blocks(0, element_bytes, chunks, tile_elements, parts);
    layout.scale = scale;
    layout.varying = true;
    if (counts.empty()) return layout;
    layout.counts = counts.data();
    layout.offsets = offsets.data();
    for (const size_t one : counts) layout.count = one * scale > layout.count ? one * scale : layout.count;
    return layout;
  }

  constexpr size_t tiles() const {
    const size_t most = stretch();
    return count <= most ? 1 : divide_up(count, most);  // spares short calls the cost of a division
  }

  /// The length over all tiles of the block that a chunk is part of, in the caller's elements.
  constexpr size_t elements(int chunk) const { return block_length(block_of(chunk)) / scale; }

  constexpr Piece piece(size_t tile, int chunk) const {
    const int block = block_of(chunk);
    const size_t length = block_length(block);
    const size_t begin = lesser(length, tile * stretch());
    const size_t end = lesser(length, begin + stretch());
    const ElementRange within = part(end - begin, static_cast<size_t>(chunk - block * parts));
    return {(block_begin(block) + begin + within.begin) * element_bytes, within.length * element_bytes};
  }

 private:
  struct ElementRange {
    size_t begin;
    size_t length;
  };

  static constexpr size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }
  static constexpr size_t lesser(size_t a, size_t b) { return a < b ? a : b; }

  /// The maximum number of elements of a block in a tile.
  constexpr size_t stretch() const { return tile_elements * static_cast<size_t>(parts); }
  /// Most calls have one block or one part, and need no division.
  constexpr int block_of(int chunk) const {
    if (parts == 1) return chunk;
    return parts == chunks ? 0 : chunk / parts;
  }
  constexpr size_t block_length(int block) const {
    if (!varying) return count;
    return counts == nullptr ? 0 : counts[block] * scale;
  }
  constexpr size_t block_begin(int block) const {
    if (!varying) return static_cast<size_t>(block) * count;
    return offsets == nullptr ? 0 : offsets[block] * scale;
  }
  /// Part `index` of `length` elements.
  constexpr ElementRange part(size_t length, size_t index) const {
    if (parts == 1) return {0, length};
    size_t each = divide_up(length, static_cast<size_t>(parts));
    const size_t line = kPartAlignment > element_bytes ? kPartAlignment / element_bytes : 1;
    if (const size_t aligned = divide_up(each, line) * line; aligned <= tile_elements) each = aligned;
    const size_t begin = lesser(length, index * each);
    return {begin, lesser(length, begin + each) - begin};
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
