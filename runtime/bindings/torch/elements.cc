// SPDX-License-Identifier: Apache-2.0
#include "elements.h"

#include <optional>

#include "failures.h"

namespace rondo::torch_binding {
namespace {

std::optional<rondo_type_t> known_type(at::ScalarType type) {
  switch (type) {
    case at::kChar: return RONDO_INT8;
    case at::kByte: return RONDO_UINT8;
    case at::kShort: return RONDO_INT16;
    case at::kUInt16: return RONDO_UINT16;
    case at::kInt: return RONDO_INT32;
    case at::kUInt32: return RONDO_UINT32;
    case at::kLong: return RONDO_INT64;
    case at::kUInt64: return RONDO_UINT64;
    case at::kHalf: return RONDO_FLOAT16;
    case at::kBFloat16: return RONDO_BFLOAT16;
    case at::kFloat8_e4m3fn: return RONDO_FLOAT8_E4M3;
    case at::kFloat8_e5m2: return RONDO_FLOAT8_E5M2;
    case at::kFloat: return RONDO_FLOAT32;
    case at::kDouble: return RONDO_FLOAT64;
    case at::kComplexFloat: return RONDO_COMPLEX64;
    case at::kComplexDouble: return RONDO_COMPLEX128;
    case at::kBool: return RONDO_BOOL;
    default: return std::nullopt;
  }
}

const char* name_of(c10d::ReduceOp::RedOpType op) {
  static constexpr const char* kNames[] = {"SUM",  "AVG", "PRODUCT", "MIN",       "MAX",
                                           "BAND", "BOR", "BXOR",    "PREMUL_SUM"};
  return op < std::size(kNames) ? kNames[op] : "UNUSED";
}

rondo_op_t plain_op(c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM: return RONDO_SUM;
    case c10d::ReduceOp::AVG: return RONDO_AVG;
    case c10d::ReduceOp::PRODUCT: return RONDO_PROD;
    case c10d::ReduceOp::MIN: return RONDO_MIN;
    case c10d::ReduceOp::MAX: return RONDO_MAX;
    case c10d::ReduceOp::BAND: return RONDO_BIT_AND;
    case c10d::ReduceOp::BOR: return RONDO_BIT_OR;
    case c10d::ReduceOp::BXOR: return RONDO_BIT_XOR;
    default:
      C10_THROW_ERROR(ValueError, std::string("rondo: ReduceOp.") + name_of(op) + " is not a reduction");
  }
}

void check_op(c10d::ReduceOp::RedOpType op, at::ScalarType type) {
  const bool bitwise = op == c10d::ReduceOp::BAND || op == c10d::ReduceOp::BOR || op == c10d::ReduceOp::BXOR;
  const bool ordered = op == c10d::ReduceOp::MIN || op == c10d::ReduceOp::MAX;
  const bool scales = op == c10d::ReduceOp::AVG || op == c10d::ReduceOp::PREMUL_SUM;
  const auto refuse_op = [&](const char* why) {
    C10_THROW_ERROR(ValueError, std::string("rondo: cannot use ReduceOp.") + name_of(op) +
                                    " with tensors of type " + c10::toString(type) + ": " + why);
  };
  if (bitwise && !at::isIntegralType(type, true)) refuse_op("it needs integers");
  if (ordered && at::isComplexType(type)) refuse_op("complex numbers have no order");
  if (scales && type == at::kBool) refuse_op("booleans cannot be scaled");
}

rondo_op_t make_premul_sum(const c10d::ReduceOp& op, at::ScalarType type, rondo_type_t as) {
  const auto factor = c10::dynamic_intrusive_pointer_cast<c10d::NCCLPreMulSumSupplement>(op.supplement_);
  if (!factor) C10_THROW_ERROR(ValueError, "rondo: ReduceOp.PREMUL_SUM has no factor");
  const at::Tensor given = factor->tensor_factor.defined()
                               ? factor->tensor_factor.to(at::kCPU)
                               : at::scalar_tensor(factor->double_factor, at::kDouble);
  const at::Tensor scalar = given.to(type).contiguous();
  rondo_op_t made = 0;
  check(rondo_op_create_premul_sum(scalar.const_data_ptr(), as, &made), nullptr,
        "rondo: ReduceOp.PREMUL_SUM");
  return made;
}

}  // namespace

TensorElement element_to_move(at::ScalarType type) {
  if (const auto known = known_type(type)) return {*known, 1};
  return {RONDO_UINT8, c10::elementSize(type)};
}

TensorReduction::TensorReduction(const c10d::ReduceOp& op, at::ScalarType type) {
  const auto known = known_type(type);
  if (!known)
    C10_THROW_ERROR(TypeError, std::string("rondo: tensors of type ") + c10::toString(type) +
                                   " can be moved, but not reduced");
  check_op(op, type);
  element_ = {*known, 1};
  owned_ = op == c10d::ReduceOp::PREMUL_SUM;
  op_ = owned_ ? make_premul_sum(op, type, *known) : plain_op(op);
}

TensorReduction::~TensorReduction() {
  if (owned_) rondo_op_destroy(op_);
}

}  // namespace rondo::torch_binding
