#include "exec/fold.h"

#include <cstring>
#include <vector>

#include "kernels/reduce.h"

namespace rondo {
namespace {

/// A user's function folds into its first argument, which therefore must not be a later operand's memory.
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

}  // namespace

void fold(const CallType& type, const CallOp& op, const FoldArgs& args) {
  if (args.bytes == 0) return;
  const bool plain_copy = args.operands.size() == 1 && args.scaled < 0 && args.divisor == 1;
  if (plain_copy) {
    if (args.out != args.operands[0]) std::memcpy(args.out, args.operands[0], args.bytes);
    return;
  }
  if (op.function != nullptr) return fold_by_function(type, op, args);
  reduce({.out = args.out,
          .sources = args.operands,
          .count = args.bytes / type.bytes,
          .type = type.element(),
          .op = op.built_in,
          .divisor = args.divisor,
          .scaled_source = args.scaled,
          .scalar = op.scalar});
}

}  // namespace rondo
