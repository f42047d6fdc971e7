// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/ivalue_inl.h>

#include <atomic>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "failures.h"

namespace rondo::torch_binding {
namespace {

using std::chrono::milliseconds;

c10::intrusive_ptr<c10::ivalue::Future> new_future(std::vector<c10::Device> devices = {}) {
  return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                  std::move(devices));
}

HostExecutor::Deadline deadline_of(milliseconds timeout) {
  if (timeout == kNoTimeout) return std::nullopt;
  return HostExecutor::Clock::now() + timeout;
}

void make(const std::vector<CollectiveCall::Copy>& copies) {
  for (const CollectiveCall::Copy& copy : copies) copy.to.copy_(copy.from);
}

}  // namespace

// --- RondoWork ---

RondoWork::RondoWork(int rank, const CollectiveCall& job, uint64_t sequence)
    : Work(rank, job.type, job.title, job.inputs.empty() ? job.outputs : job.inputs),  // shown in profiles
      outputs_(job.outputs),
      title_(job.title),
      sequence_(sequence),
      timeout_(job.timeout) {}

bool RondoWork::isCompleted() {
  const std::lock_guard lock(mutex_);
  return completed_;
}

bool RondoWork::isSuccess() const {
  const std::lock_guard lock(mutex_);
  return completed_ && !exception_;
}

std::exception_ptr RondoWork::exception() const {
  const std::lock_guard lock(mutex_);
  return exception_;
}

std::vector<at::Tensor> RondoWork::result() { return outputs_; }

c10::intrusive_ptr<c10::ivalue::Future> RondoWork::getFuture() {
  {
    const std::lock_guard lock(mutex_);
    if (!future_) future_ = new_future();
  }
  settle();
  return future_;
}

bool RondoWork::has_future() const {
  const std::lock_guard lock(mutex_);
  return future_ != nullptr;
}

void RondoWork::settle() {
  {
    const std::lock_guard lock(mutex_);
    if (!future_ || !completed_ || std::exchange(settled_, true)) return;
  }
  if (exception_)
    future_->setError(exception_);
  else
    future_->markCompleted(c10::IValue(outputs_));
}

bool RondoWork::end_wait() {
  if (c10d::allow_inflight_collective_as_graph_input())
    c10d::unregister_work(c10::intrusive_ptr<Work>::unsafe_reclaim_from_nonowning(this));
  if (const std::exception_ptr failed = exception()) std::rethrow_exception(failed);
  return true;
}

void RondoWork::throw_overdue(milliseconds timeout) const {
  std::rethrow_exception(failure(RONDO_TIMEOUT,
                                 "it was not complete after " + std::to_string(timeout.count()) +
                                     " ms, the timeout passed to wait(); it continues",
                                 title_));
}

// --- HostWork ---

HostWork::HostWork(int rank, CollectiveCall job, uint64_t sequence, std::shared_ptr<Ranks> ranks,
                   std::shared_ptr<HostExecutor> lane)
    : RondoWork(rank, job, sequence),
      job_(std::move(job)),
      ranks_(std::move(ranks)),
      lane_(std::move(lane)) {}

void HostWork::start(const c10::intrusive_ptr<HostWork>& work) {
  const bool waited_for = !work->job_.async;
  work->lane_->push({[work] { return work->run(); }, [work] { work->settle(); }}, waited_for);
  if (waited_for) work->lane_->wait([&] { return work->isCompleted(); }, std::nullopt);
}

bool HostWork::run() {
  std::exception_ptr failed;
  try {
    const at::AutoDispatchBelowADInplaceOrView below;
    const rondo_comm_t comm = ranks_->host().within(job_.timeout);
    make(job_.before);
    const rondo_status_t status = job_.call(comm, nullptr);
    if (status != RONDO_OK) check(status, comm, ranks_->place_of(job_.title));
    make(job_.after);
  } catch (...) {
    failed = std::current_exception();
  }
  job_ = {};
  finish_with(failed);
  return has_future();
}

bool HostWork::wait(milliseconds timeout) {
  if (!lane_->wait([this] { return isCompleted(); }, deadline_of(timeout))) throw_overdue(timeout);
  return end_wait();
}

// --- MessageWork ---

MessageWork::MessageWork(int rank, CollectiveCall job, std::string where)
    : RondoWork(rank, job, 0), job_(std::move(job)), where_(std::move(where)) {}

