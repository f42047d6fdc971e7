// SPDX-License-Identifier: Apache-2.0
#include "gpu_calls.h"

#include <algorithm>
#include <set>

#include "base/error_kinds.h"
#include "base/log.h"
#include "bootstrap/membership.h"
#include "comm/communicator.h"
#include "diagnosis/desync_report.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"
#include "gpu_direct/direct.h"

namespace rondo {
namespace {

/// Only the buffers and the stream change between calls; the executor plans each call as it starts it.
class GpuPlan final : public Plan {
 public:
  using Start = std::function<Result<Task*>(const Call& call, const Signature& signature)>;
  GpuPlan(const char* name, uint64_t hash, const Call& call, int rank, int nranks, Start start)
      : Plan(name, hash, call, rank, nranks), call_(call), start_(std::move(start)) {}

  Task* start(const CallBuffers& buffers) override {
    call_.send = buffers.send;
    call_.recv = buffers.recv;
    call_.place = buffers.place;
    Result<Task*> started = start_(call_, signature());
    return started.ok() ? started.value() : fail(started.status());
  }

 private:
  Call call_;  // must outlive the running task
  Start start_;
};

/// GPU calls do not share connections with calls on host memory.
uint16_t gpu_port(uint16_t lane) {
  return static_cast<uint16_t>(static_cast<int>(Port::FirstGpuLane) + lane);
}

}  // namespace

Result<std::unique_ptr<GpuCalls>> GpuCalls::make(Communicator& communicator) {
  std::unique_ptr<GpuCalls> made(new GpuCalls(communicator));
  RONDO_TRY(made->plan());
  return made;
}

Status GpuCalls::plan() {
  may_see_memory_ = communicator_.membership().device() >= 0 || gpu::in_use();
  if (communicator_.membership().device() < 0) return {};  // placement reports it, call by call
  no_calls_ = check_ranks();
  if (!no_calls_.ok()) return {};
  no_executor_ = check_executor();
  const Communicator::Options& options = communicator_.options();
  const bool wired = options.transport != nullptr && options.transport->medium != Medium::ProcessMemory;
  bool one_host = true;
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    if (communicator_.membership().is_here(rank)) here_.push_back(rank);
    one_host = one_host && communicator_.membership().is_on_this_host(rank);
    terms_.gpus.push_back(communicator_.membership().peer(rank).device);
  }
  shares_memory_ = !wired;
  terms_.shares_memory = one_host && !wired;
  terms_.protocol = options.protocol;
  limit_channels(terms_, options.channels);
  terms_.slot_bytes = communicator_.params().slot_bytes;
  if (wired || !one_host) return {};
  competes_ = links_decide();
  return reach_one_another() ? go_direct() : go_staged();
}

Status GpuCalls::check_ranks() const {
  for (int rank = 0; rank < communicator_.size(); ++rank)
    if (communicator_.membership().device_of(rank) < 0)
      return error(ErrorKind::PeerWithoutGpu, "GPU memory: {} uses no GPU, {} does",
                   communicator_.membership().rank_text(rank),
                   communicator_.membership().rank_text(communicator_.rank()));
  return {};
}

/// Blocks that wait for one another must run concurrently: in one launch, or on different GPUs.
Status GpuCalls::check_executor() const {
  for (int a = 0; a < communicator_.size(); ++a)
    for (int b = 0; b < a; ++b) {
      const PeerInfo& one = communicator_.membership().peer(a);
      const PeerInfo& other = communicator_.membership().peer(b);
      if (one.device.uuid == other.device.uuid && !one.is_beside(other))
        return error(ErrorKind::GpuIsShared,
                     "GPU memory over connections: {} and {} are different processes that share a GPU",
                     other.text(), one.text());
    }
  return {};
}

/// Whether all ranks know the links of their host, and agree on what they know. Ranks of one process are left
/// out: in a CUDA graph, which they share, kernels of different GPUs need not run at the same time.
bool GpuCalls::links_decide() const {
  const Membership& members = communicator_.membership();
  const uint64_t host = terms_.gpus.front().host;
  std::set<uint64_t> processes;
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    processes.insert(members.peer(rank).endpoint.process);
    if (members.peer(rank).device.host != host) return false;
  }
  return host != 0 && std::ssize(processes) == communicator_.size();
}

/// Null: links say nothing about the choice. Describes the host when first called.
GpuCosts* GpuCalls::costs() {
  if (competes_ && !looked_for_costs_) {
    looked_for_costs_ = true;
    const auto& plans = communicator_.options().selector.found_plans();
    if (auto links = LinkTimes::of(plans->ranks()); links.ok())
      costs_.emplace(links.take(), plans);
    else
      log().info("rank {}: calls on GPU memory ignore the host's links: {}", communicator_.rank(),
                 links.status().text());
  }
  return costs_ ? &*costs_ : nullptr;
}

