// SPDX-License-Identifier: Apache-2.0
#include "exec/call_args.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/reduce.h"
#include "kernels/stream_copy.h"

namespace rondo {
namespace {

/// A user's function accumulates into its first argument, which therefore must not alias a later operand.
void fold_by_function(const CallType& type, const CallOp& op, const FoldArgs& args) {
  bool aliased = false;
  for (size_t i = 1; i < args.operands.size(); ++i) aliased |= args.operands[i] == args.out;
  std::vector<std::byte> apart(aliased ? args.bytes : 0);
  std::byte* accumulator = aliased ? apart.data() : args.out;
  if (accumulator != args.operands[0]) std::memcpy(accumulator, args.operands[0], args.bytes);
  for (const void* operand : args.operands.subspan(1))
    op.function(accumulator, operand, args.bytes / type.bytes, static_cast<int>(type.id), op.user);
  if (aliased) std::memcpy(args.out, accumulator, args.bytes);
}

void fold_by_kernel(const CallType& type, const CallOp& op, const FoldArgs& args) {
  reduce({.out = args.out,
          .sources = args.operands,
          .count = args.bytes / type.bytes,
          .type = type.element(),
          .op = op.built_in,
          .divisor = args.divisor,
          .scaled_source = args.scaled,
          .scalar = op.scalar});
}

/// Folds one piece at a time into a buffer that stays in the nearest cache.
void fold_past_caches(const CallType& type, const CallOp& op, const FoldArgs& args) {
  constexpr size_t kRoomBytes = 4096;
  alignas(64) std::byte room[kRoomBytes];
  std::vector<const void*> operands(args.operands.begin(), args.operands.end());
  const size_t most = kRoomBytes - kRoomBytes % type.bytes;
  FoldArgs piece = args;
  piece.out = room;
  piece.operands = operands;
  for (size_t at = 0; at < args.bytes; at += piece.bytes) {
    piece.bytes = std::min(most, args.bytes - at);
    fold_by_kernel(type, op, piece);
    stream_copy(args.out + at, room, piece.bytes);
    for (const void*& operand : operands) operand = static_cast<const std::byte*>(operand) + piece.bytes;
  }
}

}  // namespace

void fold(const CallType& type, const CallOp& op, const FoldArgs& args) {
  if (args.bytes == 0) return;
  const bool plain_copy = args.operands.size() == 1 && args.scaled < 0 && args.divisor == 1;
  if (plain_copy) {
    const auto* const from = static_cast<const std::byte*>(args.operands[0]);
    if (args.out == from) return;
    if (args.streams) return stream_copy(args.out, from, args.bytes);
    std::memcpy(args.out, from, args.bytes);
    return;
  }
  if (op.function != nullptr) return fold_by_function(type, op, args);
  if (args.streams) return fold_past_caches(type, op, args);
  fold_by_kernel(type, op, args);
}

}  // namespace rondo
