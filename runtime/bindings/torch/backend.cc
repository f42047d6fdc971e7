// SPDX-License-Identifier: Apache-2.0
#include "backend.h"

#include <Python.h>

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <set>
#include <string_view>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>

#include "failures.h"
#include "work.h"

namespace rondo::torch_binding {
namespace {

/// Releases the GIL while this thread waits for others, which may need it: their futures call Python.
class WithoutGil {
 public:
  WithoutGil() : saved_(Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (saved_ != nullptr) PyEval_RestoreThread(saved_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* saved_;
};

using std::chrono::milliseconds;

/// How long shutdown() lets calls in flight continue before it aborts them.
constexpr std::chrono::seconds kGrace{10};

std::mutex& registry_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

/// All backends of the process that have not been shut down.
std::set<RondoBackend*>& registry() {
  static auto& backends = *new std::set<RondoBackend*>;
  return backends;
}

/// As torch's records of calls have a group's global ranks; a stride of -1: they are not evenly spaced.
struct GlobalRanks {
  int first = 0;
  int stride = 1;
};

GlobalRanks as_range(const std::vector<int64_t>& ranks) {
  if (ranks.empty()) return {};
  GlobalRanks range{static_cast<int>(ranks[0]), ranks.size() > 1 ? static_cast<int>(ranks[1] - ranks[0]) : 0};
  for (size_t i = 1; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != range.stride) range.stride = -1;
  return range;
}

}  // namespace

RondoBackend::RondoBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size, milliseconds timeout,
                           std::string group, std::vector<int64_t> global_ranks)
    : Backend(rank, size),
      store_(std::move(store)),
      options_(c10::make_intrusive<Options>("rondo", timeout)),
      group_(std::move(group)),
      global_ranks_(std::move(global_ranks)),
      ranks_(std::make_shared<Ranks>(store_, group_, rank, size, timeout)) {
  init();
  const std::lock_guard lock(registry_mutex());
  registry().insert(this);
}

RondoBackend::~RondoBackend() { shutdown(); }

void RondoBackend::shutdown() {
  {
    const std::lock_guard lock(registry_mutex());
    registry().erase(this);
  }
  if (ranks_ == nullptr) return;
  const WithoutGil without_gil;
  if (!lane_->drain(HostExecutor::Clock::now() + kGrace)) ranks_->abort();
  lane_->stop();
  ranks_ = nullptr;
}

void RondoBackend::abort() {
  if (ranks_ != nullptr) ranks_->abort();
}

void RondoBackend::shut_down_all() {
  for (;;) {
    RondoBackend* one = nullptr;
    {
      const std::lock_guard lock(registry_mutex());
      if (registry().empty()) return;
      one = *registry().begin();
    }
    one->shutdown();
  }
}

void RondoBackend::setTimeout(milliseconds timeout) { options_->timeout = timeout; }

c10d::ErrorType RondoBackend::getError() {
  rondo_status_t failed = RONDO_OK;
  if (ranks_ != nullptr) rondo_async_error(ranks_->host().get(), &failed);
  switch (failed) {
    case RONDO_OK: return c10d::ErrorType::SUCCESS;
    case RONDO_TIMEOUT: return c10d::ErrorType::TIMEOUT;
    case RONDO_REMOTE_ERROR:
    case RONDO_ABORTED: return c10d::ErrorType::REMOTE_ERROR;
    default: return c10d::ErrorType::COMM_ERROR;
  }
}

c10::intrusive_ptr<c10d::Backend> RondoBackend::split(const c10::intrusive_ptr<c10d::Store>& store,
                                                      const std::vector<int>& ranks,
                                                      const c10::intrusive_ptr<Options>& opts) {
  const auto self = std::find(ranks.begin(), ranks.end(), getRank());
  if (self == ranks.end()) return nullptr;
  {
    // Before 2.14 splitGroup() asks once per device type, with the same store, and keeps the first answer.
    const std::lock_guard lock(registry_mutex());
    for (RondoBackend* one : registry())
      if (one->store_ == store && one->group_ == opts->group_name)
        return c10::intrusive_ptr<RondoBackend>::reclaim_copy(one);
  }
  std::vector<int64_t> global_ranks;
  if (!global_ranks_.empty())
    for (const int rank : ranks) global_ranks.push_back(global_ranks_[static_cast<size_t>(rank)]);
  return c10::make_intrusive<RondoBackend>(store, static_cast<int>(self - ranks.begin()),
                                           static_cast<int>(ranks.size()), opts->timeout, opts->group_name,
                                           std::move(global_ranks));
}

bool RondoBackend::shares_memory() const {
  for (int peer = 0; peer < getSize(); ++peer) {
    const char* transport = "";
    rondo_transport(ranks()->host().get(), peer, &transport);
    if (std::string_view(transport) == "shm") return true;
  }
  return false;
}

void RondoBackend::eagerConnectSingleDevice(at::Device device) { ranks()->on(device); }

const std::shared_ptr<Ranks>& RondoBackend::ranks() const {
  if (ranks_ == nullptr)
    C10_THROW_ERROR(DistBackendError, "rondo: the group '" + group_ + "' has been shut down");
  return ranks_;
}

// --- submission ---

RondoBackend::WorkPtr RondoBackend::submit(CollectiveCall job) {
  const std::shared_ptr<Ranks>& all = ranks();
  job.timed = is_timed_;
  if (job.device().is_cuda()) {
    if (!coalesced_) {
      std::vector<CollectiveCall> one;
      one.push_back(std::move(job));
      return submit_on_device(std::move(one));
    }
    coalesced_->on_device.push_back(std::move(job));
    return nullptr;
  }
  if (coalesced_) job.async = true;
  return recorded(job, [&]() -> WorkPtr {
    auto work = c10::make_intrusive<HostWork>(getRank(), std::move(job), ++sequence_, all, lane_);
    HostWork::start(work);
    if (coalesced_) coalesced_->started.push_back(work);
    return work;
  });
}

RondoBackend::WorkPtr RondoBackend::submit_on_device(std::vector<CollectiveCall> jobs) {
  const c10::Stream stream = stream_for(jobs.front());
  const bool is_message = c10d::isP2POp(jobs.front().type);
  return recorded(jobs.front(), [&]() -> WorkPtr {
    const uint64_t number = is_message ? 0 : ++sequence_;
    return DeviceWork::start(getRank(), std::move(jobs), number, ranks(), stream);
  });
}

RondoBackend::WorkPtr RondoBackend::recorded(const CollectiveCall& job,
                                             const std::function<WorkPtr()>& start) {
  if (!at::hasCallbacks()) return start();
  const bool is_message = c10d::isP2POp(job.type);
  const auto elements = [](const Tensors& tensors) {
    int64_t sum = 0;
    for (const at::Tensor& tensor : tensors) sum += tensor.numel();
    return sum;
  };
  std::string name = c10d::opTypeToString(job.type);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::vector<int64_t> no_splits;
  const GlobalRanks global = as_range(global_ranks_);
  const at::ScalarType type = !job.inputs.empty()    ? job.inputs.front().scalar_type()
                              : !job.outputs.empty() ? job.outputs.front().scalar_type()
                                                     : at::kByte;
  const auto number = std::make_tuple(static_cast<int64_t>(is_message ? 0 : sequence_ + 1), is_message);
  RECORD_PARAM_COMMS_DATA_WITH_ASYNC_OP(number, std::make_tuple(getGroupUid(), getGroupDesc()), job.inputs,
                                        job.outputs, getRank(), std::move(name), elements(job.inputs),
                                        elements(job.outputs), type, no_splits, no_splits, global.first,
                                        global.stride, getSize(), job.async);
  return start();
}

c10::Stream RondoBackend::stream_for(const CollectiveCall& job) {
  const c10::impl::VirtualGuardImpl gpu(job.device().type());
  if (!job.async) return gpu.getStream(job.device());
  // A message that waits for its peer must block neither collectives nor messages in the other direction.
  const int way = job.type == c10d::OpType::SEND ? 1 : job.type == c10d::OpType::RECV ? 2 : 0;
  const auto [found, is_new] = streams_.try_emplace({job.device().index(), way}, gpu.getStream(job.device()));
  if (is_new) found->second = gpu.getStreamFromGlobalPool(job.device(), true);
  return found->second;
}

void RondoBackend::startCoalescing() { coalesced_.emplace(); }

RondoBackend::WorkPtr RondoBackend::endCoalescing() {
  Coalesced all = std::exchange(coalesced_, std::nullopt).value_or(Coalesced());
  if (!all.on_device.empty()) all.started.push_back(submit_on_device(std::move(all.on_device)));
  if (all.started.size() == 1) return all.started.front();
  CollectiveCall together;
  together.type = c10d::OpType::COALESCED;
  together.title = "rondo:coalesced";
  return c10::make_intrusive<JointWork>(getRank(), together, std::move(all.started));
}

// --- messages ---

RondoBackend::WorkPtr RondoBackend::send(Tensors& tensors, int to, int tag) {
  if (tensors.size() != 1) refuse("send", "requires a single-element tensor list");
  return submit_message(true, tensors.front(), to, tag);
}

RondoBackend::WorkPtr RondoBackend::recv(Tensors& tensors, int from, int tag) {
  if (tensors.size() != 1) refuse("recv", "requires a single-element tensor list");
  return submit_message(false, tensors.front(), from, tag);
}

RondoBackend::WorkPtr RondoBackend::recvAnysource(Tensors& tensors, int tag) {
  if (tensors.size() != 1) refuse("recv", "requires a single-element tensor list");
  if (tensors.front().is_cuda()) refuse("recv", "from any source needs a tensor on the CPU");
  return submit_message(false, tensors.front(), RONDO_ANY_SOURCE, tag);
}

RondoBackend::WorkPtr RondoBackend::submit_message(bool sends, const at::Tensor& tensor, int peer, int tag) {
  const at::AutoDispatchBelowADInplaceOrView below;
  check_tensors(sends ? "send" : "recv", {tensor});
  CollectiveCall one;
  one.type = sends ? c10d::OpType::SEND : c10d::OpType::RECV;
  one.title = sends ? "rondo:send" : peer == RONDO_ANY_SOURCE ? "rondo:recvAnySource" : "rondo:recv";
  (sends ? one.inputs : one.outputs) = {tensor};
  one.timeout = options_->timeout;
  one.timed = is_timed_;
  const at::Tensor memory = sends ? one.gathered({tensor}) : one.scattered({tensor});
  if (tensor.is_cuda()) return submit(device_message(sends, std::move(one), memory, peer, tag));
  const MessageWork::MessageArgs message{memory, peer, tag};
  WorkPtr work = recorded(one, [&]() -> WorkPtr {
    return sends ? MessageWork::send(getRank(), std::move(one), message, *ranks())
                 : MessageWork::recv(getRank(), std::move(one), message, *ranks());
  });
  if (coalesced_) coalesced_->started.push_back(work);
  return work;
}

CollectiveCall RondoBackend::device_message(bool sends, CollectiveCall job, const at::Tensor& memory,
                                            int peer, int tag) const {
  const TensorElement element = element_to_move(memory.scalar_type());
  job.call = [=](rondo_comm_t comm, rondo_stream_t stream) {
    return sends ? rondo_send(memory.const_data_ptr(), element.count(memory), element.type, peer, tag, comm,
                              stream)
                 : rondo_recv(memory.mutable_data_ptr(), element.count(memory), element.type, peer, tag, comm,
                              stream, nullptr);
  };
  return job;
}

}  // namespace rondo::torch_binding
