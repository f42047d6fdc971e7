// SPDX-License-Identifier: Apache-2.0
// Layout: pieces tile a buffer exactly once, and both ends of a connection agree.
#include "schedule/layout.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "catch.h"
#include "seed.h"

using namespace rondo;

namespace {

/// All non-empty pieces of a layout, in order of offset.
std::vector<Piece> all_pieces(const BufferLayout& layout, int chunks, size_t tiles) {
  std::vector<Piece> pieces;
  for (size_t tile = 0; tile < tiles; ++tile)
    for (int chunk = 0; chunk < chunks; ++chunk)
      if (const Piece piece = layout.piece(tile, chunk); piece.bytes > 0) pieces.push_back(piece);
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
  return pieces;
}

bool covers_exactly(const std::vector<Piece>& pieces, size_t bytes) {
  size_t end = 0;
  for (const Piece& piece : pieces) {
    if (piece.offset != end) return false;
    end += piece.bytes;
  }
  return end == bytes;
}

size_t below(std::mt19937_64& random, size_t bound) { return static_cast<size_t>(random() % bound); }

struct Draw {
  size_t count;
  size_t element;
  int chunks;
  size_t tile;
};

Draw draw(std::mt19937_64& random) {
  static constexpr size_t kElements[] = {1, 2, 4, 8, 16, 12, 100};
  const size_t most = below(random, 4) == 0 ? 5 : 5000;
  return {below(random, most), kElements[below(random, 7)], 1 + static_cast<int>(below(random, 17)),
          1 + below(random, 200)};
}

int draw_parts(std::mt19937_64& random) { return 1 + static_cast<int>(below(random, 4)); }

}  // namespace

TEST_CASE("parts tile the vector exactly once, and no chunk exceeds its tile's share") {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937_64 random(test::test_seed(seed));
    const Draw d = draw(random);
    CAPTURE(seed, d.count, d.element, d.chunks, d.tile);
    const BufferLayout layout = BufferLayout::vector(d.count, d.element, d.chunks, d.tile);
    REQUIRE(covers_exactly(all_pieces(layout, d.chunks, layout.tiles()), d.count * d.element));
    for (size_t tile = 0; tile < layout.tiles(); ++tile)
      for (int chunk = 0; chunk < d.chunks; ++chunk)
        REQUIRE(layout.piece(tile, chunk).bytes <= d.tile * d.element);
    REQUIRE(layout.piece(layout.tiles(), 0).bytes == 0);
    REQUIRE(layout.elements(0) == d.count);
  }
}

TEST_CASE("consecutive parts of a tile are adjacent in memory") {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(test::test_seed(seed));
    const Draw d = draw(random);
    CAPTURE(seed, d.count, d.element, d.chunks, d.tile);
    const BufferLayout layout = BufferLayout::vector(d.count, d.element, d.chunks, d.tile);
    for (size_t tile = 0; tile < layout.tiles(); ++tile)
      for (int chunk = 1; chunk < d.chunks; ++chunk) {
        const Piece before = layout.piece(tile, chunk - 1);
        const Piece piece = layout.piece(tile, chunk);
        if (piece.bytes > 0) REQUIRE(piece.offset == before.offset + before.bytes);
      }
  }
}

TEST_CASE("blocks tile the buffer exactly once, each piece within its own block") {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937_64 random(test::test_seed(seed));
    const Draw d = draw(random);
    const int parts = draw_parts(random);
    CAPTURE(seed, d.count, d.element, d.chunks, parts, d.tile);
    const BufferLayout layout = BufferLayout::blocks(d.count, d.element, d.chunks * parts, d.tile, parts);
    const auto blocks = static_cast<size_t>(d.chunks);
    REQUIRE(
        covers_exactly(all_pieces(layout, d.chunks * parts, layout.tiles()), d.count * d.element * blocks));
    for (size_t tile = 0; tile < layout.tiles(); ++tile)
      for (int chunk = 0; chunk < d.chunks * parts; ++chunk) {
        const Piece piece = layout.piece(tile, chunk);
        const auto block = static_cast<size_t>(chunk / parts);
        REQUIRE(piece.bytes <= d.tile * d.element);
        REQUIRE(piece.offset >= block * d.count * d.element);
        REQUIRE(piece.offset + piece.bytes <= (block + 1) * d.count * d.element);
      }
  }
}

TEST_CASE("a block is divided as a vector of its length") {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937_64 random(test::test_seed(seed));
    const Draw d = draw(random);
    const int parts = draw_parts(random);
    CAPTURE(seed, d.count, d.element, d.chunks, parts, d.tile);
    const BufferLayout blocks = BufferLayout::blocks(d.count, d.element, d.chunks * parts, d.tile, parts);
    const BufferLayout vector = BufferLayout::vector(d.count, d.element, parts, d.tile);
    REQUIRE(blocks.tiles() == vector.tiles());
    for (size_t tile = 0; tile < blocks.tiles(); ++tile)
      for (int chunk = 0; chunk < d.chunks * parts; ++chunk) {
        const auto begin = static_cast<size_t>(chunk / parts) * d.count * d.element;
        REQUIRE(blocks.piece(tile, chunk).offset == begin + vector.piece(tile, chunk % parts).offset);
        REQUIRE(blocks.piece(tile, chunk).bytes == vector.piece(tile, chunk % parts).bytes);
      }
  }
}