MessageWork::~MessageWork() { rondo_request_free(request_); }

c10::intrusive_ptr<MessageWork> MessageWork::send(int rank, CollectiveCall job, const MessageArgs& message,
                                                  Ranks& ranks) {
  make(job.before);
  const std::string where = ranks.place_of(job.title);
  const rondo_comm_t comm = ranks.host().within(job.timeout);
  auto work = c10::make_intrusive<MessageWork>(rank, std::move(job), where);
  const TensorElement element = element_to_move(message.tensor.scalar_type());
  check(rondo_isend(message.tensor.const_data_ptr(), element.count(message.tensor), element.type,
                    message.peer, message.tag, comm, &work->request_),
        comm, where);
  return track(std::move(work));
}

c10::intrusive_ptr<MessageWork> MessageWork::recv(int rank, CollectiveCall job, const MessageArgs& message,
                                                  Ranks& ranks) {
  const std::string where = ranks.place_of(job.title);
  const rondo_comm_t comm = ranks.host().within(job.timeout);
  auto work = c10::make_intrusive<MessageWork>(rank, std::move(job), where);
  const TensorElement element = element_to_move(message.tensor.scalar_type());
  check(rondo_irecv(message.tensor.mutable_data_ptr(), element.count(message.tensor), element.type,
                    message.peer, message.tag, comm, &work->receipt_, &work->request_),
        comm, where);
  return track(std::move(work));
}

/// The message keeps its Work, and thereby its tensor, alive until it completes.
c10::intrusive_ptr<MessageWork> MessageWork::track(c10::intrusive_ptr<MessageWork> work) {
  const auto told = [](rondo_status_t status, const char* text, void* held) {
    c10::intrusive_ptr<MessageWork>::reclaim(static_cast<MessageWork*>(held))->end(status, text);
  };
  rondo_request_tell(work->request_, told, c10::intrusive_ptr<MessageWork>(work).release());
  return work;
}

void MessageWork::end(rondo_status_t status, const char* text) {
  std::exception_ptr failed;
  try {
    const at::AutoDispatchBelowADInplaceOrView below;
    if (status == RONDO_OK) make(job_.after);
  } catch (...) {
    failed = std::current_exception();
  }
  if (status != RONDO_OK) failed = failure(status, text, where_);
  job_ = {};
  finish_with(failed);
  settle();
}

bool MessageWork::wait(milliseconds timeout) {
  if (rondo_request_wait(request_, timeout.count()) == RONDO_IN_PROGRESS) throw_overdue(timeout);
  std::unique_lock lock(mutex_);  // the thread that detected completion may still be in the callback
  cv_.wait(lock, [this] { return completed_; });
  lock.unlock();
  return end_wait();
}

int MessageWork::sourceRank() const {
  const std::lock_guard lock(mutex_);
  return completed_ ? receipt_.source : -1;
}

// --- DeviceWork ---

DeviceWork::DeviceWork(int rank, const CollectiveCall& first, uint64_t sequence, std::shared_ptr<Ranks> ranks,
                       c10::Stream stream)
    : RondoWork(rank, first, sequence),
      ranks_(std::move(ranks)),
      stream_(stream),
      done_(stream.device_type()),
      where_(ranks_->place_of(first.title)),
      waits_on_host_(first.type == c10d::OpType::BARRIER),
      future_(new_future({stream.device()})) {}

c10::intrusive_ptr<DeviceWork> DeviceWork::start(int rank, std::vector<CollectiveCall> jobs,
                                                 uint64_t sequence, const std::shared_ptr<Ranks>& ranks,
                                                 c10::Stream stream) {
  auto work = c10::make_intrusive<DeviceWork>(rank, jobs.front(), sequence, ranks, stream);
  for (size_t i = 1; i < jobs.size(); ++i)
    work->outputs_.insert(work->outputs_.end(), jobs[i].outputs.begin(), jobs[i].outputs.end());
  work->issue(jobs);
  return work;
}

