// Elements: torch's types and reductions as Rondo's.
#pragma once

#include <ATen/ATen.h>
#include <rondo/rondo.h>

#include <memory>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace rondo::torch_binding {

/// How a tensor's elements are told to Rondo.
struct Element {
  rondo_type_t type;
  size_t each;  // Rondo's elements for one of torch's

  size_t count(const at::Tensor& tensor) const { return static_cast<size_t>(tensor.numel()) * each; }
};

/// For calls that only move: types that Rondo does not know go as bytes.
Element element_to_move(at::ScalarType type);

/// A reduction, for as long as a call needs it.
class Reduction {
 public:
  /// TypeError or ValueError where the type cannot be reduced so.
  Reduction(const c10d::ReduceOp& op, at::ScalarType type);
  ~Reduction();
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  rondo_op_t op() const { return op_; }
  const Element& element() const { return element_; }

 private:
  Element element_;
  rondo_op_t op_;
  bool owned_ = false;
};

using ReductionPtr = std::shared_ptr<const Reduction>;

}  // namespace rondo::torch_binding
