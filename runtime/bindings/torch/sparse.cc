// SPDX-License-Identifier: Apache-2.0
// Sums of sparse tensors, where ranks have different numbers of elements: used by embeddings with sparse
// gradients.
#include <ATen/core/LegacyTypeDispatch.h>

#include <numeric>

#include "backend.h"
#include "failures.h"

namespace rondo::torch_binding {
namespace {

/// Gathers all ranks' rows, in rank order; row counts may differ. `width`: elements per row.
struct SparseGather {
  rondo_comm_t comm;
  std::vector<size_t> rows;  // by rank

  rondo_status_t gather(const at::Tensor& own, at::Tensor& all, int64_t width) const {
    const TensorElement element = element_to_move(own.scalar_type());
    std::vector<size_t> counts;
    for (const size_t of_rank : rows) counts.push_back(of_rank * static_cast<size_t>(width) * element.each);
    std::vector<int64_t> shape = own.sizes().vec();
    shape[0] = static_cast<int64_t>(std::accumulate(rows.begin(), rows.end(), size_t{0}));
    all = at::empty(shape, own.options());
    return rondo_all_gather_v(own.const_data_ptr(), all.mutable_data_ptr(), counts.data(), nullptr,
                              element.type, comm, nullptr);
  }
};

rondo_status_t sum(const at::Tensor& tensor, int size, rondo_comm_t comm) {
  const at::Tensor own = tensor.coalesce();
  const at::Tensor indices = own.indices().t().contiguous();  // one row per element
  const at::Tensor values = own.values().contiguous();
  SparseGather gathering{comm, std::vector<size_t>(static_cast<size_t>(size))};
  const auto mine = static_cast<size_t>(values.size(0));
  rondo_status_t status = rondo_all_gather(&mine, gathering.rows.data(), 1, RONDO_UINT64, comm, nullptr);
  at::Tensor all_indices;
  at::Tensor all_values;
  if (status == RONDO_OK) status = gathering.gather(indices, all_indices, indices.size(1));
  const int64_t width = values.dim() == 1 ? 1 : c10::multiply_integers(values.sizes().slice(1));
  if (status == RONDO_OK) status = gathering.gather(values, all_values, width);
  if (status != RONDO_OK) return status;
  tensor.copy_(at::sparse_coo_tensor(all_indices.t(), all_values, tensor.sizes()).coalesce());
  return RONDO_OK;
}

}  // namespace

RondoBackend::WorkPtr RondoBackend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  const at::AutoDispatchBelowADInplaceOrView below;
  if (tensors.size() != 1) refuse("all_reduce", "requires a single-element input tensor list");
  const at::Tensor& tensor = tensors.front();
  if (tensor.layout() != at::kSparse || !tensor.is_cpu())
    refuse("all_reduce", "tensors must be dense, or sparse ones of layout torch.sparse_coo on the CPU");
  if (opts.reduceOp != c10d::ReduceOp::SUM) refuse("all_reduce", "sparse tensors can only be summed");
  CollectiveCall one;
  one.type = c10d::OpType::_ALLREDUCE_SPARSE;
  one.title = "rondo:all_reduce_sparse";
  one.inputs = one.outputs = tensors;
  one.timeout = opts.timeout == c10d::kUnsetTimeout ? options_->timeout : opts.timeout;
  one.async = opts.asyncOp;
  one.call = [tensor, size = getSize()](rondo_comm_t comm, rondo_stream_t) {
    return sum(tensor, size, comm);
  };
  return submit(std::move(one));
}

}  // namespace rondo::torch_binding
