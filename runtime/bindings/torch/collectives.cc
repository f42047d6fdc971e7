// RondoBackend's collectives: each checks its tensors and says which of Rondo's calls it is.
#include <ATen/core/LegacyTypeDispatch.h>

#include <numeric>

#include "backend.h"
#include "failures.h"
#include "work.h"

namespace rondo::torch_binding {
namespace {

using c10d::OpType;
using Tensors = RondoBackend::Tensors;
using TensorLists = RondoBackend::TensorLists;
using Below = at::AutoDispatchBelowADInplaceOrView;  // what is done here is none of autograd's business
using Counts = std::vector<size_t>;

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

/// A list that has a tensor for each rank.
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

Counts counts_of(const Tensors& tensors, const Element& element) {
  Counts counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(element.count(tensor));
  return counts;
}

bool are_equal(const Counts& counts) {
  return std::all_of(counts.begin(), counts.end(), [&](size_t count) { return count == counts.front(); });
}

/// Of all_to_all_single: rows for each rank, as given or in equal parts.
Counts counts_by_rows(const char* what, const at::Tensor& tensor, const std::vector<int64_t>& splits,
                      int size, const Element& element) {
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

/// Several calls of one kind, which make progress together.
template <typename Each>
rondo_status_t in_group(const Each& each, size_t calls) {
  if (calls == 1) return each(0);
  rondo_status_t status = rondo_group_start();
  for (size_t i = 0; i < calls && status == RONDO_OK; ++i) status = each(i);
  const rondo_status_t ended = rondo_group_end();
  return status != RONDO_OK ? status : ended;
}

const void* address(const at::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr() : nullptr; }
void* room(const at::Tensor& tensor) { return tensor.defined() ? tensor.mutable_data_ptr() : nullptr; }

}  // namespace

template <typename Opts>
Job RondoBackend::job(OpType type, const char* title, Tensors inputs, Tensors outputs,
                      const Opts& opts) const {
  check_tensors(title + sizeof "rondo:" - 1, joined(inputs, outputs));
  Job made;
  made.type = type;
  made.title = title;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.timeout = opts.timeout == c10d::kUnsetTimeout ? options_->timeout : opts.timeout;
  made.async = opts.asyncOp;
  return made;
}

RondoBackend::WorkPtr RondoBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
  const Below below;
  const at::Tensor& tensor = only("broadcast", "input", tensors);
  check_root("broadcast", opts.rootRank, getSize());
  Job one = job(OpType::BROADCAST, "rondo:broadcast", tensors, tensors, opts);
  const at::Tensor memory = one.in_place(tensor);
  const Element element = element_to_move(tensor.scalar_type());
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
  Job one = job(OpType::ALLREDUCE, "rondo:all_reduce", tensors, tensors, opts);
  const at::Tensor memory = one.in_place(tensor);
  const auto reduction = std::make_shared<const Reduction>(opts.reduceOp, tensor.scalar_type());
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
  Job all = job(OpType::ALLREDUCE_COALESCED, "rondo:all_reduce_coalesced", tensors, tensors, opts);
  Tensors memory;
  std::vector<ReductionPtr> reductions;
  for (const at::Tensor& tensor : tensors) {
    memory.push_back(all.in_place(tensor));
    reductions.push_back(std::make_shared<const Reduction>(opts.reduceOp, tensor.scalar_type()));
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
  Job one = job(OpType::REDUCE, "rondo:reduce", tensors, tensors, opts);
  const at::Tensor memory = one.in_place(tensor);
  const auto reduction = std::make_shared<const Reduction>(opts.reduceOp, tensor.scalar_type());
  one.call = [=, root = static_cast<int>(opts.rootRank), at_root = getRank() == opts.rootRank](
                 rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_reduce(address(memory), at_root ? room(memory) : nullptr, reduction->element().count(memory),
                        reduction->element().type, reduction->op(), root, comm, stream);
  };
  return submit(std::move(one));
}

// --- all-gather ---

RondoBackend::WorkPtr RondoBackend::allgather(TensorLists& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& opts) {
  const Below below;
  const at::Tensor& input = only("all_gather", "input", inputs);
  const Tensors& parts = only("all_gather", "output", outputs);
  check_one_each("all_gather", "output", parts, getSize());
  check_types("all_gather", input.scalar_type(), parts);
  check_elements("all_gather", "input", input, parts[static_cast<size_t>(getRank())].numel());
  Job one = job(OpType::ALLGATHER, "rondo:all_gather", inputs, parts, opts);
  const at::Tensor from = one.gathered(inputs);
  const at::Tensor into = one.scattered(parts);
  const Element element = element_to_move(input.scalar_type());
  const Counts counts = counts_of(parts, element);
  one.call = [=](rondo_comm_t comm, rondo_stream_t stream) {
    return are_equal(counts)
               ? rondo_all_gather(address(from), room(into), counts[0], element.type, comm, stream)
               : rondo_all_gather_v(address(from), room(into), counts.data(), nullptr, element.type, comm,
                                    stream);
  };
  return submit(std::move(one));
}

RondoBackend::WorkPtr RondoBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                    const c10d::AllgatherOptions& opts) {
  Tensors outputs{output};
  Tensors inputs{input};
  return allgather_into_tensor_coalesced(outputs, inputs, opts);
}

RondoBackend::WorkPtr RondoBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                    const c10d::AllgatherOptions& opts) {
  const Below below;
  const char* call = "all_gather_into_tensor";
  if (inputs.empty() || outputs.size() != inputs.size())
    refuse(call, "requires as many output tensors as input tensors, and at least one");
  Job all = job(inputs.size() == 1 ? OpType::_ALLGATHER_BASE : OpType::COALESCED,
                inputs.size() == 1 ? "rondo:_all_gather_base" : "rondo:all_gather_into_tensor_coalesced",
                inputs, outputs, opts);
  Tensors from;
  Tensors into;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_types(call, inputs[i].scalar_type(), {outputs[i]});
    check_elements(call, "output", outputs[i], inputs[i].numel() * getSize());
    from.push_back(all.gathered({inputs[i]}));
    into.push_back(all.scattered({outputs[i]}));
  }
  all.call = [from, into](rondo_comm_t comm, rondo_stream_t stream) {
    return in_group(
        [&](size_t i) {
          const Element element = element_to_move(from[i].scalar_type());
          return rondo_all_gather(address(from[i]), room(into[i]), element.count(from[i]), element.type, comm,
                                  stream);
        },
        from.size());
  };
  return submit(std::move(all));
}

