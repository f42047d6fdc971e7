// SPDX-License-Identifier: Apache-2.0
#include "types.h"

#include "rondo/rondo.h"

namespace rondo::perf {
namespace {

constexpr FloatFormat kNone{};
constexpr TypeRow kTypes[] = {
    {RONDO_INT8, "int8", "int8", 1, TypeClass::Signed, kNone},
    {RONDO_UINT8, "uint8", "uint8", 1, TypeClass::Unsigned, kNone},
    {RONDO_INT16, "int16", "int16", 2, TypeClass::Signed, kNone},
    {RONDO_UINT16, "uint16", "uint16", 2, TypeClass::Unsigned, kNone},
    {RONDO_INT32, "int32", "int32", 4, TypeClass::Signed, kNone},
    {RONDO_UINT32, "uint32", "uint32", 4, TypeClass::Unsigned, kNone},
    {RONDO_INT64, "int64", "int64", 8, TypeClass::Signed, kNone},
    {RONDO_UINT64, "uint64", "uint64", 8, TypeClass::Unsigned, kNone},
    {RONDO_FLOAT16, "half", "float16", 2, TypeClass::Float, {5, 10, true}},
    {RONDO_BFLOAT16, "bfloat16", "bfloat16", 2, TypeClass::Float, {8, 7, true}},
    {RONDO_FLOAT8_E4M3, "f8e4m3", "float8_e4m3", 1, TypeClass::Float, {4, 3, false}},
    {RONDO_FLOAT8_E5M2, "f8e5m2", "float8_e5m2", 1, TypeClass::Float, {5, 2, true}},
    {RONDO_FLOAT32, "float", "float32", 4, TypeClass::Float, {8, 23, true}},
    {RONDO_FLOAT64, "double", "float64", 8, TypeClass::Float, {11, 52, true}},
    {RONDO_COMPLEX64, "complex64", "complex64", 8, TypeClass::Complex, {8, 23, true}},
    {RONDO_COMPLEX128, "complex128", "complex128", 16, TypeClass::Complex, {11, 52, true}},
    {RONDO_BOOL, "bool", "bool", 1, TypeClass::Bool, kNone},
};

constexpr OpInfo kOps[] = {
    {Op::Sum, "sum", "sum"},
    {Op::Prod, "prod", "prod"},
    {Op::Min, "min", "min"},
    {Op::Max, "max", "max"},
    {Op::Avg, "avg", "avg"},
    {Op::BitAnd, "band", "bit_and"},
    {Op::BitOr, "bor", "bit_or"},
    {Op::BitXor, "bxor", "bit_xor"},
    {Op::LogicalAnd, "land", "logical_and"},
    {Op::LogicalOr, "lor", "logical_or"},
    {Op::LogicalXor, "lxor", "logical_xor"},
    {Op::MulSum, "mulsum", "premul_sum"},
};

}  // namespace

std::span<const TypeRow> all_types() { return kTypes; }
std::span<const OpInfo> all_ops() { return kOps; }
const TypeRow& type_info(int id) { return kTypes[static_cast<size_t>(id)]; }
const OpInfo& op_info(Op op) { return kOps[static_cast<size_t>(op)]; }

const TypeRow* type_by_name(std::string_view name) {
  for (const TypeRow& type : kTypes) {
    if (name == type.name || name == type.long_name) return &type;
  }
  static constexpr struct {
    std::string_view alias;
    int id;
  } aliases[] = {
      {"fp16", RONDO_FLOAT16}, {"fp32", RONDO_FLOAT32}, {"fp64", RONDO_FLOAT64}, {"bf16", RONDO_BFLOAT16}};
  for (const auto& [alias, id] : aliases) {
    if (name == alias) return &type_info(id);
  }
  return nullptr;
}

std::optional<Op> op_by_name(std::string_view name) {
  for (const OpInfo& info : kOps) {
    if (name == info.name || name == info.long_name) return info.op;
  }
  return std::nullopt;
}

bool op_takes(Op op, const TypeRow& type) {
  switch (op) {
    case Op::Sum:
    case Op::Prod: return true;
    case Op::Min:
    case Op::Max: return type.kind != TypeClass::Complex;
    case Op::Avg:
    case Op::MulSum: return type.kind != TypeClass::Bool;
    default: return type.kind != TypeClass::Float && type.kind != TypeClass::Complex;
  }
}

}  // namespace rondo::perf
