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

c10::intrusive_ptr<c10::ivalue::Future> new_result() {
  return c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
}

/// c10d::WorkResult's number for how a call ended.
int64_t result_of(const std::exception_ptr& failed) {
  if (!failed) return static_cast<int64_t>(c10d::WorkResult::SUCCESS);
  try {
    std::rethrow_exception(failed);
  } catch (const c10::DistBackendError& error) {
    const bool is_timeout = std::string_view(error.what_without_backtrace()).starts_with(kTimeoutReached);
    return static_cast<int64_t>(is_timeout ? c10d::WorkResult::TIMEOUT : c10d::WorkResult::COMM_ERROR);
  } catch (...) {
    return static_cast<int64_t>(c10d::WorkResult::UNKNOWN);
  }
}

[[noreturn]] void refuse_duration(const char* why) {
  C10_THROW_ERROR(DistBackendError, std::string("rondo: the duration of a call is not known ") + why);
}

constexpr const char* kUntimed = "unless its group was told _enable_collectives_timing() before it";
constexpr const char* kIncomplete = "before it is complete";

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
      timeout_(job.timeout),
      timed_(job.timed) {}

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

c10::intrusive_ptr<c10::ivalue::Future> RondoWork::getFutureResult() {
  c10::intrusive_ptr<c10::ivalue::Future> result;
  {
    const std::lock_guard lock(mutex_);
    if (!result_) result_ = new_result();
    result = result_;
  }
  settle();
  return result;
}

float RondoWork::getDuration() const {
  if (!timed_) refuse_duration(kUntimed);
  const std::lock_guard lock(mutex_);
  if (!completed_) refuse_duration(kIncomplete);
  return std::chrono::duration<float, std::milli>(end_ - begin_).count();
}

void RondoWork::finish_with(std::exception_ptr exception) {
  if (timed_) end_ = Clock::now();
  finish(std::move(exception));
}

bool RondoWork::has_future() const {
  const std::lock_guard lock(mutex_);
  return future_ != nullptr || result_ != nullptr;
}

void RondoWork::settle() {
  c10::intrusive_ptr<c10::ivalue::Future> future, result;
  {
    const std::lock_guard lock(mutex_);
    if (!completed_) return;
    // Each is completed by one thread.
    if (future_ && !std::exchange(is_future_settled_, true)) future = future_;
    if (result_ && !std::exchange(is_result_settled_, true)) result = result_;
  }
  if (result) result->markCompleted(c10::IValue(result_of(exception_)));
  if (!future) return;
  if (exception_)
    future->setError(exception_);
  else
    future->markCompleted(c10::IValue(outputs_));
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
  if (is_timed()) begin_timing();
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
    : RondoWork(rank, job, 0), job_(std::move(job)), where_(std::move(where)) {
  if (is_timed()) begin_timing();
}

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
      begun_(stream.device_type(), c10::EventFlag::BACKEND_DEFAULT),
      done_(stream.device_type(),
            is_timed() ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT),
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
  if (is_timed()) begun_.record(stream_);
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

c10::intrusive_ptr<c10::ivalue::Future> DeviceWork::getFutureResult() {
  C10_THROW_ERROR(NotImplementedError, where_ + ": no future tells the result of a call on a GPU's stream");
}

float DeviceWork::getDuration() const {
  if (!is_timed()) refuse_duration(kUntimed);
  if (!done_.query()) refuse_duration(kIncomplete);
  return static_cast<float>(begun_.elapsedTime(done_));
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

float JointWork::getDuration() const {
  float longest = 0;
  for (const auto& part : parts_) longest = std::max(longest, part->getDuration());
  return longest;
}

c10::intrusive_ptr<c10::ivalue::Future> JointWork::getFutureResult() {
  const auto all = new_result();
  constexpr auto kSuccess = static_cast<int64_t>(c10d::WorkResult::SUCCESS);
  if (parts_.empty()) all->markCompleted(c10::IValue(kSuccess));
  const auto left = std::make_shared<std::atomic<size_t>>(parts_.size());
  const auto worst = std::make_shared<std::atomic<int64_t>>(kSuccess);
  for (const auto& part : parts_)
    part->getFutureResult()->addCallback([all, left, worst](c10::ivalue::Future& one) {
      int64_t success = kSuccess;
      worst->compare_exchange_strong(success, one.constValue().toInt());  // the first failure stays
      if (left->fetch_sub(1) == 1) all->markCompleted(c10::IValue(worst->load()));
    });
  return all;
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