/// The time of a staged call.
double GpuCalls::staged_us(const Call& call) {
  GpuCosts* const known = costs();
  if (known == nullptr) return 0;
  static const CostTable costs;
  const int n = communicator_.size();
  return staged_steps(call, n) * costs[CostKind::StagedStep].latency_us +
         known->us(call, [&](int from, int to) { return staged_volume(call, n, from, to); });
}

/// Whether kernels of each rank can access the users' buffers of all others.
bool GpuCalls::reach_one_another() const {
  if (std::ssize(here_) != communicator_.size() || communicator_.size() > kMaxDirectRanks) return false;
  std::set<int> devices;
  for (const int rank : here_) devices.insert(communicator_.membership().device_of(rank));
  return std::all_of(devices.begin(), devices.end(), [&](int from) {
    return std::all_of(devices.begin(), devices.end(), [&](int to) { return gpu::can_reach(from, to); });
  });
}

Status GpuCalls::go_direct() {
  const int own = communicator_.membership().device();
  for (const int rank : here_) {
    const int other = communicator_.membership().device_of(rank);
    RONDO_TRY(gpu::reach(own, other));
    share_buffers_ = share_buffers_ || other != own;
  }
  direct_.emplace(local_group(), here_, communicator_.rank(), own, issue_direct);
  return {};
}

Status GpuCalls::go_staged() {
  RONDO_TRY_ASSIGN(const size_t staging_bytes, staging_bytes_setting(communicator_.size()));
  staged_ = std::make_unique<StagedExecutor>(communicator_.shared_membership(), staging_bytes, here_);
  return {};
}

std::shared_ptr<LocalGroup> GpuCalls::local_group() const {
  return LocalGroup::of(communicator_.membership().session()->id(), communicator_.membership().id(),
                        here_.size());
}

std::vector<Executor> GpuCalls::executors() {
  std::vector<Executor> made;
  if (direct_) made.push_back(row<&GpuCalls::start_direct>("gpu_direct"));
  if (staged_ != nullptr) {
    made.push_back(row<&GpuCalls::start_staged>("gpu_staged"));
    made.back().predict_own = [this](const Call& call) { return staged_us(call); };
    made.back().competes = competes_;
  }
  made.push_back(connections_row());
  return made;
}

/// The row of an executor that plans each call as it starts it.
template <auto kStart>
Executor GpuCalls::row(const char* name) {
  return {.name = name,
          .on_gpu = true,
          .prepare = [this, name](const Call& call, const Algorithm*) -> Result<std::unique_ptr<Plan>> {
            const auto start = [this](const Call& bound, const Signature& signature) -> Result<Task*> {
              return (this->*kStart)(bound, signature);
            };
            return std::unique_ptr<Plan>(
                new GpuPlan(name, 0, call, communicator_.rank(), communicator_.size(), start));
          }};
}

Prediction GpuCalls::predict(const Algorithm& algorithm, const Call& call, const Shape& shape) {
  GpuCosts* const known = costs();
  return known == nullptr ? predict_execution(algorithm, call, shape, communicator_.links(), terms_)
                          : known->over_connections(algorithm, call, shape, communicator_.links(), terms_);
}

std::vector<const Algorithm*> GpuCalls::found(const Call& call, const Shape& shape) {
  GpuCosts* const known = costs();
  return known == nullptr ? std::vector<const Algorithm*>() : known->found(call, shape, staged_us(call));
}

Executor GpuCalls::connections_row() {
  return {.name = "gpu_connections",
          .on_gpu = true,
          .predict = [this](const Algorithm& algorithm, const Call& call,
                            const Shape& shape) { return predict(algorithm, call, shape); },
          .found = [this](const Call& call, const Shape& shape) { return found(call, shape); },
          .competes = competes_,
          .prepare = [this](const Call& call, const Algorithm* algorithm) -> Result<std::unique_ptr<Plan>> {
            if (!no_executor_.ok()) return no_executor_;
            const Shape shape = communicator_.links().shape(call);
            RONDO_TRY_ASSIGN(const int fit, channels_that_fit(*algorithm, shape, terms_));
            RONDO_TRY_ASSIGN(const Execution execution,
                             choose_execution(*algorithm, call, shape, terms_, fit));
            const auto start = [=, this](const Call& bound, const Signature& signature) {
              return start_over_connections(bound, *algorithm, execution, signature);
            };
            return std::unique_ptr<Plan>(new GpuPlan(algorithm->name, execution.cut.hash, call,
                                                     communicator_.rank(), communicator_.size(), start));
          }};
}

Result<Task*> GpuCalls::start_direct(const Call& call, const Signature& signature) {
  RONDO_TRY(direct_->begin(call, signature, nullptr));
  return &*direct_;
}

