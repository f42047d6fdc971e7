// A communicator's calls on GPU memory: which way they are made, and that.
#include <algorithm>
#include <set>
#include <thread>

#include "base/log.h"
#include "comm/communicator.h"
#include "comm/diagnosis.h"
#include "comm/joint.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

/// The GPUs' connections are not those of calls on host memory: their ports begin here.
constexpr uint16_t kGpuPorts = 0x4000;

bool same_process(const Member& a, const Member& b) {
  return a.endpoint.process == b.endpoint.process && a.endpoint.host == b.endpoint.host;
}

}  // namespace

Status Communicator::check_gpus() const {
  const Member& self = session_->member(session_rank(self_));
  for (const int rank : ranks_) {
    const Member& other = session_->member(rank);
    if (other.device.ordinal < 0)
      return error(Code::Unsupported, "GPU memory: {} uses no GPU, {} does", other.text(), self.text());
  }
  return {};
}

/// Blocks that wait for one another run at the same time: in one launch, or on different GPUs.
Status Communicator::check_device_calls() const {
  for (int a = 0; a < size(); ++a)
    for (int b = 0; b < a; ++b) {
      const Member& one = session_->member(session_rank(a));
      const Member& other = session_->member(session_rank(b));
      if (one.device.uuid == other.device.uuid && !same_process(one, other))
        return error(Code::Unsupported,
                     "GPU memory over connections: {} and {} are different processes that share a GPU",
                     other.text(), one.text());
    }
  return {};
}

bool Communicator::is_here(int rank) const {
  return same_process(session_->member(session_rank(rank)), session_->member(session_rank(self_)));
}

/// Whether kernels of any rank can use the users' buffers of any other.
bool Communicator::reach_one_another() const {
  std::set<int> devices;
  for (const int rank : ranks_) {
    const Member& member = session_->member(rank);
    if (!same_process(member, session_->member(session_rank(self_)))) return false;
    devices.insert(member.device.ordinal);
  }
  for (const int from : devices)
    for (const int to : devices)
      if (!gpu::can_reach(from, to)) return false;
  return size() <= kMostJointRanks;
}

Status Communicator::plan_gpu_calls() {
  const int own = device();
  may_see_gpu_memory_ = own >= 0 || gpu::in_use();
  if (own < 0) return {};  // placement says so, call by call
  no_gpu_calls_ = check_gpus();
  if (!no_gpu_calls_.ok()) return {};
  no_device_calls_ = check_device_calls();
  const Member& self = session_->member(session_rank(self_));
  std::vector<int> here;
  bool one_host = true;
  const bool wired = options_.transport != nullptr && std::string_view(options_.transport->name) != "local";
  for (int rank = 0; rank < size(); ++rank) {
    const Member& other = session_->member(session_rank(rank));
    if (is_here(rank)) here.push_back(rank);
    one_host = one_host && other.endpoint.host == self.endpoint.host;
    execution_terms_.gpus.push_back(other.device);
  }
  gpu_crew_ = here;
  shares_gpu_memory_ = !wired;
  execution_terms_.shares_memory = one_host && !wired;
  execution_terms_.protocol = options_.protocol;
  execution_terms_.most_channels = options_.channels;
  execution_terms_.slot_bytes = options_.params.slot_bytes;
  if (wired || !one_host) return {};
  if (!reach_one_another()) return join_processes(here);
  for (const int rank : here) RONDO_TRY(gpu::reach(own, session_->member(session_rank(rank)).device.ordinal));
  shares_gpu_buffers_ = std::any_of(here.begin(), here.end(), [&](int rank) {
    return session_->member(session_rank(rank)).device.ordinal != own;
  });
  joint_run_.emplace(crew(), here, self_, own, issue_joint);
  return {};
}

std::shared_ptr<Crew> Communicator::crew() const { return Crew::of(session_->id(), id_, gpu_crew_.size()); }

Status Communicator::join_processes(const std::vector<int>& here) {
  RONDO_TRY_ASSIGN(const size_t staging_bytes, staging_bytes_setting(size()));
  phased_ = std::make_unique<Phased>(*this,
                                     Introduction::Parties{.session = session_,
                                                           .communicator = id_,
                                                           .ranks = ranks_,
                                                           .self = self_,
                                                           .device = device(),
                                                           .health = health_,
                                                           .timeout_ms = options_.timeout_ms,
                                                           .staging_bytes = staging_bytes},
                                     here);
  return {};
}

Result<Task*> Communicator::prepare_on_gpu(const Call& call) {
  if (!no_gpu_calls_.ok()) return no_gpu_calls_;
  Signature signature = call.signature();
  const bool by_executor = (!joint_run_ && phased_ == nullptr) || options_.selector.forces(call.kind);
  if (by_executor) return prepare_device_call(call, signature);
  signature.sequence = ++sequence_;
  board_->begin(signature);
  latest_algorithm_.store(joint_run_ ? "joint" : "phased", std::memory_order_relaxed);
  if (!joint_run_) {
    phased_->begin(call, signature);
    return phased_.get();
  }
  RONDO_TRY(joint_run_->begin(call, signature, nullptr));
  return &*joint_run_;
}