/// Ordered after the work already on the caller's stream, and before the work that it submits after waiting.
void DeviceWork::issue(std::vector<CollectiveCall>& jobs) {
  const c10::impl::VirtualGuardImpl gpu(stream_.device_type());
  const c10::Stream callers = gpu.getStream(stream_.device());
  if (callers != stream_) {
    c10::Event given(stream_.device_type());
    given.record(callers);
    given.block(stream_);
  }
  const c10::StreamGuard on_stream(stream_);
  const rondo_comm_t comm = ranks_->on(stream_.device()).within(jobs.front().timeout);
  const rondo_stream_t stream = rondo_cuda_stream(stream_.native_handle());
  for (const CollectiveCall& job : jobs) {
    for (const auto* tensors : {&job.inputs, &job.outputs})
      for (const at::Tensor& tensor : *tensors)
        gpu.recordDataPtrOnStream(tensor.storage().data_ptr(), stream_);
    for (const auto* copies : {&job.before, &job.after})
      for (const CollectiveCall::Copy& copy : *copies) {
        gpu.recordDataPtrOnStream(copy.to.storage().data_ptr(), stream_);
        gpu.recordDataPtrOnStream(copy.from.storage().data_ptr(), stream_);
      }
    make(job.before);
  }
  check(rondo_group_start(), nullptr, where_);
  rondo_status_t status = RONDO_OK;
  for (const CollectiveCall& job : jobs)
    if (status == RONDO_OK) status = job.call(comm, stream);
  const rondo_status_t issued = rondo_group_end();
  check(status, comm, where_);
  check(issued, comm, where_);
  for (const CollectiveCall& job : jobs) make(job.after);
  done_.record(stream_);
  future_->markCompleted(c10::IValue(outputs_));
}

bool DeviceWork::isCompleted() { return done_.query() || exception() != nullptr; }

bool DeviceWork::isSuccess() const { return done_.query() && exception() == nullptr; }

std::exception_ptr DeviceWork::exception() const {
  rondo_status_t failed = RONDO_OK;
  const rondo_comm_t comm = ranks_->on(stream_.device()).get();
  rondo_async_error(comm, &failed);
  return failed == RONDO_OK ? nullptr : failure(failed, rondo_last_error(comm), where_);
}

void DeviceWork::synchronize() {
  const c10::impl::VirtualGuardImpl gpu(stream_.device_type());
  done_.block(gpu.getStream(stream_.device()));
}

bool DeviceWork::wait(milliseconds timeout) {
  const HostExecutor::Deadline deadline = deadline_of(timeout);
  if (deadline || waits_on_host_)
    while (!isCompleted()) {
      if (deadline && HostExecutor::Clock::now() >= *deadline) throw_overdue(timeout);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  synchronize();
  return end_wait();
}

// --- JointWork ---

JointWork::JointWork(int rank, const CollectiveCall& job, std::vector<c10::intrusive_ptr<c10d::Work>> parts)
    : RondoWork(rank, job, 0), parts_(std::move(parts)) {
  for (const auto& part : parts_) {
    const std::vector<at::Tensor> of_part = part->result();
    outputs_.insert(outputs_.end(), of_part.begin(), of_part.end());
  }
}

bool JointWork::isCompleted() {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->isCompleted(); });
}

bool JointWork::isSuccess() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->isSuccess(); });
}

std::exception_ptr JointWork::exception() const {
  for (const auto& part : parts_)
    if (const std::exception_ptr failed = part->exception()) return failed;
  return nullptr;
}

bool JointWork::wait(milliseconds timeout) {
  const HostExecutor::Deadline deadline = deadline_of(timeout);
  for (const auto& part : parts_) {
    const auto left =
        deadline ? std::chrono::duration_cast<milliseconds>(*deadline - HostExecutor::Clock::now()) : timeout;
    part->wait(deadline ? std::max(left, milliseconds(1)) : timeout);
  }
  return end_wait();
}

void JointWork::synchronize() {
  for (const auto& part : parts_) part->synchronize();
}

c10::intrusive_ptr<c10::ivalue::Future> JointWork::getFuture() {
  const auto all = new_future();
  if (parts_.empty()) all->markCompleted(c10::IValue(outputs_));
  const auto left = std::make_shared<std::atomic<size_t>>(parts_.size());
  const auto failed = std::make_shared<std::atomic<bool>>(false);
  for (const auto& part : parts_)
    part->getFuture()->addCallback([all, left, failed, outputs = outputs_](c10::ivalue::Future& one) {
      if (one.hasError() && !failed->exchange(true)) all->setError(one.exception_ptr());
      if (left->fetch_sub(1) == 1 && !failed->load()) all->markCompleted(c10::IValue(outputs));
    });
  return all;
}

}  // namespace rondo::torch_binding
