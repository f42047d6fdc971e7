// Job: one collective, as it is carried out on the host or on a GPU's stream; and how tensors become the
// plain pieces of memory that Rondo takes.
#pragma once

#include <ATen/ATen.h>
#include <rondo/rondo.h>

#include <chrono>
#include <functional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace rondo::torch_binding {

struct Job {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  const char* title = "";  // in profiles and errors: "rondo:all_reduce"
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> outputs;  // what its Work gives as its result
  std::chrono::milliseconds timeout{0};
  bool async = true;  // false: the caller waits for it at once

  struct Copy {
    at::Tensor to;
    at::Tensor from;
    size_t place = 0;  // of the tensor in the list that it came with
  };
  std::vector<Copy> before;
  std::vector<Copy> after;
  /// All tensors' memory has been prepared; makes the calls.
  std::function<rondo_status_t(rondo_comm_t, rondo_stream_t)> call;

  /// Whether outputs share memory. Then the calls write to memory of their own, and results are copied in the
  /// order of the outputs.
  bool outputs_overlap = false;

  /// The tensors, one after the other, in one piece: where they lie so already, their own memory; otherwise
  /// memory of its own, which is filled before the call, or copied to them after it. Undefined where there
  /// are none.
  at::Tensor gathered(const std::vector<at::Tensor>& tensors);
  at::Tensor scattered(const std::vector<at::Tensor>& tensors);
  /// A tensor that the call reads and overwrites.
  at::Tensor in_place(const at::Tensor& tensor);
  /// Of the job's k-th call, which reads from[k] and writes to into[k]: copies what it reads where that would
  /// be overwritten, unless the two lie as Rondo's in-place calls have them. `in_place`: where that has
  /// into[k], in bytes from from[k] on.
  void keep_apart(std::vector<at::Tensor>& from, const std::vector<at::Tensor>& into,
                  const std::function<int64_t(size_t)>& in_place);
  void keep_apart(at::Tensor& from, const at::Tensor& into, int64_t in_place);

  /// Where the call runs: that of its tensors, which the caller has found to be one.
  c10::Device device() const;
};

/// Whether two of them share memory.
bool have_overlaps(const std::vector<at::Tensor>& tensors);

/// Every one is dense, on a CPU or a CUDA device, the same for all; otherwise a ValueError that names the
/// call.
void check_tensors(const char* call, const std::vector<at::Tensor>& tensors);

}  // namespace rondo::torch_binding
