#include "comm/gpu_calls.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "comm/communicator.h"
#include "comm/diagnosis.h"
#include "comm/joint.h"
#include "comm/ports.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

/// The GPUs' connections are not those of calls on host memory.
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
  may_see_memory_ = communicator_.device() >= 0 || gpu::in_use();
  if (communicator_.device() < 0) return {};  // placement says so, call by call
  no_calls_ = check_ranks();
  if (!no_calls_.ok()) return {};
  no_executor_ = check_executor();
  const Communicator::Options& options = communicator_.options();
  const bool wired = options.transport != nullptr && std::string_view(options.transport->name) != "local";
  bool one_host = true;
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    if (communicator_.is_here(rank)) here_.push_back(rank);
    one_host = one_host && communicator_.is_on_this_host(rank);
    terms_.gpus.push_back(communicator_.member(rank).device);
  }
  shares_memory_ = !wired;
  terms_.shares_memory = one_host && !wired;
  terms_.protocol = options.protocol;
  terms_.most_channels = options.channels;
  terms_.slot_bytes = communicator_.params().slot_bytes;
  if (wired || !one_host) return {};
  return reach_one_another() ? go_jointly() : go_in_phases();
}

Status GpuCalls::check_ranks() const {
  for (int rank = 0; rank < communicator_.size(); ++rank)
    if (communicator_.device_of(rank) < 0)
      return error(Code::Unsupported, "GPU memory: {} uses no GPU, {} does", communicator_.rank_text(rank),
                   communicator_.rank_text(communicator_.rank()));
  return {};
}

/// Blocks that wait for one another run at the same time: in one launch, or on different GPUs.
Status GpuCalls::check_executor() const {
  for (int a = 0; a < communicator_.size(); ++a)
    for (int b = 0; b < a; ++b) {
      const Member& one = communicator_.member(a);
      const Member& other = communicator_.member(b);
      if (one.device.uuid == other.device.uuid && !one.is_beside(other))
        return error(Code::Unsupported,
                     "GPU memory over connections: {} and {} are different processes that share a GPU",
                     other.text(), one.text());
    }
  return {};
}

/// Whether kernels of any rank can use the users' buffers of any other.
bool GpuCalls::reach_one_another() const {
  if (std::ssize(here_) != communicator_.size() || communicator_.size() > kMostJointRanks) return false;
  std::set<int> devices;
  for (const int rank : here_) devices.insert(communicator_.device_of(rank));
  return std::all_of(devices.begin(), devices.end(), [&](int from) {
    return std::all_of(devices.begin(), devices.end(), [&](int to) { return gpu::can_reach(from, to); });
  });
}

Status GpuCalls::go_jointly() {
  const int own = communicator_.device();
  for (const int rank : here_) {
    const int other = communicator_.device_of(rank);
    RONDO_TRY(gpu::reach(own, other));
    share_buffers_ = share_buffers_ || other != own;
  }
  joint_.emplace(crew(), here_, communicator_.rank(), own, issue_joint);
  return {};
}

Status GpuCalls::go_in_phases() {
  RONDO_TRY_ASSIGN(const size_t staging_bytes, staging_bytes_setting(communicator_.size()));
  std::vector<int> ranks;
  for (int rank = 0; rank < communicator_.size(); ++rank) ranks.push_back(communicator_.session_rank(rank));
  const Introduction::Parties parties{.session = communicator_.session(),
                                      .communicator = communicator_.id(),
                                      .ranks = std::move(ranks),
                                      .self = communicator_.rank(),
                                      .device = communicator_.device(),
                                      .health = communicator_.shared_health(),
                                      .timeout_ms = communicator_.timeout_ms(),
                                      .staging_bytes = staging_bytes};
  phased_ = std::make_unique<Phased>(communicator_, parties, here_);
  return {};
}

std::shared_ptr<Crew> GpuCalls::crew() const {
  return Crew::of(communicator_.session()->id(), communicator_.id(), here_.size());
}

Result<Task*> GpuCalls::prepare(const Call& call) {
  if (!no_calls_.ok()) return no_calls_;
  Signature signature = call.signature();
  const bool by_executor =
      (!joint_ && phased_ == nullptr) || communicator_.options().selector.forces(call.kind);
  if (by_executor) return prepare_executor(call, signature);
  communicator_.begin(signature, joint_ ? "joint" : "phased");
  if (!joint_) {
    phased_->begin(call, signature);
    return phased_.get();
  }
  RONDO_TRY(joint_->begin(call, signature, nullptr));
  return &*joint_;
}

