// SPDX-License-Identifier: Apache-2.0
// The requirements of torch.distributed's collectives on their tensors, and how elements are counted. Errors
// are of torch's own types and name the call.
#pragma once

#include <string>
#include <vector>

#include "elements.h"

namespace rondo::torch_binding {

using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<Tensors>;
using Counts = std::vector<size_t>;

const at::Tensor& only(const char* call, const char* what, const Tensors& tensors);
const Tensors& only(const char* call, const char* what, const TensorLists& lists);
Tensors flattened(const TensorLists& lists);
Tensors joined(Tensors a, const Tensors& b);
void check_root(const char* call, int64_t root, int size);
void check_types(const char* call, at::ScalarType type, const Tensors& tensors);
/// The list must have one tensor for each rank.
void check_one_each(const char* call, const char* what, const Tensors& tensors, int size);
void check_elements(const char* call, const char* what, const at::Tensor& tensor, int64_t expected);
Counts counts_of(const Tensors& tensors, const TensorElement& element);
bool are_equal(const Counts& counts);
/// The size of a tensor's elements, and of all tensors before the rank's own.
int64_t bytes_of(const at::Tensor& tensor);
int64_t bytes_before(const Tensors& tensors, int rank);
/// A distance between buffers that never occurs.
inline constexpr int64_t kNeverInPlace = INT64_MAX;
/// For all_to_all_single: the rows for each rank, as given or in equal parts.
Counts counts_by_rows(const char* what, const at::Tensor& tensor, const std::vector<int64_t>& splits,
                      int size, const TensorElement& element);

/// Makes several calls of one kind, which progress together.
template <typename Each>
rondo_status_t in_group(const Each& each, size_t calls) {
  if (calls == 1) return each(0);
  rondo_status_t status = rondo_group_start();
  for (size_t i = 0; i < calls && status == RONDO_OK; ++i) status = each(i);
  const rondo_status_t ended = rondo_group_end();
  return status != RONDO_OK ? status : ended;
}

inline const void* address(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}
inline void* room(const at::Tensor& tensor) { return tensor.defined() ? tensor.mutable_data_ptr() : nullptr; }

}  // namespace rondo::torch_binding
