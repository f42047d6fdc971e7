// SPDX-License-Identifier: Apache-2.0
#include "gpu_connections/device_executor.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/backoff.h"
#include "base/error_kinds.h"
#include "device_channels.h"
#include "device_program.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

uint64_t load(const uint64_t& word) {
  return std::atomic_ref(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}

device::CallParams device_call(const Call& call, const Layout& layout, const Signature& signature,
                               int nranks) {
  device::CallParams made;
  made.input = static_cast<const std::byte*>(call.send);
  made.output = static_cast<std::byte*>(call.recv);
  made.layout = layout;
  made.signature = signature;
  if (!reduces(call.kind)) return made;
  made.type = call.type.element();
  made.type_bytes = call.type.bytes;
  made.op = call.op.built_in;
  made.divisor = call.op.built_in == Reduction::Avg ? nranks : 1;
  made.scales_input = call.op.scales_input;
  std::memcpy(made.scalar.bytes, call.op.scalar, sizeof made.scalar.bytes);
  return made;
}

using LocalCall = LocalGroup::LocalCall;

/// The ranks' calls, by device.
std::map<int, std::vector<LocalCall>> by_device(std::span<const LocalCall> local_calls) {
  std::map<int, std::vector<LocalCall>> made;
  for (const LocalCall& local_call : local_calls) made[local_call.device].push_back(local_call);
  return made;
}

/// Whether the call is captured: by all ranks, and each device's ranks in a graph of their own, because CUDA
/// need not run kernels of one graph at the same time, not even those of different devices.
Result<bool> is_captured(const std::map<int, std::vector<LocalCall>>& of_devices) {
  std::map<uint64_t, LocalCall> known;  // by graph
  for (const auto& [device, local_calls] : of_devices) {
    RONDO_TRY(check_one_graph(local_calls, "ranks that share a GPU"));
    RONDO_TRY_ASSIGN(const uint64_t graph, graph_of(local_calls.front()));
    const auto [other, is_new] = known.emplace(graph, local_calls.front());
    if (graph != 0 && !is_new)
      return error(ErrorKind::KernelsInOneGraph,
                   "GPU memory over connections: kernels of GPUs {} and {} (ranks {} and {}) wait for one "
                   "another, but CUDA need not run those of one graph at the same time; capture the streams "
                   "of each GPU into a graph of their own, launched by a thread of its own",
                   other->second.device, device, other->second.rank, local_calls.front().rank);
  }
  if (known.contains(0) && known.size() > 1)
    return error(ErrorKind::CapturesDiffer, "rank {}'s stream is captured into a graph and rank {}'s is not",
                 known.rbegin()->second.rank, known.at(0).rank);
  return !known.contains(0);
}

}  // namespace

Status issue_device_executor(std::span<const LocalGroup::LocalCall> local_calls) {
  const auto of_devices = by_device(local_calls);
  RONDO_TRY_ASSIGN(const bool captured, is_captured(of_devices));
  const auto executor_of = [](const LocalCall& local_call) {
    return static_cast<DeviceExecutor*>(const_cast<void*>(local_call.payload));
  };
  const auto launch = [&](std::span<const LocalCall> leaders) -> Status {
    for (const LocalCall& leader : leaders) {
      const gpu::Current current(leader.device);
      RONDO_TRY(current.status());
      std::vector<const DeviceCall*> calls;
      for (const LocalCall& local_call : of_devices.at(leader.device))
        calls.push_back(&executor_of(local_call)->call_);
      RONDO_TRY(launch_calls(calls, leader.device, leader.stream));
      for (const LocalCall& local_call : of_devices.at(leader.device))
        RONDO_TRY(executor_of(local_call)->issued(leader.stream));
    }
    Proxy::get().wake();
    return {};
  };
  if (!captured) return issue_in_order(local_calls, launch);
  for (const auto& [device, calls] : of_devices) RONDO_TRY(issue_in_order(calls, launch));
  return {};
}

