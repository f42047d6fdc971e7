// A communicator's calls on GPU memory: which way they are made, and that.
#include <algorithm>
#include <numeric>
#include <thread>

#include "base/log.h"
#include "comm/communicator.h"
#include "comm/diagnosis.h"
#include "comm/joint.h"
#include "gpu/device.h"

namespace rondo {
namespace {

/// The GPUs' connections are not those of calls on host memory: their ports begin here.
constexpr uint16_t kGpuPorts = 0x4000;

bool same_process(const Member& a, const Member& b) {
  return a.endpoint.process == b.endpoint.process && a.endpoint.host == b.endpoint.host;
}

}  // namespace

/// Why not all ranks can reach one another's memory, if they cannot.
Status Communicator::check_joint() const {
  const Member& self = session_->member(session_rank(self_));
  if (size() > kMostJointRanks) return error(Code::Unsupported, "more than {} ranks", kMostJointRanks);
  for (int rank = 0; rank < size(); ++rank) {
    const Member& other = session_->member(session_rank(rank));
    if (!same_process(self, other))
      return error(Code::Unsupported, "{} and {} are different processes", self.text(), other.text());
    for (const auto& [from, to] : {std::pair(self, other), std::pair(other, self)})
      if (!gpu::can_reach(from.device.ordinal, to.device.ordinal))
        return error(Code::Unsupported, "GPU {} cannot reach the memory of GPU {}", from.device.ordinal,
                     to.device.ordinal);
  }
  return {};
}

/// Blocks that wait for one another run at the same time: in one launch, or on different GPUs.
Status Communicator::check_device_calls() const {
  for (int a = 0; a < size(); ++a) {
    const Member& one = session_->member(session_rank(a));
    if (one.device.ordinal < 0)
      return error(Code::Unsupported, "GPU memory: {} uses no GPU, other ranks of the communicator do",
                   one.text());
    for (int b = 0; b < a; ++b) {
      const Member& other = session_->member(session_rank(b));
      if (one.device.uuid == other.device.uuid && !same_process(one, other))
        return error(Code::Unsupported, "GPU memory: {} and {} are different processes that share a GPU",
                     other.text(), one.text());
    }
  }
  return {};
}

Status Communicator::plan_gpu_calls() {
  const int gpu = device();
  if (gpu < 0) return {};  // placement says so, call by call
  no_device_calls_ = check_device_calls();
  if (!no_device_calls_.ok() && no_device_calls_.code() != Code::Unsupported) return no_device_calls_;
  const Member& self = session_->member(session_rank(self_));
  std::vector<int> crew;
  for (int rank = 0; rank < size(); ++rank)
    if (same_process(self, session_->member(session_rank(rank)))) crew.push_back(rank);
  const auto meeting = Crew::of(session_->id(), id_, crew.size());
  device_run_.emplace(meeting, crew, self_, gpu, issue_device_calls);
  const bool wired = options_.transport != nullptr && std::string_view(options_.transport->name) != "local";
  if (!no_device_calls_.ok() || wired) return {};
  if (const Status joint = check_joint(); !joint.ok()) {
    log().info("communicator {}, rank {}: GPU calls go over connections: {}", options_.name, self_,
               joint.message());
    return {};
  }
  for (const int rank : crew) RONDO_TRY(gpu::reach(gpu, session_->member(session_rank(rank)).device.ordinal));
  joint_run_.emplace(meeting, crew, self_, gpu, issue_joint);
  return {};
}

Result<Task*> Communicator::prepare_on_gpu(const Call& call) {
  if (!no_device_calls_.ok()) return no_device_calls_;
  Signature signature = call.signature();
  if (!joint_run_ || options_.selector.forces(call.kind)) return prepare_device_call(call, signature);
  signature.sequence = ++sequence_;
  board_->begin(signature);
  latest_algorithm_.store("joint", std::memory_order_relaxed);
  RONDO_TRY(joint_run_->begin(call, signature, nullptr));
  return &*joint_run_;
}

Result<Task*> Communicator::prepare_device_call(const Call& call, Signature signature) {
  RONDO_TRY_ASSIGN(const Choice* choice, choose(call));
  RONDO_TRY_ASSIGN(DeviceCalls * calls, device_calls());
  signature.sequence = ++sequence_;
  signature.plan = choice->decision.plan;
  board_->begin(signature);
  latest_algorithm_.store(choice->decision.algorithm->name, std::memory_order_relaxed);
  RONDO_TRY(calls->prepare(call, choice->decision, signature));
  RONDO_TRY(device_run_->begin(call, signature, calls));
  return &*device_run_;
}

Result<DeviceCalls*> Communicator::device_calls() {
  if (device_calls_ != nullptr) return device_calls_.get();
  const auto own_call = [this] { return board_->call(board_->latest()).value_or(Signature()); };
  DeviceCalls::Owner owner{
      .connect =
          [this](int peer, uint16_t port) {
            return connections_.lane(peer, static_cast<uint16_t>(kGpuPorts + port));
          },
      .failed = [this] { return health_->failed(); },
      .fail = [this](const Status& cause) { static_cast<void>(fail(cause)); },
      .mismatch = [this, own_call](int peer,
                                   const Signature& came) { return mismatch(self_, own_call(), peer, came); },
      .look = [this, own_call](bool last) -> Status {
        const Diagnosis diagnosis = diagnose(*this, -1);
        if (!diagnosis.mismatch.ok() || !last) return diagnosis.mismatch;
        return overdue(*this, describe(own_call()), diagnosis);
      }};
  RONDO_TRY_ASSIGN(device_calls_, DeviceCalls::make({.rank = self_,
                                                     .nranks = size(),
                                                     .device = device(),
                                                     .params = options_.params,
                                                     .timeout_ms = options_.timeout_ms},
                                                    std::move(owner)));
  return device_calls_.get();
}

/// Waits for what streams still have of this communicator.
Status Communicator::finish_gpu_calls() {
  if (device_calls_ == nullptr) return {};
  const Deadline deadline = Deadline::in_ms(options_.timeout_ms);
  while (!device_run_->drained() && !health_->failed()) {
    if (deadline.passed())
      return fail(error(Code::Timeout, "rank {}'s GPU did not finish its calls in time", self_));
    std::this_thread::yield();
  }
  const Status left = device_calls_->drain(deadline);
  return left.ok() ? Status() : fail(left);
}

}  // namespace rondo
