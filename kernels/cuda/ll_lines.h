// SPDX-License-Identifier: Apache-2.0
// LL lines for fold(): each thread handles 16 bytes of data at a time. Device code.
#pragma once

#include "line_task.h"

namespace rondo::device {

/// 16 bytes of data with their flags.
struct LLUnit {
  Words low;
  Words high;
};

RONDO_DEVICE bool has_come(const LLUnit& unit, uint32_t flag) {
  return flag_of(unit.low.first) == flag && flag_of(unit.low.second) == flag &&
         flag_of(unit.high.first) == flag && flag_of(unit.high.second) == flag;
}
RONDO_DEVICE LLUnit load_unit(const Words* at) { return {load_words(at), load_words(at + 1)}; }
RONDO_DEVICE void store_unit(Words* at, const Pack& pack, uint32_t flag) {
  store_words(at, {flagged(pack.words[0], flag), flagged(pack.words[1], flag)});
  store_words(at + 1, {flagged(pack.words[2], flag), flagged(pack.words[3], flag)});
}

/// Waits for the whole unit; `unit` holds the latest load. False: the call was stopped before it arrived.
RONDO_DEVICE bool await_unit(const Words* at, uint32_t flag, const LineTask& lines, LLUnit& unit) {
  Wait wait(*lines.block, *lines.health);
  for (; !has_come(unit, flag); unit = load_unit(at))
    if (wait.stopped()) return false;
  return true;
}

class LLLines {
 public:
  static constexpr uint32_t kPacks = 1;
  using Look = LLUnit;  // data of plain memory is in `low`

  RONDO_DEVICE LLLines(const FoldTask& task, uint64_t bytes, LaneIndex lane)
      : task_(task), bytes_(bytes), step_(sizeof(Pack) * lane.count), offset_(sizeof(Pack) * lane.index) {}

  RONDO_DEVICE bool more() const { return offset_ < bytes_; }
  RONDO_DEVICE void next() { offset_ += step_; }

  /// Loads from a source, without waiting; take() checks whether it has arrived.
  RONDO_DEVICE Look look(int k) const {
    const auto* source = static_cast<const std::byte*>(task_.sources[k]);
    if (source_flag(k) != 0) return load_unit(unit_of(source));
    return {bits_as<Words>(read_plain(source + offset_, valid_bytes())), {}};
  }
  /// Waits for the source's data; false: the call was stopped before it arrived.
  RONDO_DEVICE bool take(int k, Look look, Pack (&packs)[kPacks]) const {
    const uint32_t flag = source_flag(k);
    if (flag == 0) {
      packs[0] = bits_as<Pack>(look.low);
      return true;
    }
    if (!await_unit(unit_of(static_cast<const std::byte*>(task_.sources[k])), flag, *task_.lines, look))
      return false;
    packs[0] = {{data_of(look.low.first), data_of(look.low.second), data_of(look.high.first),
                 data_of(look.high.second)}};
    return true;
  }
  RONDO_DEVICE void put(int k, const Pack (&packs)[kPacks]) const {
    auto* out = static_cast<std::byte*>(task_.outs[k]);
    const auto flag = static_cast<uint32_t>(task_.lines->out_flags[k]);
    if (flag != 0)
      store_unit(const_cast<Words*>(unit_of(out)), packs[0], flag);
    else
      write_plain(out + offset_, packs[0], valid_bytes());
  }

 private:
  RONDO_DEVICE uint32_t source_flag(int k) const {
    return static_cast<uint32_t>(task_.lines->source_flags[k]);
  }
  RONDO_DEVICE const Words* unit_of(const std::byte* lines) const {
    return reinterpret_cast<const Words*>(lines + 2 * offset_);
  }
  RONDO_DEVICE uint32_t valid_bytes() const {
    const uint64_t left = bytes_ - offset_;
    return static_cast<uint32_t>(left < sizeof(Pack) ? left : sizeof(Pack));
  }

  const FoldTask& task_;
  uint64_t bytes_;
  uint64_t step_;
  uint64_t offset_;  // of the current data
};

}  // namespace rondo::device