DeviceExecutor::DeviceExecutor(const ExecutorSettings& settings, ExecutorHooks hooks, LocalLaunch run)
    : settings_(settings),
      hooks_(std::move(hooks)),
      channels_(
          std::make_unique<DeviceChannels>(DeviceChannels::ChannelSettings{.rank = settings.rank,
                                                                           .device = settings.device,
                                                                           .channels = settings.channels,
                                                                           .params = settings.params},
                                           hooks_.ways)),
      run_(std::move(run)) {}

Result<std::unique_ptr<DeviceExecutor>> DeviceExecutor::make(const ExecutorSettings& settings,
                                                             ExecutorHooks hooks, LocalLaunch run) {
  std::unique_ptr<DeviceExecutor> made(new DeviceExecutor(settings, std::move(hooks), std::move(run)));
  RONDO_TRY_ASSIGN(made->health_memory_, gpu::Memory::allocate(gpu::MemoryKind::Pinned, settings.device,
                                                               sizeof(device::CallHealth)));
  made->health_ = new (made->health_memory_.data()) device::CallHealth;
  Proxy::get().add(made.get());
  return made;
}

DeviceExecutor::~DeviceExecutor() { Proxy::get().remove(this); }

Result<DeviceProgram*> DeviceExecutor::program(const Algorithm& algorithm, const Execution& execution,
                                               const Shape& shape) {
  const ProgramKey key{&algorithm,        shape.root,         shape.varying,
                       shape.commutative, execution.protocol, execution.channels};
  if (const auto known = programs_.find(key); known != programs_.end()) return known->second.get();
  const DeviceProgram::ProgramSettings settings{.device = settings_.device,
                                                .protocol = execution.protocol,
                                                .channels = static_cast<uint32_t>(execution.channels),
                                                .slot_bytes = settings_.params.slot_bytes};
  const auto connect = [&](int peer, uint16_t port, uint32_t channel) {
    return channels_->connection(peer, port, static_cast<int>(channel), execution.protocol);
  };
  RONDO_TRY_ASSIGN(auto made, DeviceProgram::make(algorithm.build(shape, settings_.rank), settings, connect));
  return programs_.emplace(key, std::make_unique<DeviceProgram>(std::move(made))).first->second.get();
}

Status DeviceExecutor::begin(const Call& call, const Algorithm& algorithm, const Execution& execution,
                             const Signature& signature) {
  const gpu::OutsideCapture outside;
  RONDO_TRY_ASSIGN(DeviceProgram * program, this->program(algorithm, execution, settings_.links.shape(call)));
  Layout layout = layout_of(call, program->chunks(), execution.cut.tile_units);
  RONDO_TRY(copy_tables(layout));
  asked_ = &call;
  running_ = refused_ = false;
  failure_ = Status();
  call_.program = program->program();
  call_.blocks = program->blocks();
  call_.call = device_call(call, layout, signature, settings_.links.nranks);
  call_.call.scratch = program->scratch();
  call_.call.health = health_;
  const std::lock_guard lock(mutex_);
  peers_ = program->peers();
  return {};
}

Result<Progress> DeviceExecutor::step() {
  if (!running_) {
    RONDO_TRY_ASSIGN(const bool linked, channels_->poll_connect());
    if (!linked) return Progress::Stuck;
    RONDO_TRY(run_.begin(*asked_, call_.call.signature, this));
    running_ = true;
  }
  const Progress progress = run_.advance();
  refused_ = run_.refused();
  if (progress == Progress::Failed) return run_.status();
  if (progress == Progress::Done) RONDO_TRY(outcome());
  return progress;
}

/// Stopped blocks end normally, so `stop` must be checked.
Status DeviceExecutor::outcome() {
  if (load(health_->stop) == 0) return {};
  if (!hooks_.failed()) report_mismatch();
  return hooks_.cause();
}

Progress DeviceExecutor::advance() {
  const auto progress = step();
  failure_ = progress.status();
  return progress.ok() ? progress.value() : Progress::Failed;
}

int DeviceExecutor::blocked_on() const { return running_ ? run_.blocked_on() : channels_->waits_for(); }

void DeviceExecutor::abandon() {
  if (running_) run_.abandon();
}

