// SPDX-License-Identifier: Apache-2.0
// CollectiveCall: one collective, to run on the host or on a GPU's stream; converts tensors to the contiguous
// buffers that Rondo takes.
#pragma once

#include <ATen/ATen.h>
#include <rondo/rondo.h>

#include <chrono>
#include <functional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace rondo::torch_binding {

struct CollectiveCall {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  const char* title = "";  // in profiles and errors: "rondo:all_reduce"
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> outputs;  // the result of its Work
  std::chrono::milliseconds timeout{0};
  bool async = true;   // false: the caller waits for it at once
  bool timed = false;  // its Work tells how long it took

  struct Copy {
    at::Tensor to;
    at::Tensor from;
    size_t place = 0;  // the tensor's index in the caller's list
  };
  std::vector<Copy> before;
  std::vector<Copy> after;
  /// Makes the calls, once all tensors' memory is prepared.
  std::function<rondo_status_t(rondo_comm_t, rondo_stream_t)> call;

  /// Whether outputs share memory. If so, the calls write to temporary memory, and results are copied in the
  /// order of the outputs.
  bool outputs_overlap = false;

  /// A flat tensor for all the tensors, in order: their own memory if they are contiguous already, else
  /// temporary memory that is filled before the call (gathered) or copied to them after it (scattered).
  /// Undefined if there are none.
  at::Tensor gathered(const std::vector<at::Tensor>& tensors);
  at::Tensor scattered(const std::vector<at::Tensor>& tensors);
  /// A tensor that the call reads and overwrites.
  at::Tensor in_place(const at::Tensor& tensor);
  /// The k-th call reads from[k] and writes into[k]. Copies from[k] if a call would overwrite it, except by
  /// Rondo's in-place placement: into[k] at in_place(k) bytes from from[k].
  void keep_apart(std::vector<at::Tensor>& from, const std::vector<at::Tensor>& into,
                  const std::function<int64_t(size_t)>& in_place);
  void keep_apart(at::Tensor& from, const at::Tensor& into, int64_t in_place);

  /// The device of its tensors, on which the call runs; check_tensors() has ensured that there is only one.
  c10::Device device() const;
};

/// Whether two of them share memory.
bool have_overlaps(const std::vector<at::Tensor>& tensors);

/// Throws a ValueError that names the call unless all are dense and on the same CPU or CUDA device.
void check_tensors(const char* call, const std::vector<at::Tensor>& tensors);

}  // namespace rondo::torch_binding
