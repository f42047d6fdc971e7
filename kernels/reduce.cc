// SPDX-License-Identifier: Apache-2.0
// Dispatches a call to its kernel.
#include "kernels/reduce.h"

#include "fold_kernels.h"
#include "plain_copy.h"

namespace rondo {
namespace {

bool is_sum(Reduction op) { return op == Reduction::Sum || op == Reduction::Avg; }

void reduce_integers(const ReduceArgs& args) {
  ReduceArgs undivided = args;
  undivided.divisor = 1;
  if (is_sum(args.op) || args.op == Reduction::Prod) {
    fold_integer_arithmetic(undivided);
  } else if (args.op == Reduction::Min || args.op == Reduction::Max) {
    fold_integer_order(undivided);
  } else {
    fold_integer_logic(undivided);
  }
  if (args.divisor != 1) divide_integers(args);
}

void reduce_floats(const ReduceArgs& args) {
  switch (args.type) {
    case ElementType::Float16: return fold_float16(args);
    case ElementType::BFloat16: return fold_bfloat16(args);
    case ElementType::Float32: return fold_float32(args);
    case ElementType::Float64: return fold_float64(args);
    default: return fold_small_floats(args);
  }
}

void reduce_complex(const ReduceArgs& args) {
  if (args.op == Reduction::Prod || args.scaled_source >= 0) return fold_complex(args);
  ReduceArgs parts = args;
  parts.count = 2 * args.count;
  parts.type = args.type == ElementType::Complex64 ? ElementType::Float32 : ElementType::Float64;
  reduce_floats(parts);
}

// On booleans every operation is one of three.
Reduction logical(Reduction op) {
  switch (op) {
    case Reduction::Prod:
    case Reduction::Min:
    case Reduction::BitAnd:
    case Reduction::LogicalAnd: return Reduction::LogicalAnd;
    case Reduction::BitXor:
    case Reduction::LogicalXor: return Reduction::LogicalXor;
    default: return Reduction::LogicalOr;
  }
}

void reduce_truth(const ReduceArgs& args) {
  ReduceArgs bytes = args;
  bytes.type = ElementType::UInt8;
  bytes.op = logical(args.op);
  fold_integer_logic(bytes);
}

}  // namespace

void reduce(const ReduceArgs& args) {
  if (args.count == 0) return;
  if (is_plain_copy(args)) return plain_copy(args);
  // Combinations that no collective uses have no kernel.
  const ElementClass kind = element_info(args.type).kind;
  const bool extended = args.scaled_source >= 0 || args.divisor != 1;
  if (extended && (!is_sum(args.op) || kind == ElementClass::Boolean)) return reduce_reference(args);
  switch (kind) {
    case ElementClass::Integer: return reduce_integers(args);
    case ElementClass::Float: return reduce_floats(args);
    case ElementClass::Complex: return reduce_complex(args);
    case ElementClass::Boolean: return reduce_truth(args);
  }
}

}  // namespace rondo
