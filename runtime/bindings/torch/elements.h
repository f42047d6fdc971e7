// SPDX-License-Identifier: Apache-2.0
// Elements: maps torch's types and reductions to Rondo's.
#pragma once

#include <ATen/ATen.h>
#include <rondo/rondo.h>

#include <memory>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace rondo::torch_binding {

/// How a tensor's elements are described to Rondo.
struct TensorElement {
  rondo_type_t type;
  size_t each;  // Rondo elements per torch element

  size_t count(const at::Tensor& tensor) const { return static_cast<size_t>(tensor.numel()) * each; }
};

/// For calls that only move data: types unknown to Rondo are moved as bytes.
TensorElement element_to_move(at::ScalarType type);

/// A reduction, kept for as long as a call needs it.
class TensorReduction {
 public:
  /// Throws TypeError or ValueError if the reduction does not support the type.
  TensorReduction(const c10d::ReduceOp& op, at::ScalarType type);
  ~TensorReduction();
  TensorReduction(const TensorReduction&) = delete;
  TensorReduction& operator=(const TensorReduction&) = delete;

  rondo_op_t op() const { return op_; }
  const TensorElement& element() const { return element_; }

 private:
  TensorElement element_;
  rondo_op_t op_;
  bool owned_ = false;
};

using TensorReductionPtr = std::shared_ptr<const TensorReduction>;

}  // namespace rondo::torch_binding
