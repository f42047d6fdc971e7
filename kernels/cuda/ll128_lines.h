// SPDX-License-Identifier: Apache-2.0
// LL128 lines for fold(): kLineLanes threads together handle one line at a time. Device code.
#pragma once

#include "line_task.h"

namespace rondo::device {

/// A thread's share of a line. The flag is at the end of the share of the group's last thread.
struct LineShare {
  Pack packs[kLinePacks];
};

RONDO_DEVICE uint64_t flag_of(const LineShare& share) {
  return bits_as<Words>(share.packs[kLinePacks - 1]).second;
}

/// Waits for the whole line at `line`; `share` holds the latest load. False: the call was stopped before it
/// arrived. Called by the whole group.
RONDO_DEVICE bool await_line(const Pack* line, uint64_t flag, const LineTask& lines, LineShare& share) {
  Wait wait(*lines.block, *lines.health);
  for (; lines.block->of_last(flag_of(share)) != flag; lines.block->load_line(line, share.packs))
    if (lines.block->of_last(wait.stopped() ? 1 : 0) != 0) return false;
  return true;
}

class LL128Lines {
 public:
  static constexpr uint32_t kPacks = kLinePacks;
  using Look = LineShare;

  /// Threads that do not fill a whole group do nothing.
  RONDO_DEVICE LL128Lines(const FoldTask& task, uint64_t bytes, LaneIndex lane)
      : task_(task),
        data_bytes_(line_data_bytes(task.lines->type_bytes)),
        lines_(piece_footprint(Protocol::LL128, bytes, task.lines->type_bytes) / kLineBytes),
        step_(lane.count / kLineLanes),
        line_(lane.index / kLineLanes),
        bytes_(bytes),
        first_pack_(lane.index % kLineLanes * kLinePacks) {
    if (line_ >= step_) line_ = lines_;
  }

  RONDO_DEVICE bool more() const { return line_ < lines_; }
  RONDO_DEVICE void next() { line_ += step_; }

  /// Loads from a source, without waiting; take() checks whether it has arrived.
  RONDO_DEVICE Look look(int k) const {
    LineShare share;
    const auto* source = static_cast<const std::byte*>(task_.sources[k]);
    if (task_.lines->source_flags[k] != 0) {
      task_.lines->block->load_line(line_of(source), share.packs);
      return share;
    }
    for (uint32_t p = 0; p < kLinePacks; ++p) share.packs[p] = read_plain(source + offset(p), valid_bytes(p));
    return share;
  }
  /// Waits for the source's data; false: the call was stopped before it arrived.
  RONDO_DEVICE bool take(int k, Look look, Pack (&packs)[kPacks]) const {
    const uint64_t flag = task_.lines->source_flags[k];
    if (flag != 0 &&
        !await_line(line_of(static_cast<const std::byte*>(task_.sources[k])), flag, *task_.lines, look))
      return false;
    for (uint32_t p = 0; p < kLinePacks; ++p) packs[p] = look.packs[p];
    return true;
  }
  RONDO_DEVICE void put(int k, const Pack (&packs)[kPacks]) const {
    auto* out = static_cast<std::byte*>(task_.outs[k]);
    const uint64_t flag = task_.lines->out_flags[k];
    if (flag == 0) {
      for (uint32_t p = 0; p < kLinePacks; ++p) write_plain(out + offset(p), packs[p], valid_bytes(p));
      return;
    }
    LineShare share;
    for (uint32_t p = 0; p < kLinePacks; ++p) share.packs[p] = packs[p];
    if (first_pack_ + kLinePacks == kLineLanes * kLinePacks) {
      Words last = bits_as<Words>(share.packs[kLinePacks - 1]);
      last.second = flag;
      share.packs[kLinePacks - 1] = bits_as<Pack>(last);
    }
    task_.lines->block->store_line(const_cast<Pack*>(line_of(out)), share.packs);
  }

 private:
  RONDO_DEVICE const Pack* line_of(const std::byte* lines) const {
    return reinterpret_cast<const Pack*>(lines + line_ * kLineBytes);
  }
  /// Offset of the Pack's data in the piece.
  RONDO_DEVICE uint64_t offset(uint32_t p) const {
    return line_ * data_bytes_ + (first_pack_ + p) * sizeof(Pack);
  }
  /// Bytes of data in the Pack: a line's last Pack contains the flag, and the last line may be short.
  RONDO_DEVICE uint32_t valid_bytes(uint32_t p) const {
    const uint64_t line_end = (line_ + 1) * data_bytes_;
    const uint64_t end = line_end < bytes_ ? line_end : bytes_;
    const uint64_t begin = offset(p);
    if (begin >= end) return 0;
    return static_cast<uint32_t>(end - begin < sizeof(Pack) ? end - begin : sizeof(Pack));
  }

  const FoldTask& task_;
  uint64_t data_bytes_;  // per line
  uint64_t lines_;
  uint64_t step_;  // in lines
  uint64_t line_;  // current
  uint64_t bytes_;
  uint32_t first_pack_;  // this thread's, in a line
};

}  // namespace rondo::device