RondoBackend::WorkPtr RondoBackend::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                                        const c10d::AllgatherOptions& opts) {
  const Below below;
  const char* call = "all_gather_coalesced";
  if (inputs.empty()) refuse(call, "requires non-empty tensor list");
  if (outputs.size() != static_cast<size_t>(getSize()))
    refuse(call, "output lists should be equal to world size");
  for (const Tensors& of_rank : outputs)
    if (of_rank.size() != inputs.size())
      refuse(call, "invalid output size: (expected length " + std::to_string(inputs.size()) + ", got " +
                       std::to_string(of_rank.size()) + ")");
  Job all = job(OpType::ALLGATHER_COALESCED, "rondo:all_gather_coalesced", inputs, flattened(outputs), opts);
  Tensors from;
  Tensors into;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensors parts;
    for (const Tensors& of_rank : outputs) parts.push_back(of_rank[i]);
    from.push_back(all.gathered({inputs[i]}));
    into.push_back(all.scattered(parts));
  }
  all.call = [from, into](rondo_comm_t comm, rondo_stream_t stream) {
    return in_group(
        [&](size_t i) {
          const Element element = element_to_move(from[i].scalar_type());
          return rondo_all_gather(address(from[i]), room(into[i]), element.count(from[i]), element.type, comm,
                                  stream);
        },
        from.size());
  };
  return submit(std::move(all));
}

// --- gather and scatter ---

RondoBackend::WorkPtr RondoBackend::gather(TensorLists& outputs, Tensors& inputs,
                                           const c10d::GatherOptions& opts) {
  const Below below;
  only("gather", "input", inputs);
  if (getRank() != opts.rootRank) {
    if (!outputs.empty()) refuse("gather", "requires empty output on non-root");
    return gather_parts("rondo:gather", OpType::GATHER, {}, inputs.front(), opts);
  }
  const Tensors& parts = only("gather", "output", outputs);
  check_one_each("gather", "output", parts, getSize());
  return gather_parts("rondo:gather", OpType::GATHER, parts, inputs.front(), opts);
}

RondoBackend::WorkPtr RondoBackend::gather_single(at::Tensor& output, at::Tensor& input,
                                                  const c10d::GatherOptions& opts) {
  const Below below;
  if (getRank() != opts.rootRank) return gather_parts("rondo:gather", OpType::GATHER, {}, input, opts);
  check_elements("gather", "output", output, input.numel() * getSize());
  return gather_parts("rondo:gather", OpType::GATHER, {output}, input, opts);
}

/// `outputs`: at the root one for each rank, or one for all; elsewhere none.
RondoBackend::WorkPtr RondoBackend::gather_parts(const char* title, OpType type, const Tensors& outputs,
                                                 const at::Tensor& input, const c10d::GatherOptions& opts) {
  check_root("gather", opts.rootRank, getSize());
  check_types("gather", input.scalar_type(), outputs);
  Job one = job(type, title, {input}, outputs, opts);
  const at::Tensor from = one.gathered({input});
  const at::Tensor into = one.scattered(outputs);
  const Element element = element_to_move(input.scalar_type());
  const Counts counts = outputs.size() > 1 ? counts_of(outputs, element) : Counts();
  const bool varies = !counts.empty() && !are_equal(counts);
  if (varies) refuse("gather", "invalid tensor size: the output tensors differ in size");
  if (!counts.empty())
    check_elements("gather", "input", input, outputs[static_cast<size_t>(getRank())].numel());
  one.call = [=, root = static_cast<int>(opts.rootRank)](rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_gather(address(from), room(into), element.count(from), element.type, root, comm, stream);
  };
  return submit(std::move(one));
}

