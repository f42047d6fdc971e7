// SPDX-License-Identifier: Apache-2.0
#include "collective_call.h"

#include <algorithm>

#include "failures.h"

namespace rondo::torch_binding {
namespace {

/// Whether its memory holds exactly its elements, in order.
bool is_plain(const at::Tensor& tensor) {
  return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

bool are_consecutive(const std::vector<at::Tensor>& tensors) {
  const auto* next = static_cast<const std::byte*>(tensors.front().const_data_ptr());
  for (const at::Tensor& tensor : tensors) {
    const bool fits = tensor.const_data_ptr() == next && tensor.is_alias_of(tensors.front());
    if (!is_plain(tensor) || (!fits && tensor.numel() != 0)) return false;
    if (tensor.numel() != 0) next += tensor.nbytes();
  }
  return true;
}

int64_t elements_of(const std::vector<at::Tensor>& tensors) {
  int64_t elements = 0;
  for (const at::Tensor& tensor : tensors) elements += tensor.numel();
  return elements;
}

/// From a tensor's first byte to the end of its last element; strides are never negative.
struct Span {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;

  bool overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
};

Span span_of(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0) return {};
  const auto* begin = static_cast<const std::byte*>(tensor.const_data_ptr());
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  return {begin, begin + static_cast<size_t>(last + 1) * tensor.itemsize()};
}

std::vector<Span> spans_of(const std::vector<at::Tensor>& tensors) {
  std::vector<Span> spans;
  for (const at::Tensor& tensor : tensors) spans.push_back(span_of(tensor));
  return spans;
}

/// Calls `each` with the piece of `whole` that belongs to each tensor, in that tensor's shape.
template <typename Each>
void for_each_piece(const at::Tensor& whole, const std::vector<at::Tensor>& tensors, Each&& each) {
  int64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t elements = tensors[i].numel();
    if (elements != 0) each(whole.narrow(0, offset, elements).view(tensors[i].sizes()), i);
    offset += elements;
  }
}

bool lie_in_one_piece(const std::vector<at::Tensor>& tensors) {
  return tensors.size() == 1 ? is_plain(tensors.front()) : are_consecutive(tensors);
}

/// A flat view of tensors that are contiguous with one another.
at::Tensor own_memory(const std::vector<at::Tensor>& tensors) {
  return tensors.front().as_strided({elements_of(tensors)}, {1});
}

at::Tensor new_memory(const std::vector<at::Tensor>& tensors) {
  return at::empty({elements_of(tensors)}, tensors.front().options().memory_format(std::nullopt));
}

}  // namespace

at::Tensor CollectiveCall::gathered(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return {};
  if (lie_in_one_piece(tensors)) return own_memory(tensors);
  at::Tensor whole = new_memory(tensors);
  for_each_piece(whole, tensors, [&](const at::Tensor& piece, size_t i) {
    before.push_back({piece, tensors[i], i});
  });
  return whole;
}

at::Tensor CollectiveCall::scattered(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return {};
  if (!outputs_overlap && lie_in_one_piece(tensors)) return own_memory(tensors);
  at::Tensor whole = new_memory(tensors);
  for_each_piece(whole, tensors, [&](const at::Tensor& piece, size_t i) {
    after.push_back({tensors[i], piece, i});
  });
  return whole;
}

at::Tensor CollectiveCall::in_place(const at::Tensor& tensor) {
  if (!outputs_overlap && is_plain(tensor)) return tensor;
  at::Tensor whole = at::empty(tensor.sizes(), tensor.options().memory_format(std::nullopt));
  before.push_back({whole, tensor});
  after.push_back({tensor, whole});
  return whole;
}

void CollectiveCall::keep_apart(std::vector<at::Tensor>& from, const std::vector<at::Tensor>& into,
                                const std::function<int64_t(size_t)>& in_place) {
  const std::vector<Span> written = spans_of(into);
  for (size_t k = 0; k < from.size(); ++k) {
    const Span read = span_of(from[k]);
    const auto is_in_the_way = [&](const Span& one) {
      const bool is_own = &one == &written[k];
      return one.overlaps(read) && !(is_own && one.begin - read.begin == in_place(k));
    };
    if (std::none_of(written.begin(), written.end(), is_in_the_way)) continue;
    before.push_back({at::empty_like(from[k]), from[k]});
    from[k] = before.back().to;
  }
}

void CollectiveCall::keep_apart(at::Tensor& from, const at::Tensor& into, int64_t in_place) {
  std::vector<at::Tensor> one{from};
  keep_apart(one, {into}, [&](size_t) { return in_place; });
  from = one.front();
}

bool have_overlaps(const std::vector<at::Tensor>& tensors) {
  if (tensors.size() < 2) return false;
  std::vector<Span> spans = spans_of(tensors);
  std::erase_if(spans, [](const Span& span) { return span.begin == nullptr; });
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return std::adjacent_find(spans.begin(), spans.end(),
                            [](const Span& a, const Span& b) { return a.overlaps(b); }) != spans.end();
}

c10::Device CollectiveCall::device() const {
  if (!inputs.empty()) return inputs.front().device();
  return outputs.empty() ? c10::Device(c10::kCPU) : outputs.front().device();
}

void check_tensors(const char* call, const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.layout() != at::kStrided) refuse(call, "tensors must be dense, not sparse");
    if (!tensor.is_cpu() && !tensor.is_cuda())
      refuse(call, "tensors must be on a CPU or a CUDA device, not on " + tensor.device().str());
    if (tensor.device() != tensors.front().device())
      refuse(call, "tensors must be on one device, not on " + tensors.front().device().str() + " and " +
                       tensor.device().str());
  }
}

}  // namespace rondo::torch_binding
