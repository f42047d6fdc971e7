// SPDX-License-Identifier: Apache-2.0
#include "checks.h"

#include <algorithm>
#include <numeric>

#include "failures.h"

namespace rondo::torch_binding {

const at::Tensor& only(const char* call, const char* what, const Tensors& tensors) {
  if (tensors.size() != 1) refuse(call, std::string("requires a single-element ") + what + " tensor list");
  return tensors.front();
}

const Tensors& only(const char* call, const char* what, const TensorLists& lists) {
  if (lists.size() != 1)
    refuse(call, std::string("requires a single-element ") + what + " list of tensor lists");
  return lists.front();
}

Tensors flattened(const TensorLists& lists) {
  Tensors all;
  for (const Tensors& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Tensors joined(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void check_root(const char* call, int64_t root, int size) {
  if (root < 0 || root >= size) refuse(call, "invalid root rank: " + std::to_string(root));
}

void check_types(const char* call, at::ScalarType type, const Tensors& tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.scalar_type() != type)
      C10_THROW_ERROR(TypeError, std::string("rondo: ") + call + ": invalid tensor type: expected " +
                                     c10::toString(type) + ", got " + c10::toString(tensor.scalar_type()));
}

void check_one_each(const char* call, const char* what, const Tensors& tensors, int size) {
  if (tensors.size() != static_cast<size_t>(size))
    refuse(call, std::string("invalid ") + what + " tensor list: it has " + std::to_string(tensors.size()) +
                     " tensors, and the group " + std::to_string(size) + " ranks");
}

void check_elements(const char* call, const char* what, const at::Tensor& tensor, int64_t expected) {
  if (tensor.numel() != expected)
    refuse(call, std::string("invalid tensor size: the ") + what + " has " + std::to_string(tensor.numel()) +
                     " elements, and must have " + std::to_string(expected));
}

Counts counts_of(const Tensors& tensors, const TensorElement& element) {
  Counts counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(element.count(tensor));
  return counts;
}

bool are_equal(const Counts& counts) {
  return std::all_of(counts.begin(), counts.end(), [&](size_t count) { return count == counts.front(); });
}

int64_t bytes_of(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }

int64_t bytes_before(const Tensors& tensors, int rank) {
  return std::accumulate(tensors.begin(), tensors.begin() + rank, int64_t{0},
                         [](int64_t bytes, const at::Tensor& tensor) { return bytes + bytes_of(tensor); });
}

Counts counts_by_rows(const char* what, const at::Tensor& tensor, const std::vector<int64_t>& splits,
                      int size, const TensorElement& element) {
  const char* call = "all_to_all_single";
  const int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const size_t each = rows == 0 ? 0 : element.count(tensor) / static_cast<size_t>(rows);
  if (splits.empty()) {
    if (rows % size != 0)
      refuse(call, std::string("the ") + what + " tensor's dim 0, " + std::to_string(rows) +
                       ", does not divide equally across group size " + std::to_string(size));
    return Counts(static_cast<size_t>(size), static_cast<size_t>(rows / size) * each);
  }
  if (splits.size() != static_cast<size_t>(size))
    refuse(call, std::string("the number of ") + what + " splits, " + std::to_string(splits.size()) +
                     ", is not the group's size, " + std::to_string(size));
  if (std::any_of(splits.begin(), splits.end(), [](int64_t split) { return split < 0; }))
    refuse(call, std::string("a split of the ") + what + " is negative");
  if (std::accumulate(splits.begin(), splits.end(), int64_t{0}) != rows)
    refuse(call,
           std::string("the splits of the ") + what + " do not add up to its dim 0, " + std::to_string(rows));
  Counts counts;
  for (const int64_t split : splits) counts.push_back(static_cast<size_t>(split) * each);
  return counts;
}

}  // namespace rondo::torch_binding