TEST_CASE("varying blocks are covered exactly, wherever they are") {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937_64 random(test::test_seed(seed));
    const Draw d = draw(random);
    const int parts = draw_parts(random);
    std::vector<size_t> counts;
    for (int block = 0; block < d.chunks; ++block)
      counts.push_back(below(random, 3) == 0 ? 0 : below(random, d.count + 1));
    std::vector<size_t> order(counts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<size_t> offsets(counts.size());
    size_t end = 0;
    for (size_t block : order) {
      offsets[block] = end;
      end += counts[block];
    }
    CAPTURE(seed, d.element, d.chunks, parts, d.tile);
    const BufferLayout layout =
        BufferLayout::varying_blocks(counts, offsets, d.element, d.chunks * parts, d.tile, parts);
    REQUIRE(covers_exactly(all_pieces(layout, d.chunks * parts, layout.tiles()), end * d.element));
    for (int block = 0; block < d.chunks; ++block) {
      size_t bytes = 0;
      for (size_t tile = 0; tile < layout.tiles(); ++tile)
        for (int part = 0; part < parts; ++part) bytes += layout.piece(tile, block * parts + part).bytes;
      REQUIRE(bytes == counts[static_cast<size_t>(block)] * d.element);
      REQUIRE(layout.elements(block * parts + parts - 1) == counts[static_cast<size_t>(block)]);
    }
  }
}

TEST_CASE("both ends of a connection give a part of a block the same length in every tile") {
  // The owner's own block, and the same block among those of all ranks: all_gather_v, gather_v,
  // reduce_scatter_v, scatter_v.
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    std::mt19937_64 random(test::test_seed(seed));
    const Draw d = draw(random);
    const int parts = draw_parts(random);
    std::vector<size_t> counts;
    std::vector<size_t> offsets;
    size_t end = 0;
    for (int block = 0; block < d.chunks; ++block) {
      counts.push_back(below(random, d.count + 1));
      offsets.push_back(end + below(random, 3));
      end = offsets.back() + counts.back();
    }
    CAPTURE(seed, d.element, d.chunks, parts, d.tile);
    const BufferLayout all =
        BufferLayout::varying_blocks(counts, offsets, d.element, d.chunks * parts, d.tile, parts);
    for (int chunk = 0; chunk < d.chunks * parts; ++chunk) {
      const std::vector<size_t> own_count = {counts[static_cast<size_t>(chunk / parts)]};
      const std::vector<size_t> own_offset = {0};
      const BufferLayout own =
          BufferLayout::varying_blocks(own_count, own_offset, d.element, parts, d.tile, parts);
      const BufferLayout plain = BufferLayout::blocks(own_count[0], d.element, parts, d.tile, parts);
      for (size_t tile = 0; tile < all.tiles(); ++tile) {
        REQUIRE(own.piece(tile, chunk % parts).bytes == all.piece(tile, chunk).bytes);
        REQUIRE(plain.piece(tile, chunk % parts).bytes == all.piece(tile, chunk).bytes);
      }
    }
  }
}

TEST_CASE("an empty vector is one tile of empty pieces") {
  const BufferLayout layout = BufferLayout::vector(0, 4, 3, 16);
  CHECK(layout.tiles() == 1);
  for (int chunk = 0; chunk < 3; ++chunk) CHECK(layout.piece(0, chunk).bytes == 0);
}

TEST_CASE("counts beyond 32 bits are laid out exactly") {
  const size_t count = (size_t{1} << 32) + 12'345;
  const BufferLayout layout = BufferLayout::vector(count, 4, 4, size_t{1} << 20);
  size_t bytes = 0;
  for (size_t tile = 0; tile < layout.tiles(); ++tile)
    for (int chunk = 0; chunk < 4; ++chunk) bytes += layout.piece(tile, chunk).bytes;
  CHECK(bytes == count * 4);
  const Piece first = layout.piece(layout.tiles() - 1, 0);
  CHECK(first.offset == (layout.tiles() - 1) * 4 * (size_t{1} << 20) * 4);
}

TEST_CASE("parts of a large tile begin at cache lines") {
  const BufferLayout layout = BufferLayout::vector(1000, 4, 3, 4096);
  for (int chunk = 0; chunk < 3; ++chunk) CHECK(layout.piece(0, chunk).offset % 64 == 0);
}

TEST_CASE("a scratch chunk is as long as its chunk of the longer buffer and has its own place") {
  const std::vector<size_t> counts = {5, 0, 9};
  const std::vector<size_t> offsets = {0, 5, 5};
  Layout layout;
  layout.input = BufferLayout::varying_blocks(counts, offsets, 4, 3, 4);
  layout.output = BufferLayout::varying_blocks({}, {}, 4, 1, 4);
  layout.scratch_chunk_bytes = 64;
  for (size_t tile = 0; tile < 3; ++tile)
    for (int chunk = 0; chunk < 6; ++chunk) {
      const Piece piece = layout.piece(tile, Buffer::Scratch, chunk);
      CHECK(piece.bytes == layout.piece(tile, Buffer::Input, chunk % 3).bytes);
      CHECK(piece.offset == static_cast<size_t>(chunk) * 64);
    }
  CHECK(layout.elements(Buffer::Scratch, 5) == 9);
  CHECK(layout.piece(0, Buffer::None, 0).bytes == 0);
}