Result<Task*> GpuCalls::start_staged(const Call& call, const Signature& signature) {
  staged_->begin(call, signature);
  return staged_.get();
}

Result<Task*> GpuCalls::start_over_connections(const Call& call, const Algorithm& algorithm,
                                               const Execution& execution, const Signature& signature) {
  RONDO_TRY_ASSIGN(DeviceExecutor * made, executor());
  RONDO_TRY(made->begin(call, algorithm, execution, signature));
  return made;
}

/// Diagnoses a stalled call: a mismatch, or an awaited rank that has left, if one is found; at the deadline
/// (`last`) a timeout that names the late rank.
Status GpuCalls::look_into(const std::string& what, const PendingWait& wait, bool last) {
  const Membership& membership = communicator_.membership();
  const DesyncReport diagnosis = last ? last_diagnosis(membership, wait) : diagnose(membership, wait);
  RONDO_TRY(diagnosis.mismatch);
  RONDO_TRY(diagnosis.departed);
  if (!last) return {};
  return overdue(membership, what, diagnosis);
}

GpuMessages& GpuCalls::messages() {
  if (messages_ != nullptr) return *messages_;
  GpuMessages::MessageHooks owner{
      .failed = [this] { return communicator_.membership().failed(); },
      .fail = [this](const Status& cause) { static_cast<void>(communicator_.membership().fail(cause)); },
      .look =
          [this](const PendingMessages& pending, std::vector<uint64_t> received, bool last) {
            return look_into("a send or receive of GPU memory",
                             {.rank = pending.peer(), .messages = pending, .received = std::move(received)},
                             last);
          },
      .timeout_ms = [this] { return communicator_.membership().timeout_ms(); }};
  messages_ = std::make_unique<GpuMessages>(communicator_.membership().device(), communicator_.messages(),
                                            std::move(owner));
  return *messages_;
}

DeviceExecutor::Ways GpuCalls::ways() {
  ConnectionTable& connections = communicator_.connections();
  return {
      .shares_memory =
          [this](int peer) { return shares_memory_ && communicator_.membership().is_on_this_host(peer); },
      .link = [&connections](int peer, uint16_t port) { return connections.gpu_link(peer, gpu_port(port)); },
      .connect = [&connections](int peer,
                                uint16_t port) { return connections.awaited_lane(peer, gpu_port(port)); }};
}

Result<DeviceExecutor*> GpuCalls::executor() {
  if (executor_ != nullptr) return executor_.get();
  const gpu::OutsideCapture outside;
  const int self = communicator_.rank();
  const auto own_call = [this] {
    return communicator_.membership()
        .recorder()
        .call(communicator_.membership().recorder().latest())
        .value_or(Signature());
  };
  DeviceExecutor::ExecutorHooks owner{
      .ways = ways(),
      .failed = [this] { return communicator_.membership().failed(); },
      .cause = [this] { return communicator_.membership().cause(); },
      .fail = [this](const Status& cause) { static_cast<void>(communicator_.membership().fail(cause)); },
      .mismatch = [=](int peer, const Signature& came) { return mismatch(self, own_call(), peer, came); },
      .look = [=, this](bool last) { return look_into(describe(own_call()), PendingWait(), last); },
      .timeout_ms = [this] { return communicator_.membership().timeout_ms(); }};
  const DeviceExecutor::ExecutorSettings settings{.rank = self,
                                                  .links = communicator_.links(),
                                                  .device = communicator_.membership().device(),
                                                  .channels = terms_.shares_memory ? terms_.max_channels : 1,
                                                  .params = communicator_.gpu_params()};
  RONDO_TRY_ASSIGN(
      executor_, DeviceExecutor::make(settings, std::move(owner),
                                      {local_group(), here_, self, settings.device, issue_device_executor}));
  return executor_.get();
}

Status GpuCalls::finish() {
  const int64_t timeout_ms = communicator_.membership().timeout_ms();
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  const bool settled = (staged_ == nullptr || staged_->settle(deadline)) &&
                       (messages_ == nullptr || messages_->settle(deadline));
  if (!settled)
    return communicator_.membership().fail(error(
        ErrorKind::StreamStalled, "calls on CUDA streams did not complete within {} s of rondo_finalize()",
        static_cast<double>(timeout_ms) / 1000));
  if (staged_ != nullptr && !staged_->close_windows())
    log().warn("rank {}: peers still have registered memory of this rank open; it must not be freed yet",
               communicator_.rank());
  if (executor_ == nullptr) return {};
  const Status left = executor_->drain(deadline);
  return left.ok() ? Status() : communicator_.membership().fail(left);
}

void GpuCalls::disconnect() {
  executor_.reset();
  messages_.reset();
}

}  // namespace rondo