RondoBackend::WorkPtr RondoBackend::scatter(Tensors& outputs, TensorLists& inputs,
                                            const c10d::ScatterOptions& opts) {
  const Below below;
  const at::Tensor& output = only("scatter", "output", outputs);
  check_root("scatter", opts.rootRank, getSize());
  Tensors parts;
  if (getRank() == opts.rootRank) {
    parts = only("scatter", "input", inputs);
    check_one_each("scatter", "input", parts, getSize());
    check_types("scatter", output.scalar_type(), parts);
    for (const at::Tensor& part : parts) check_elements("scatter", "input", part, output.numel());
  } else {
    if (!inputs.empty()) refuse("scatter", "requires empty input on non-root");
  }
  Job one = job(OpType::SCATTER, "rondo:scatter", parts, outputs, opts);
  const at::Tensor from = one.gathered(parts);
  const at::Tensor into = one.scattered(outputs);
  const Element element = element_to_move(output.scalar_type());
  one.call = [=, root = static_cast<int>(opts.rootRank)](rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_scatter(address(from), room(into), element.count(into), element.type, root, comm, stream);
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
  Job one = job(OpType::REDUCE_SCATTER, "rondo:reduce_scatter", parts, outputs, opts);
  const at::Tensor from = one.gathered(parts);
  const at::Tensor into = one.scattered(outputs);
  const auto reduction = std::make_shared<const Reduction>(opts.reduceOp, output.scalar_type());
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
  Job all = job(inputs.size() == 1 ? OpType::_REDUCE_SCATTER_BASE : OpType::COALESCED,
                inputs.size() == 1 ? "rondo:_reduce_scatter_base" : "rondo:reduce_scatter_tensor_coalesced",
                inputs, outputs, opts);
  Tensors from;
  Tensors into;
  std::vector<ReductionPtr> reductions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_types(call, outputs[i].scalar_type(), {inputs[i]});
    check_elements(call, "input", inputs[i], outputs[i].numel() * getSize());
    from.push_back(all.gathered({inputs[i]}));
    into.push_back(all.scattered({outputs[i]}));
    reductions.push_back(std::make_shared<const Reduction>(opts.reduceOp, outputs[i].scalar_type()));
  }
  all.call = [from, into, reductions](rondo_comm_t comm, rondo_stream_t stream) {
    return in_group(
        [&](size_t i) {
          const Element& element = reductions[i]->element();
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
  Job one = job(OpType::ALLTOALL_BASE, "rondo:all_to_all", {input}, {output}, opts);
  const Element element = element_to_move(input.scalar_type());
  const Counts sends = counts_by_rows("input", input, input_splits, getSize(), element);
  const Counts receives = counts_by_rows("output", output, output_splits, getSize(), element);
  const bool equal = input_splits.empty() && output_splits.empty();
  if (equal) check_elements("all_to_all_single", "output", output, input.numel());
  const at::Tensor from = one.gathered({input});
  const at::Tensor into = one.scattered({output});
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
  Job one = job(OpType::ALLTOALL, "rondo:all_to_all", inputs, outputs, opts);
  const at::Tensor from = one.gathered(inputs);
  const at::Tensor into = one.scattered(outputs);
  const Element element = element_to_move(type);
  const Counts sends = counts_of(inputs, element);
  const Counts receives = counts_of(outputs, element);
  one.call = [=](rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_all_to_all_v(address(from), sends.data(), nullptr, room(into), receives.data(), nullptr,
                              element.type, comm, stream);
  };
  return submit(std::move(one));
}

// --- barriers ---

RondoBackend::WorkPtr RondoBackend::barrier(const c10d::BarrierOptions& opts) {
  // What the caller's stream was given comes before the barrier, as it does with other backends.
  if (opts.device && opts.device->is_cuda()) {
    const c10::impl::VirtualGuardImpl gpu(opts.device->type());
    gpu.synchronizeStream(gpu.getStream(opts.device->has_index() ? *opts.device : gpu.getDevice()));
  }
  Job one = job(OpType::BARRIER, "rondo:barrier", {}, {}, opts);
  one.call = [](rondo_comm_t comm, rondo_stream_t) { return rondo_barrier(comm, nullptr); };
  return submit(std::move(one));
}

}  // namespace rondo::torch_binding