Result<Task*> Communicator::prepare_device_call(const Call& call, Signature signature) {
  if (!no_device_calls_.ok()) return no_device_calls_;
  RONDO_TRY_ASSIGN(const Execution* execution, choose_execution(call));
  RONDO_TRY_ASSIGN(DeviceCalls * calls, device_calls());
  const Decision& decision = execution->decision;
  signature.sequence = ++sequence_;
  signature.plan = decision.plan;
  board_->begin(signature);
  latest_algorithm_.store(decision.algorithm->name, std::memory_order_relaxed);
  RONDO_TRY(calls->begin(call, *execution, signature));
  return calls;
}

Result<const Execution*> Communicator::choose_execution(const Call& call) {
  auto& memo = executions_[static_cast<size_t>(call.kind)];
  if (const Execution* known = memo.find(call)) return known;
  RONDO_TRY_ASSIGN(const Execution chosen,
                   rondo::choose_execution(options_.selector, call, link_cost_, execution_terms_));
  return memo.keep(call, chosen);
}

GpuMessages& Communicator::gpu_messages() {
  if (gpu_messages_ != nullptr) return *gpu_messages_;
  GpuMessages::Owner owner{.failed = [this] { return health_->failed(); },
                           .fail = [this](const Status& cause) { static_cast<void>(fail(cause)); },
                           .look = [this](bool last) -> Status {
                             const Diagnosis diagnosis = diagnose(*this, -1);
                             if (!diagnosis.mismatch.ok() || !last) return diagnosis.mismatch;
                             return overdue(*this, "a send or receive of GPU memory", diagnosis);
                           }};
  gpu_messages_ = std::make_unique<GpuMessages>(device(), options_.timeout_ms, messages_, std::move(owner));
  return *gpu_messages_;
}

Result<DeviceCalls*> Communicator::device_calls() {
  if (device_calls_ != nullptr) return device_calls_.get();
  const gpu::OutsideCapture outside;
  const auto own_call = [this] { return board_->call(board_->latest()).value_or(Signature()); };
  const auto gpu_port = [](uint16_t port) { return static_cast<uint16_t>(kGpuPorts + port); };
  const Member& self = session_->member(session_rank(self_));
  DeviceCalls::Owner owner{
      .ways = {.shares_memory =
                   [this, &self](int peer) {
                     return shares_gpu_memory_ &&
                            session_->member(session_rank(peer)).endpoint.host == self.endpoint.host;
                   },
               .link = [=, this](int peer,
                                 uint16_t port) { return connections_.gpu_link(peer, gpu_port(port)); },
               .connect = [=, this](int peer,
                                    uint16_t port) { return connections_.lane(peer, gpu_port(port)); }},
      .failed = [this] { return health_->failed(); },
      .cause = [this] { return health_->cause(); },
      .fail = [this](const Status& cause) { static_cast<void>(fail(cause)); },
      .mismatch = [this, own_call](int peer,
                                   const Signature& came) { return mismatch(self_, own_call(), peer, came); },
      .look = [this, own_call](bool last) -> Status {
        const Diagnosis diagnosis = diagnose(*this, -1);
        if (!diagnosis.mismatch.ok() || !last) return diagnosis.mismatch;
        return overdue(*this, describe(own_call()), diagnosis);
      }};
  RONDO_TRY_ASSIGN(
      device_calls_,
      DeviceCalls::make({.rank = self_,
                         .nranks = size(),
                         .device = device(),
                         .channels = options_.channels,
                         .params = options_.params,
                         .timeout_ms = options_.timeout_ms},
                        std::move(owner), {crew(), gpu_crew_, self_, device(), issue_device_calls}));
  return device_calls_.get();
}

/// Waits for what streams still have of this communicator.
Status Communicator::finish_gpu_calls() {
  const Deadline deadline = Deadline::in_ms(options_.timeout_ms);
  if (phased_ != nullptr && !phased_->settle(deadline))
    return fail(error(Code::Timeout, "calls on CUDA streams were not over within {} s of rondo_finalize()",
                      static_cast<double>(options_.timeout_ms) / 1000));
  if (gpu_messages_ != nullptr && !gpu_messages_->settle(deadline))
    return fail(error(Code::Timeout, "messages on CUDA streams were not over within {} s of rondo_finalize()",
                      static_cast<double>(options_.timeout_ms) / 1000));
  if (phased_ != nullptr && !phased_->close_windows())
    log().warn("rank {}: peers still have registered memory of this rank open; it must not be freed yet",
               self_);
  if (device_calls_ == nullptr) return {};
  const Status left = device_calls_->drain(deadline);
  return left.ok() ? Status() : fail(left);
}

}  // namespace rondo
