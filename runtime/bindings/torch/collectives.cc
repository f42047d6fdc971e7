// SPDX-License-Identifier: Apache-2.0
// RondoBackend's broadcast, reductions, all-to-all and barrier: each checks its tensors and maps to one of
// Rondo's calls.
#include <ATen/core/LegacyTypeDispatch.h>

#include "backend.h"
#include "checks.h"
#include "failures.h"

namespace rondo::torch_binding {

using c10d::OpType;
using Below = at::AutoDispatchBelowADInplaceOrView;  // hides these operations from autograd

CollectiveCall RondoBackend::job(OpType type, const char* title, Tensors inputs, Tensors outputs,
                                 std::chrono::milliseconds timeout, bool async) const {
  check_tensors(title + sizeof "rondo:" - 1, joined(inputs, outputs));
  CollectiveCall made;
  made.type = type;
  made.title = title;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.timeout = timeout == c10d::kUnsetTimeout ? options_->timeout : timeout;
  made.async = async;
  made.outputs_overlap = have_overlaps(made.outputs);
  return made;
}

RondoBackend::WorkPtr RondoBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  const Below below;
  const at::Tensor& tensor = only("broadcast", "input", tensors);
  check_root("broadcast", opts.rootRank, getSize());
  CollectiveCall one =
      job(OpType::BROADCAST, "rondo:broadcast", tensors, tensors, opts.timeout, opts.asyncOp);
  const at::Tensor memory = one.in_place(tensor);
  const TensorElement element = element_to_move(tensor.scalar_type());
  one.call = [=, root = static_cast<int>(opts.rootRank)](rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_broadcast(address(memory), room(memory), element.count(memory), element.type, root, comm,
                           stream);
  };
  return submit(std::move(one));
}

RondoBackend::WorkPtr RondoBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) {
  const Below below;
  const at::Tensor& tensor = only("all_reduce", "input", tensors);
  if (tensor.layout() != at::kStrided) return allreduce_sparse(tensors, opts);
  CollectiveCall one =
      job(OpType::ALLREDUCE, "rondo:all_reduce", tensors, tensors, opts.timeout, opts.asyncOp);
  const at::Tensor memory = one.in_place(tensor);
  const auto reduction = std::make_shared<const TensorReduction>(opts.reduceOp, tensor.scalar_type());
  one.call = [=](rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_all_reduce(address(memory), room(memory), reduction->element().count(memory),
                            reduction->element().type, reduction->op(), comm, stream);
  };
  return submit(std::move(one));
}

RondoBackend::WorkPtr RondoBackend::allreduce_coalesced(Tensors& tensors,
                                                        const c10d::AllreduceCoalescedOptions& opts) {
  const Below below;
  if (tensors.empty()) refuse("all_reduce_coalesced", "requires non-empty tensor list");
  CollectiveCall all = job(OpType::ALLREDUCE_COALESCED, "rondo:all_reduce_coalesced", tensors, tensors,
                           opts.timeout, opts.asyncOp);
  Tensors memory;
  std::vector<TensorReductionPtr> reductions;
  for (const at::Tensor& tensor : tensors) {
    memory.push_back(all.in_place(tensor));
    reductions.push_back(std::make_shared<const TensorReduction>(opts.reduceOp, tensor.scalar_type()));
  }
  all.call = [memory, reductions](rondo_comm_t comm, rondo_stream_t stream) {
    return in_group(
        [&](size_t i) {
          return rondo_all_reduce(address(memory[i]), room(memory[i]),
                                  reductions[i]->element().count(memory[i]), reductions[i]->element().type,
                                  reductions[i]->op(), comm, stream);
        },
        memory.size());
  };
  return submit(std::move(all));
}

RondoBackend::WorkPtr RondoBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  const Below below;
  const at::Tensor& tensor = only("reduce", "input", tensors);
  check_root("reduce", opts.rootRank, getSize());
  CollectiveCall one = job(OpType::REDUCE, "rondo:reduce", tensors, tensors, opts.timeout, opts.asyncOp);
  const at::Tensor memory = one.in_place(tensor);
  const auto reduction = std::make_shared<const TensorReduction>(opts.reduceOp, tensor.scalar_type());
  one.call = [=, root = static_cast<int>(opts.rootRank), at_root = getRank() == opts.rootRank](
                 rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_reduce(address(memory), at_root ? room(memory) : nullptr, reduction->element().count(memory),
                        reduction->element().type, reduction->op(), root, comm, stream);
  };
  return submit(std::move(one));
}

// --- reduce-scatter ---

RondoBackend::WorkPtr RondoBackend::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                                   const c10d::ReduceScatterOptions& opts) {
  const Below below;
  const at::Tensor& output = only("reduce_scatter", "output", outputs);
  const Tensors& parts = only("reduce_scatter", "input", inputs);
  check_one_each("reduce_scatter", "input", parts, getSize());
  check_types("reduce_scatter", output.scalar_type(), parts);
  check_elements("reduce_scatter", "output", output, parts[static_cast<size_t>(getRank())].numel());
  CollectiveCall one =
      job(OpType::REDUCE_SCATTER, "rondo:reduce_scatter", parts, outputs, opts.timeout, opts.asyncOp);
  at::Tensor from = one.gathered(parts);
  const at::Tensor into = one.scattered(outputs);
  one.keep_apart(from, into, bytes_before(parts, getRank()));
  const auto reduction = std::make_shared<const TensorReduction>(opts.reduceOp, output.scalar_type());
  const Counts counts = counts_of(parts, reduction->element());
  one.call = [=](rondo_comm_t comm, rondo_stream_t stream) {
    const rondo_type_t type = reduction->element().type;
    return are_equal(counts) ? rondo_reduce_scatter(address(from), room(into), counts[0], type,
                                                    reduction->op(), comm, stream)
                             : rondo_reduce_scatter_v(address(from), room(into), counts.data(), type,
                                                      reduction->op(), comm, stream);
  };
  return submit(std::move(one));
}

