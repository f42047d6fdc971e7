#include "schedule/layout.h"

#include <algorithm>

namespace rondo {
namespace {

constexpr size_t kPartAlignment = 64;  // bytes: parts begin at cache lines of the buffer

size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }

}  // namespace

BufferLayout BufferLayout::parts(size_t count, size_t element_bytes, int chunks, size_t tile_elements) {
  BufferLayout made;
  made.form_ = Form::Parts;
  made.count_ = count;
  made.element_bytes_ = element_bytes;
  made.chunks_ = chunks;
  made.tile_elements_ = tile_elements;
  return made;
}

BufferLayout BufferLayout::blocks(size_t count, size_t element_bytes, int chunks, size_t tile_elements) {
  BufferLayout made = parts(count, element_bytes, chunks, tile_elements);
  made.form_ = Form::Blocks;
  return made;
}

BufferLayout BufferLayout::varying(std::span<const size_t> counts, std::span<const size_t> offsets,
                                   size_t element_bytes, size_t tile_elements) {
  BufferLayout made = parts(0, element_bytes, static_cast<int>(counts.size()), tile_elements);
  made.form_ = Form::Varying;
  made.counts_.assign(counts.begin(), counts.end());
  made.offsets_.assign(offsets.begin(), offsets.end());
  for (size_t one : counts) made.count_ = std::max(made.count_, one);
  return made;
}

size_t BufferLayout::tiles() const {
  const size_t per_tile =
      form_ == Form::Parts ? tile_elements_ * static_cast<size_t>(chunks_) : tile_elements_;
  return std::max<size_t>(1, divide_up(count_, per_tile));
}

Piece BufferLayout::piece(size_t tile, int chunk) const {
  const auto c = static_cast<size_t>(chunk);
  if (form_ == Form::Parts) {
    const size_t tile_begin = tile * tile_elements_ * static_cast<size_t>(chunks_);
    if (tile_begin >= count_) return {count_ * element_bytes_, 0};
    const size_t length = std::min(count_ - tile_begin, tile_elements_ * static_cast<size_t>(chunks_));
    size_t part = divide_up(length, static_cast<size_t>(chunks_));
    const size_t line = std::max<size_t>(1, kPartAlignment / element_bytes_);
    if (const size_t aligned = divide_up(part, line) * line; aligned <= tile_elements_) part = aligned;
    const size_t begin = std::min(length, c * part);
    const size_t end = std::min(length, begin + part);
    return {(tile_begin + begin) * element_bytes_, (end - begin) * element_bytes_};
  }
  const size_t count = form_ == Form::Blocks ? count_ : counts_[c];
  const size_t offset = form_ == Form::Blocks ? c * count_ : offsets_[c];
  const size_t begin = std::min(count, tile * tile_elements_);
  const size_t end = std::min(count, begin + tile_elements_);
  return {(offset + begin) * element_bytes_, (end - begin) * element_bytes_};
}

size_t BufferLayout::elements(int chunk) const {
  return form_ == Form::Varying ? counts_[static_cast<size_t>(chunk)] : count_;
}

size_t Layout::elements(const Schedule& schedule, Buffer buffer, int chunk) const {
  if (buffer == Buffer::Input) return input.elements(chunk);
  if (buffer == Buffer::Output) return output.elements(chunk);
  const bool longer_input = schedule.input_chunks >= schedule.output_chunks;
  return (longer_input ? input : output)
      .elements(chunk % (longer_input ? schedule.input_chunks : schedule.output_chunks));
}

Piece Layout::piece(const Schedule& schedule, size_t tile, Buffer buffer, int chunk) const {
  switch (buffer) {
    case Buffer::Input: return input.piece(tile, chunk);
    case Buffer::Output: return output.piece(tile, chunk);
    case Buffer::Scratch: {
      const bool longer_input = schedule.input_chunks >= schedule.output_chunks;
      const int chunks = longer_input ? schedule.input_chunks : schedule.output_chunks;
      const BufferLayout& vector = longer_input ? input : output;
      return {static_cast<size_t>(chunk) * scratch_chunk_bytes, vector.piece(tile, chunk % chunks).bytes};
    }
    case Buffer::None: break;
  }
  return {};
}

}  // namespace rondo
