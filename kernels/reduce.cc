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

ReduceKernel kernel_of_floats(ElementType type) {
  switch (type) {
    case ElementType::Float16: return fold_float16;
    case ElementType::BFloat16: return fold_bfloat16;
    case ElementType::Float32: return fold_float32;
    case ElementType::Float64: return fold_float64;
    default: return fold_small_floats;
  }
}

void reduce_complex(const ReduceArgs& args) {
  if (args.op == Reduction::Prod || args.scaled_source >= 0) return fold_complex(args);
  ReduceArgs parts = args;
  parts.count = 2 * args.count;
  parts.type = args.type == ElementType::Complex64 ? ElementType::Float32 : ElementType::Float64;
  kernel_of_floats(parts.type)(parts);
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

ReduceKernel kernel_of(const ReduceArgs& args) {
  if (args.count == 0) return [](const ReduceArgs&) {};
  if (is_plain_copy(args)) return plain_copy;
  // Combinations that no collective uses have no kernel.
  const ElementClass kind = element_info(args.type).kind;
  const bool extended = args.scaled_source >= 0 || args.divisor != 1;
  if (extended && (!is_sum(args.op) || kind == ElementClass::Boolean)) return reduce_reference;
  switch (kind) {
    case ElementClass::Integer: return reduce_integers;
    case ElementClass::Float: return kernel_of_floats(args.type);
    case ElementClass::Complex: return reduce_complex;
    case ElementClass::Boolean: return reduce_truth;
  }
  return reduce_reference;
}

void reduce(const ReduceArgs& args) { kernel_of(args)(args); }

}  // namespace rondo
