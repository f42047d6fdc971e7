#include "job.h"

#include "failures.h"

namespace rondo::torch_binding {
namespace {

/// Its memory is its elements, in order.
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

/// The pieces of `whole` that belong to the tensors, in their shapes.
template <typename Each>
void for_each_piece(const at::Tensor& whole, const std::vector<at::Tensor>& tensors, Each&& each) {
  int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() != 0) each(whole.narrow(0, offset, tensor.numel()).view(tensor.sizes()), tensor);
    offset += tensor.numel();
  }
}

bool lie_in_one_piece(const std::vector<at::Tensor>& tensors) {
  return tensors.size() == 1 ? is_plain(tensors.front()) : are_consecutive(tensors);
}

/// Of tensors that lie in one piece.
at::Tensor own_memory(const std::vector<at::Tensor>& tensors) {
  return tensors.front().as_strided({elements_of(tensors)}, {1});
}

at::Tensor new_memory(const std::vector<at::Tensor>& tensors) {
  return at::empty({elements_of(tensors)}, tensors.front().options().memory_format(std::nullopt));
}

}  // namespace

at::Tensor Job::gathered(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return {};
  if (lie_in_one_piece(tensors)) return own_memory(tensors);
  at::Tensor whole = new_memory(tensors);
  for_each_piece(whole, tensors, [&](const at::Tensor& piece, const at::Tensor& tensor) {
    before.push_back({piece, tensor});
  });
  return whole;
}

at::Tensor Job::scattered(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return {};
  if (lie_in_one_piece(tensors)) return own_memory(tensors);
  at::Tensor whole = new_memory(tensors);
  for_each_piece(whole, tensors, [&](const at::Tensor& piece, const at::Tensor& tensor) {
    after.push_back({tensor, piece});
  });
  return whole;
}

at::Tensor Job::in_place(const at::Tensor& tensor) {
  if (is_plain(tensor)) return tensor;
  at::Tensor whole = at::empty(tensor.sizes(), tensor.options().memory_format(std::nullopt));
  before.push_back({whole, tensor});
  after.push_back({tensor, whole});
  return whole;
}

c10::Device Job::device() const {
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
