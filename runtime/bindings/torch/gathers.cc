// SPDX-License-Identifier: Apache-2.0
// RondoBackend's all-gather, gather and scatter.
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>

#include "backend.h"
#include "checks.h"
#include "failures.h"

namespace rondo::torch_binding {

using c10d::OpType;
using Below = at::AutoDispatchBelowADInplaceOrView;  // hides these operations from autograd

namespace {

/// All-gathers of these tensors, which progress together.
auto all_gathers(Tensors from, Tensors into) {
  return [from = std::move(from), into = std::move(into)](rondo_comm_t comm, rondo_stream_t stream) {
    return in_group(
        [&](size_t i) {
          const TensorElement element = element_to_move(from[i].scalar_type());
          return rondo_all_gather(address(from[i]), room(into[i]), element.count(from[i]), element.type, comm,
                                  stream);
        },
        from.size());
  };
}

/// Copies rank 0's data first, then rank 1's, and so on, as Gloo does: outputs may share memory.
void sort_by_place(std::vector<CollectiveCall::Copy>& copies) {
  std::stable_sort(
      copies.begin(), copies.end(),
      [](const CollectiveCall::Copy& a, const CollectiveCall::Copy& b) { return a.place < b.place; });
}

}  // namespace

// --- all-gather ---

RondoBackend::WorkPtr RondoBackend::allgather(TensorLists& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& opts) {
  const Below below;
  const at::Tensor& input = only("all_gather", "input", inputs);
  const Tensors& parts = only("all_gather", "output", outputs);
  check_one_each("all_gather", "output", parts, getSize());
  check_types("all_gather", input.scalar_type(), parts);
  check_elements("all_gather", "input", input, parts[static_cast<size_t>(getRank())].numel());
  CollectiveCall one = job(OpType::ALLGATHER, "rondo:all_gather", inputs, parts, opts.timeout, opts.asyncOp);
  at::Tensor from = one.gathered(inputs);
  const at::Tensor into = one.scattered(parts);
  one.keep_apart(from, into, -bytes_before(parts, getRank()));
  const TensorElement element = element_to_move(input.scalar_type());
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
  CollectiveCall all =
      job(inputs.size() == 1 ? OpType::_ALLGATHER_BASE : OpType::COALESCED,
          inputs.size() == 1 ? "rondo:_all_gather_base" : "rondo:all_gather_into_tensor_coalesced", inputs,
          outputs, opts.timeout, opts.asyncOp);
  Tensors from;
  Tensors into;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_types(call, inputs[i].scalar_type(), {outputs[i]});
    check_elements(call, "output", outputs[i], inputs[i].numel() * getSize());
    from.push_back(all.gathered({inputs[i]}));
    into.push_back(all.scattered(all.outputs_overlap ? outputs[i].chunk(getSize()) : Tensors{outputs[i]}));
  }
  all.keep_apart(from, into, [&](size_t i) { return -getRank() * bytes_of(inputs[i]); });
  sort_by_place(all.after);
  all.call = all_gathers(std::move(from), std::move(into));
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
  CollectiveCall all = job(OpType::ALLGATHER_COALESCED, "rondo:all_gather_coalesced", inputs,
                           flattened(outputs), opts.timeout, opts.asyncOp);
  Tensors from;
  Tensors into;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensors parts;
    for (const Tensors& of_rank : outputs) parts.push_back(of_rank[i]);
    check_types(call, inputs[i].scalar_type(), parts);
    for (const at::Tensor& part : parts) check_elements(call, "output", part, inputs[i].numel());
    from.push_back(all.gathered({inputs[i]}));
    into.push_back(all.scattered(parts));
  }
  all.keep_apart(from, into, [&](size_t i) { return -getRank() * bytes_of(inputs[i]); });
  sort_by_place(all.after);
  all.call = all_gathers(std::move(from), std::move(into));
  return submit(std::move(all));
}

// --- gather and scatter ---

RondoBackend::WorkPtr RondoBackend::gather(TensorLists& outputs, Tensors& inputs,
                                           const c10d::GatherOptions& opts) {
  const Below below;
  only("gather", "input", inputs);
  if (getRank() != opts.rootRank) {
    if (!outputs.empty()) refuse("gather", "requires empty output on non-root");
    return gather_parts({}, inputs.front(), opts);
  }
  const Tensors& parts = only("gather", "output", outputs);
  check_one_each("gather", "output", parts, getSize());
  for (const at::Tensor& part : parts) check_elements("gather", "output", part, inputs.front().numel());
  return gather_parts(parts, inputs.front(), opts);
}

RondoBackend::WorkPtr RondoBackend::gather_single(at::Tensor& output, at::Tensor& input,
                                                  const c10d::GatherOptions& opts) {
  const Below below;
  if (getRank() != opts.rootRank) return gather_parts({}, input, opts);
  check_elements("gather", "output", output, input.numel() * getSize());
  return gather_parts({output}, input, opts);
}

/// `outputs`: at the root, one per rank or one for all, of the right sizes; elsewhere none.
RondoBackend::WorkPtr RondoBackend::gather_parts(const Tensors& outputs, const at::Tensor& input,
                                                 const c10d::GatherOptions& opts) {
  check_root("gather", opts.rootRank, getSize());
  check_types("gather", input.scalar_type(), outputs);
  CollectiveCall one = job(OpType::GATHER, "rondo:gather", {input}, outputs, opts.timeout, opts.asyncOp);
  at::Tensor from = one.gathered({input});
  const at::Tensor into = one.scattered(outputs);
  one.keep_apart(from, into, -getRank() * bytes_of(input));
  const TensorElement element = element_to_move(input.scalar_type());
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
  CollectiveCall one = job(OpType::SCATTER, "rondo:scatter", parts, outputs, opts.timeout, opts.asyncOp);
  at::Tensor from = one.gathered(parts);
  const at::Tensor into = one.scattered(outputs);
  one.keep_apart(from, into, getRank() * bytes_of(output));
  const TensorElement element = element_to_move(output.scalar_type());
  one.call = [=, root = static_cast<int>(opts.rootRank)](rondo_comm_t comm, rondo_stream_t stream) {
    return rondo_scatter(address(from), room(into), element.count(into), element.type, root, comm, stream);
  };
  return submit(std::move(one));
}

}  // namespace rondo::torch_binding
