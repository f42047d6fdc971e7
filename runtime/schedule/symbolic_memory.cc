// SPDX-License-Identifier: Apache-2.0
#include "symbolic_memory.h"

#include "chunk_rules.h"

#include <algorithm>

namespace rondo {
namespace {

std::string name(Ref ref) {
  static constexpr const char* names[] = {"nothing", "input", "output", "scratch"};
  return fmt::format("{}[{}]", names[static_cast<int>(ref.buffer)], ref.chunk);
}

}  // namespace

SymbolicMemory::SymbolicMemory(const Shape& shape, const Schedule& schedule, int tiles, bool in_place,
                               Expressions& expressions)
    : shape_(shape),
      rank_(schedule.rank),
      chunks_(schedule.chunks),
      tiles_(tiles),
      in_place_(in_place),
      cells_(static_cast<size_t>(tiles * (schedule.chunks.input + schedule.chunks.output) +
                                 schedule.scratch_chunks)),
      touches_(schedule.lanes.size() > 1 ? cells_.size() : 0) {
  if (!traits(shape.kind).reads(rank_, shape.root)) return;
  for (int tile = 0; tile < tiles; ++tile)
    for (int chunk = 0; chunk < chunks_.input; ++chunk)
      cells_[place(tile, input(chunk))].value = expressions.leaf(rank_, tile, chunk);
}

size_t SymbolicMemory::place(int tile, Ref ref) const {
  int at = 0;
  if (ref.buffer == Buffer::Output && in_place_)
    if (const int alias = InPlace::input_of_output(shape_, rank_, chunks_.parts, ref.chunk); alias >= 0)
      ref = input(alias);
  switch (ref.buffer) {
    case Buffer::Input: at = tile * chunks_.input + ref.chunk; break;
    case Buffer::Output: at = tiles_ * chunks_.input + tile * chunks_.output + ref.chunk; break;
    default: at = tiles_ * (chunks_.input + chunks_.output) + ref.chunk; break;
  }
  return static_cast<size_t>(at);
}

Status SymbolicMemory::check_race(size_t cell, bool writing, const Access& access) const {
  if (touches_.empty()) return {};
  const auto over = [&](const Touch& touch) {
    return touch.lane == access.lane || access.order->is_over(access.lane, touch.lane, touch.number);
  };
  const size_t first = access.order->index(static_cast<size_t>(rank_), 0);
  const Touches& touches = touches_[cell];
  if (touches.last_write.number > 0 && !over(touches.last_write))
    return error(Code::InternalError, "races with a write by lane {}", touches.last_write.lane - first);
  if (writing)
    for (const Touch& touch : touches.reads)
      if (!over(touch)) return error(Code::InternalError, "races with a read by lane {}", touch.lane - first);
  return {};
}

Result<ExpressionId> SymbolicMemory::read(int tile, Ref ref, const Access& access) {
  const size_t at = place(tile, ref);
  const Cell& cell = cells_[at];
  if (Status race = check_race(at, false, access); !race.ok())
    return race.within(fmt::format("reads {}", name(ref)));
  const bool scratch_of_now = ref.buffer != Buffer::Scratch || cell.tile == tile;
  if (cell.value < 0 || !scratch_of_now || (ref.buffer == Buffer::Output && !cell.written))
    return error(Code::InternalError, "reads {}, which was never written", name(ref));
  if (ref.buffer == Buffer::Input && cell.written && reduces(shape_.kind))
    return error(Code::InternalError, "reads {} after the output in its place was written", name(ref));
  if (!touches_.empty()) {
    auto& reads = touches_[at].reads;
    std::erase_if(reads, [&](const Touch& touch) { return touch.lane == access.lane; });
    reads.push_back({access.lane, access.number});
  }
  return cell.value;
}

Status SymbolicMemory::write(int tile, Ref ref, ExpressionId value, const Access& access) {
  const size_t at = place(tile, ref);
  if (Status race = check_race(at, true, access); !race.ok())
    return race.within(fmt::format("writes {}", name(ref)));
  cells_[at] = {value, tile, true};
  if (!touches_.empty()) {
    touches_[at].last_write = {access.lane, access.number};
    touches_[at].reads.clear();
  }
  return {};
}

ExpressionId SymbolicMemory::output(int tile, int chunk) const {
  const Cell& cell = cells_[place(tile, rondo::output(chunk))];
  return cell.written ? cell.value : -1;
}

}  // namespace rondo