/// Reuses a free table buffer, or allocates one.
Result<DeviceExecutor::Tables*> DeviceExecutor::free_tables(size_t bytes) {
  for (Tables& tables : tables_) {
    if (tables.of_graph || tables.memory.bytes() < bytes) continue;
    if (tables.in_use) {
      const auto complete = tables.behind.complete();
      if (!complete.ok() || !complete.value()) continue;
    }
    return &tables;
  }
  Tables made;
  RONDO_TRY_ASSIGN(made.memory, gpu::Memory::allocate(gpu::MemoryKind::Pinned, settings_.device, bytes));
  RONDO_TRY_ASSIGN(made.behind, gpu::Event::create(settings_.device));
  return &tables_.emplace_back(std::move(made));
}

Status DeviceExecutor::copy_tables(Layout& layout) {
  tables_at_hand_ = nullptr;
  const auto length = [](const BufferLayout& buffer) {
    return buffer.counts == nullptr ? size_t{0} : static_cast<size_t>(buffer.chunks / buffer.parts);
  };
  const size_t entries = 2 * (length(layout.input) + length(layout.output));
  if (entries == 0) return {};
  RONDO_TRY_ASSIGN(tables_at_hand_, free_tables(entries * sizeof(size_t)));
  auto* at = reinterpret_cast<size_t*>(tables_at_hand_->memory.data());
  for (BufferLayout* buffer : {&layout.input, &layout.output})
    for (const size_t** table : {&buffer->counts, &buffer->offsets}) {
      const size_t n = length(*buffer);
      if (n == 0) continue;
      std::copy_n(*table, n, at);
      *table = at;
      at += n;
    }
  return {};
}

Status DeviceExecutor::issued(gpu::Stream stream) {
  if (tables_at_hand_ == nullptr) return {};
  RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(stream));
  tables_at_hand_->of_graph = capture != 0;
  tables_at_hand_->in_use = true;
  return capture != 0 ? Status() : tables_at_hand_->behind.record(stream);
}

Status DeviceExecutor::drain(const Deadline& deadline) {
  const auto over = [&] {
    const bool idle =
        run_.drained() && load(health_->started) == load(health_->finished) && channels_->flushed();
    return idle || hooks_.failed();
  };
  if (wait_until(over, deadline)) return {};
  return error(ErrorKind::StreamStalled, "rank {}'s calls on CUDA streams did not complete in time",
               settings_.rank);
}

bool DeviceExecutor::serve() {
  if (hooks_.failed()) {
    // Pairs with the loads of waiting device blocks, which then give up.
    std::atomic_ref(health_->stop).store(1, std::memory_order_release);
    busy_ = false;
    return false;
  }
  const bool moved = channels_->pump();
  const uint64_t finished =
      load(health_->finished);  // before `started`: then equal values mean that nothing runs
  busy_ = load(health_->started) != finished;
  if (load(health_->stop) != 0) report_mismatch();
  watch(moved);
  return moved;
}

void DeviceExecutor::report_mismatch() {
  if (load(health_->mismatch) == 0) return;
  int peer = -1;
  {
    const std::lock_guard lock(mutex_);
    if (!peers_.empty()) peer = peers_[health_->connection % peers_.size()];
  }
  if (peer < 0) return;
  if (health_->hashed == 0) return hooks_.fail(hooks_.mismatch(peer, health_->signature));
  // Only a hash arrived: the peer itself must be asked what its call is.
  const Status known = hooks_.look(false);
  hooks_.fail(known.ok()
                  ? error(ErrorKind::LengthsDiffer,
                          "rank {} sent rank {} {} bytes of a different call instead of {} of this one", peer,
                          settings_.rank, health_->bytes, health_->expected)
                  : known);
}

/// Diagnoses stalled calls.
void DeviceExecutor::watch(bool moved) {
  const uint64_t seen = load(health_->started) + load(health_->finished);
  if (!busy_ || moved || seen != last_seen_) {
    last_seen_ = seen;
    return stall_detector_.note_progress();
  }
  const StallDetector::Finding finding = stall_detector_.judge(hooks_.timeout_ms());
  if (finding == StallDetector::Finding::Fine) return;
  Status broken = channels_->status();
  if (broken.ok()) broken = hooks_.look(finding == StallDetector::Finding::Overdue);
  if (!broken.ok()) hooks_.fail(broken);
}

}  // namespace rondo
