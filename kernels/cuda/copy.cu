// SPDX-License-Identifier: Apache-2.0
// The fold of one source with nothing to compute: a copy, in the widest words that all pointers allow.
#include "line_folding.h"
#include "pack_math.h"

namespace rondo::device {
namespace {

constexpr uint32_t kInFlight = 8;

template <class Word>
RONDO_DEVICE void copy_words(const FoldTask& task, uint64_t first_byte, uint64_t words, LaneIndex lane) {
  const auto* from =
      reinterpret_cast<const Word*>(static_cast<const unsigned char*>(task.sources[0]) + first_byte);
  const auto to = [&](int k) {
    return reinterpret_cast<Word*>(static_cast<unsigned char*>(task.outs[k]) + first_byte);
  };
  uint64_t word = lane.index;
  for (; word + (kInFlight - 1) * uint64_t{lane.count} < words; word += kInFlight * uint64_t{lane.count}) {
    Word loaded[kInFlight];
    for (uint32_t u = 0; u < kInFlight; ++u) loaded[u] = read(from + word + u * uint64_t{lane.count});
    for (int k = 0; k < task.nouts; ++k)
      for (uint32_t u = 0; u < kInFlight; ++u) write(to(k) + word + u * uint64_t{lane.count}, loaded[u]);
  }
  for (; word < words; word += lane.count)
    for (int k = 0; k < task.nouts; ++k) write(to(k) + word, read(from + word));
}

/// Copies bytes up to a Word boundary, then Words, then the rest; false if the pointers' alignments differ.
template <class Word>
RONDO_DEVICE bool copy_by(const FoldTask& task, uint64_t bytes, LaneIndex lane) {
  const uint64_t place = bits_as<uint64_t>(task.sources[0]) % sizeof(Word);
  for (int k = 0; k < task.nouts; ++k)
    if (bits_as<uint64_t>(task.outs[k]) % sizeof(Word) != place) return false;
  const uint64_t to_boundary = (sizeof(Word) - place) % sizeof(Word);
  const uint64_t head = to_boundary < bytes ? to_boundary : bytes;
  const uint64_t words = (bytes - head) / sizeof(Word);
  const uint64_t tail = head + words * sizeof(Word);
  copy_words<unsigned char>(task, 0, head, lane);
  copy_words<Word>(task, head, words, lane);
  copy_words<unsigned char>(task, tail, bytes - tail, lane);
  return true;
}

RONDO_DEVICE uint64_t element_bytes(ElementType type) {
  switch (type) {
#define X(enumerator, constant, name, storage, kind) \
  case ElementType::enumerator: return sizeof(storage);
    RONDO_ELEMENT_TYPES(X)
#undef X
  }
  return 1;
}

}  // namespace

RONDO_DEVICE_CALLED bool copy(const FoldTask& task, LaneIndex lane) {
  if (task.lines != nullptr) return fold_lines<PackCopy>(task, lane);
  const uint64_t bytes = task.count * element_bytes(task.type);
  if (copy_by<Pack>(task, bytes, lane) || copy_by<uint64_t>(task, bytes, lane) ||
      copy_by<uint32_t>(task, bytes, lane) || copy_by<uint16_t>(task, bytes, lane))
    return true;
  copy_words<unsigned char>(task, 0, bytes, lane);
  return true;
}

}  // namespace rondo::device
