// SPDX-License-Identifier: Apache-2.0
// Works: torch's handles of calls that may not be complete yet. Any thread.
#pragma once

#include <c10/core/Event.h>

#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "collective_call.h"
#include "elements.h"
#include "host_executor.h"
#include "ranks.h"

namespace rondo::torch_binding {

/// Common base: an outcome, and a future for it.
class RondoWork : public c10d::Work {
 public:
  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  /// Of a c10d::WorkResult, without an error.
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
  /// In ms; throws if the call was not timed or is not complete.
  float getDuration() const override;
  uint64_t getSequencenumber() const override { return sequence_; }
  // Not marked `override`: torch 2.11 does not have it.
  std::chrono::milliseconds getTimeout() const { return timeout_; }
  void synchronize() override {}

 protected:
  RondoWork(int rank, const CollectiveCall& job, uint64_t sequence);

  using Clock = std::chrono::steady_clock;
  /// Called when the call begins, if it is timed.
  void begin_timing() { begin_ = Clock::now(); }
  bool is_timed() const { return timed_; }
  /// Completes it; settle() then runs its futures' callbacks.
  void finish_with(std::exception_ptr exception);
  void settle();
  bool has_future() const;
  /// Rethrows the failure, if any.
  bool end_wait();
  /// Throws that `timeout` was not enough.
  [[noreturn]] void throw_overdue(std::chrono::milliseconds timeout) const;

  std::vector<at::Tensor> outputs_;

 private:
  const char* title_;
  uint64_t sequence_;
  std::chrono::milliseconds timeout_;
  const bool timed_;
  Clock::time_point begin_, end_;
  c10::intrusive_ptr<c10::ivalue::Future> future_, result_;  // guarded by mutex_, as are the next two
  bool is_future_settled_ = false, is_result_settled_ = false;
};

/// A collective on the host, run by a HostExecutor.
class HostWork final : public RondoWork {
 public:
  HostWork(int rank, CollectiveCall job, uint64_t sequence, std::shared_ptr<Ranks> ranks,
           std::shared_ptr<HostExecutor> lane);
  static void start(const c10::intrusive_ptr<HostWork>& work);
  bool wait(std::chrono::milliseconds timeout) override;

 private:
  bool run();  // true: settle() is needed
  CollectiveCall job_;
  std::shared_ptr<Ranks> ranks_;
  std::shared_ptr<HostExecutor> lane_;
};

/// A send or receive on the host.
class MessageWork final : public RondoWork {
 public:
  struct MessageArgs {
    at::Tensor tensor;
    int peer;
    int tag;
  };
  static c10::intrusive_ptr<MessageWork> send(int rank, CollectiveCall job, const MessageArgs& message,
                                              Ranks& ranks);
  /// `peer`: or RONDO_ANY_SOURCE.
  static c10::intrusive_ptr<MessageWork> recv(int rank, CollectiveCall job, const MessageArgs& message,
                                              Ranks& ranks);
  ~MessageWork() override;
  MessageWork(int rank, CollectiveCall job, std::string where);

  bool wait(std::chrono::milliseconds timeout) override;
  int sourceRank() const override;

 private:
  static c10::intrusive_ptr<MessageWork> track(c10::intrusive_ptr<MessageWork> work);
  void end(rondo_status_t status, const char* text);
  CollectiveCall job_;
  std::string where_;
  rondo_receipt_t receipt_{-1, -1, 0};
  rondo_request_t request_ = nullptr;
};

/// Calls enqueued on a GPU's stream.
class DeviceWork final : public RondoWork {
 public:
  /// `jobs`: all on one device and in one group of calls.
  static c10::intrusive_ptr<DeviceWork> start(int rank, std::vector<CollectiveCall> jobs, uint64_t sequence,
                                              const std::shared_ptr<Ranks>& ranks, c10::Stream stream);
  DeviceWork(int rank, const CollectiveCall& first, uint64_t sequence, std::shared_ptr<Ranks> ranks,
             c10::Stream stream);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
  float getDuration() const override;

 private:
  void issue(std::vector<CollectiveCall>& jobs);
  std::shared_ptr<Ranks> ranks_;
  c10::Stream stream_;
  c10::Event begun_, done_;
  std::string where_;
  bool waits_on_host_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/// Several works as one.
class JointWork final : public RondoWork {
 public:
  JointWork(int rank, const CollectiveCall& job, std::vector<c10::intrusive_ptr<c10d::Work>> parts);
  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  bool wait(std::chrono::milliseconds timeout) override;
  void synchronize() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
  /// That of its longest part.
  float getDuration() const override;

 private:
  std::vector<c10::intrusive_ptr<c10d::Work>> parts_;
};

}  // namespace rondo::torch_binding