Result<Task*> GpuCalls::prepare_executor(const Call& call, Signature signature) {
  if (!no_executor_.ok()) return no_executor_;
  RONDO_TRY_ASSIGN(const Execution* execution, choose_execution(call));
  RONDO_TRY_ASSIGN(DeviceCalls * calls, executor());
  signature.plan = execution->decision.plan;
  communicator_.begin(signature, execution->decision.algorithm->name);
  RONDO_TRY(calls->begin(call, *execution, signature));
  return calls;
}

Result<const Execution*> GpuCalls::choose_execution(const Call& call) {
  auto& memo = executions_[static_cast<size_t>(call.kind)];
  if (const Execution* known = memo.find(call)) return known;
  RONDO_TRY_ASSIGN(const Execution chosen, rondo::choose_execution(communicator_.options().selector, call,
                                                                   communicator_.links(), terms_));
  return memo.keep(call, chosen);
}

/// Diagnoses a stalled call: a mismatch if one is found; at the deadline (`last`) a timeout that names the
/// late rank.
Status GpuCalls::late_or_different(const std::string& what, bool last) {
  const Diagnosis diagnosis = diagnose(communicator_, Wait());
  if (!diagnosis.mismatch.ok() || !last) return diagnosis.mismatch;
  return overdue(communicator_, what, diagnosis);
}

GpuMessages& GpuCalls::messages() {
  if (messages_ != nullptr) return *messages_;
  GpuMessages::Owner owner{
      .failed = [this] { return communicator_.health().failed(); },
      .fail = [this](const Status& cause) { static_cast<void>(communicator_.fail(cause)); },
      .look = [this](bool last) { return late_or_different("a send or receive of GPU memory", last); }};
  messages_ = std::make_unique<GpuMessages>(communicator_.device(), communicator_.timeout_ms(),
                                            communicator_.messages(), std::move(owner));
  return *messages_;
}

DeviceLinks::Ways GpuCalls::ways() {
  ConnectionTable& connections = communicator_.connections();
  return {
      .shares_memory = [this](int peer) { return shares_memory_ && communicator_.is_on_this_host(peer); },
      .link = [&connections](int peer, uint16_t port) { return connections.gpu_link(peer, gpu_port(port)); },
      .connect = [&connections](int peer, uint16_t port) { return connections.lane(peer, gpu_port(port)); }};
}

Result<DeviceCalls*> GpuCalls::executor() {
  if (executor_ != nullptr) return executor_.get();
  const gpu::OutsideCapture outside;
  const int self = communicator_.rank();
  const auto own_call = [this] {
    return communicator_.board().call(communicator_.board().latest()).value_or(Signature());
  };
  DeviceCalls::Owner owner{
      .ways = ways(),
      .failed = [this] { return communicator_.health().failed(); },
      .cause = [this] { return communicator_.health().cause(); },
      .fail = [this](const Status& cause) { static_cast<void>(communicator_.fail(cause)); },
      .mismatch = [=](int peer, const Signature& came) { return mismatch(self, own_call(), peer, came); },
      .look = [=, this](bool last) { return late_or_different(describe(own_call()), last); }};
  const DeviceCalls::Settings settings{.rank = self,
                                       .nranks = communicator_.size(),
                                       .group = communicator_.links().group,
                                       .device = communicator_.device(),
                                       .channels = terms_.shares_memory ? terms_.most_channels : 1,
                                       .params = communicator_.gpu_params(),
                                       .timeout_ms = communicator_.timeout_ms()};
  RONDO_TRY_ASSIGN(executor_, DeviceCalls::make(settings, std::move(owner),
                                                {crew(), here_, self, settings.device, issue_device_calls}));
  return executor_.get();
}

Status GpuCalls::finish() {
  const int64_t timeout_ms = communicator_.timeout_ms();
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  const bool settled = (phased_ == nullptr || phased_->settle(deadline)) &&
                       (messages_ == nullptr || messages_->settle(deadline));
  if (!settled)
    return communicator_.fail(error(Code::Timeout,
                                    "calls on CUDA streams were not over within {} s of rondo_finalize()",
                                    static_cast<double>(timeout_ms) / 1000));
  if (phased_ != nullptr && !phased_->close_windows())
    log().warn("rank {}: peers still have registered memory of this rank open; it must not be freed yet",
               communicator_.rank());
  if (executor_ == nullptr) return {};
  const Status left = executor_->drain(deadline);
  return left.ok() ? Status() : communicator_.fail(left);
}

void GpuCalls::disconnect() {
  executor_.reset();
  messages_.reset();
}

}  // namespace rondo