RondoBackend::WorkPtr RondoBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                         const c10d::ReduceScatterOptions& opts) {
  Tensors outputs{output};
  Tensors inputs{input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, opts);
}

RondoBackend::WorkPtr RondoBackend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                    const c10d::ReduceScatterOptions& opts) {
  const Below below;
  const char* call = "reduce_scatter_tensor";
  if (inputs.empty() || outputs.size() != inputs.size())
    refuse(call, "requires as many output tensors as input tensors, and at least one");
  CollectiveCall all =
      job(inputs.size() == 1 ? OpType::_REDUCE_SCATTER_BASE : OpType::COALESCED,
          inputs.size() == 1 ? "rondo:_reduce_scatter_base" : "rondo:reduce_scatter_tensor_coalesced", inputs,
          outputs, opts.timeout, opts.asyncOp);
  Tensors from;
  Tensors into;
  std::vector<TensorReductionPtr> reductions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_types(call, outputs[i].scalar_type(), {inputs[i]});
    check_elements(call, "input", inputs[i], outputs[i].numel() * getSize());
    from.push_back(all.gathered({inputs[i]}));
    into.push_back(all.scattered({outputs[i]}));
    reductions.push_back(std::make_shared<const TensorReduction>(opts.reduceOp, outputs[i].scalar_type()));
  }
  all.keep_apart(from, into, [&](size_t i) { return getRank() * bytes_of(outputs[i]); });
  all.call = [from, into, reductions](rondo_comm_t comm, rondo_stream_t stream) {
    return in_group(
        [&](size_t i) {
          const TensorElement& element = reductions[i]->element();
          return rondo_reduce_scatter(address(from[i]), room(into[i]), element.count(into[i]), element.type,
                                      reductions[i]->op(), comm, stream);
        },
        from.size());
  };
  return submit(std::move(all));
}

// --- all-to-all ---

RondoBackend::WorkPtr RondoBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                  std::vector<int64_t>& output_splits,
                                                  std::vector<int64_t>& input_splits,
                                                  const c10d::AllToAllOptions& opts) {
  const Below below;
  check_types("all_to_all_single", input.scalar_type(), {output});
  CollectiveCall one =
      job(OpType::ALLTOALL_BASE, "rondo:all_to_all", {input}, {output}, opts.timeout, opts.asyncOp);
  const TensorElement element = element_to_move(input.scalar_type());
  const Counts sends = counts_by_rows("input", input, input_splits, getSize(), element);
  const Counts receives = counts_by_rows("output", output, output_splits, getSize(), element);
  const bool equal = input_splits.empty() && output_splits.empty();
  if (equal) check_elements("all_to_all_single", "output", output, input.numel());
  at::Tensor from = one.gathered({input});
  const at::Tensor into = one.scattered({output});
  one.keep_apart(from, into, sends == receives ? 0 : kNeverInPlace);
  one.call = [=](rondo_comm_t comm, rondo_stream_t stream) {
    return equal ? rondo_all_to_all(address(from), room(into), sends[0], element.type, comm, stream)
                 : rondo_all_to_all_v(address(from), sends.data(), nullptr, room(into), receives.data(),
                                      nullptr, element.type, comm, stream);
  };
  return submit(std::move(one));
}

RondoBackend::WorkPtr RondoBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                             const c10d::AllToAllOptions& opts) {
  const Below below;
  check_one_each("all_to_all", "input", inputs, getSize());
  check_one_each("all_to_all", "output", outputs, getSize());
  const at::ScalarType type = inputs.front().scalar_type();
  check_types("all_to_all", type, joined(inputs, outputs));
  CollectiveCall one = job(OpType::ALLTOALL, "rondo:all_to_all", inputs, outputs, opts.timeout, opts.asyncOp);
  at::Tensor from = one.gathered(inputs);
  const at::Tensor into = one.scattered(outputs);
  const TensorElement element = element_to_move(type);
  const Counts sends = counts_of(inputs, element);
  const Counts receives = counts_of(outputs, element);
  one.keep_apart(from, into, sends == receives ? 0 : kNeverInPlace);
  one.call = [=](rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_all_to_all_v(address(from), sends.data(), nullptr, room(into), receives.data(), nullptr,
                              element.type, comm, stream);
  };
  return submit(std::move(one));
}

// --- barriers ---

RondoBackend::WorkPtr RondoBackend::barrier(const c10d::BarrierOptions& opts) {
  // Work already on the caller's stream completes before the barrier, as with other backends.
  if (opts.device && opts.device->is_cuda()) {
    const c10::impl::VirtualGuardImpl gpu(opts.device->type());
    gpu.synchronizeStream(gpu.getStream(opts.device->has_index() ? *opts.device : gpu.getDevice()));
  }
  CollectiveCall one = job(OpType::BARRIER, "rondo:barrier", {}, {}, opts.timeout, opts.asyncOp);
  one.call = [](rondo_comm_t comm, rondo_stream_t) { return rondo_barrier(comm, nullptr); };
  return submit(std::move(one));
}

}  // namespace rondo::torch_binding
