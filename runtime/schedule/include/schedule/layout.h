// Layout: turns (tile, buffer, chunk) of a Schedule into bytes, for one call.
//
// A call runs its whole Schedule once per tile; in a tile every chunk is at most `tile_bytes` long, so that a
// Step's chunks fit a slot and no ring stops with everybody sending. Both ends of a connection compute the
// same lengths. From the second tile on, both leave out a Step that has no bytes; in the first tile it is
// carried out all the same, because its slot's header carries the call's signature. Immutable: any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace rondo {

/// A run of bytes in a buffer.
struct Piece {
  size_t offset = 0;
  size_t bytes = 0;
};

/// How one buffer of a call is divided into chunks.
class BufferLayout {
 public:
  /// One vector of `count` elements in `chunks` parts: each tile is a consecutive stretch of the vector, and
  /// the parts divide the tile, so consecutive chunks of a tile are consecutive bytes.
  static BufferLayout parts(size_t count, size_t element_bytes, int chunks, size_t tile_elements);
  /// `chunks` blocks of `count` elements, one after the other; a tile is a stretch of each block.
  static BufferLayout blocks(size_t count, size_t element_bytes, int chunks, size_t tile_elements);
  /// Blocks of their own lengths and offsets, in elements.
  static BufferLayout varying(std::span<const size_t> counts, std::span<const size_t> offsets,
                              size_t element_bytes, size_t tile_elements);

  Piece piece(size_t tile, int chunk) const;
  /// Elements of a block over all tiles (of the vector, where chunks are its parts).
  size_t elements(int chunk) const;
  size_t tiles() const;

 private:
  enum class Form { Parts, Blocks, Varying };
  Form form_ = Form::Parts;
  size_t count_ = 0;
  size_t element_bytes_ = 1;
  int chunks_ = 1;
  size_t tile_elements_ = 1;
  std::vector<size_t> counts_;
  std::vector<size_t> offsets_;
};

/// The layouts of a call's three buffers.
struct Layout {
  BufferLayout input;
  BufferLayout output;
  size_t scratch_chunk_bytes = 0;  // room of each scratch chunk
  size_t tiles = 1;

  /// The bytes of a chunk. A scratch chunk's length is that of its chunk of the vector, see Buffer.
  Piece piece(const Schedule& schedule, size_t tile, Buffer buffer, int chunk) const;
  /// The chunk's BufferLayout::elements().
  size_t elements(const Schedule& schedule, Buffer buffer, int chunk) const;
};

}  // namespace rondo
