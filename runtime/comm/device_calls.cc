#include "comm/device_calls.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "gpu/device.h"
#include "gpu/shared_memory.h"

namespace rondo {
namespace {

constexpr int64_t kFirstLook_ns = 1'000'000'000;

uint64_t load(const uint64_t& word) {
  return std::atomic_ref(const_cast<uint64_t&>(word)).load(std::memory_order_acquire);
}

device::Call device_call(const Call& call, const Layout& layout, const Signature& signature, int nranks) {
  device::Call made;
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

}  // namespace

Status issue_device_calls(std::span<const Crew::Seat> seats) {
  const auto calls_of = [](const Crew::Seat& seat) {
    return static_cast<DeviceCalls*>(const_cast<void*>(seat.payload));
  };
  return issue_in_order(seats, [&](std::span<const Crew::Seat> leaders) -> Status {
    for (const Crew::Seat& leader : leaders) {
      const gpu::Current current(leader.device);
      RONDO_TRY(current.status());
      std::vector<const DeviceCall*> calls;
      for (const Crew::Seat& seat : seats)
        if (seat.device == leader.device) calls.push_back(&calls_of(seat)->call_);
      RONDO_TRY(launch_calls(calls, leader.device, leader.stream));
      for (const Crew::Seat& seat : seats)
        if (seat.device == leader.device) RONDO_TRY(calls_of(seat)->issued(leader.stream));
    }
    return {};
  });
}

DeviceCalls::DeviceCalls(const Settings& settings, Owner owner, CrewRun run)
    : settings_(settings),
      owner_(std::move(owner)),
      links_({.rank = settings.rank,
              .device = settings.device,
              .channels = settings.channels,
              .params = settings.params},
             owner_.ways),
      run_(std::move(run)) {}

Result<std::unique_ptr<DeviceCalls>> DeviceCalls::make(const Settings& settings, Owner owner, CrewRun run) {
  std::unique_ptr<DeviceCalls> made(new DeviceCalls(settings, std::move(owner), std::move(run)));
  RONDO_TRY_ASSIGN(made->health_memory_, gpu::Memory::allocate(gpu::MemoryKind::Pinned, settings.device,
                                                               sizeof(device::CallHealth)));
  made->health_ = new (made->health_memory_.data()) device::CallHealth;
  Proxy::get().add(made.get());
  return made;
}

DeviceCalls::~DeviceCalls() { Proxy::get().remove(this); }

Result<DeviceProgram*> DeviceCalls::plan(const Execution& execution, const Shape& shape) {
  const Algorithm& algorithm = *execution.decision.algorithm;
  const PlanKey key{&algorithm,        shape.root,         shape.varying,
                    shape.commutative, execution.protocol, execution.channels};
  if (const auto known = plans_.find(key); known != plans_.end()) return &known->second;
  const DeviceProgram::Settings settings{.device = settings_.device,
                                         .protocol = execution.protocol,
                                         .channels = static_cast<uint32_t>(execution.channels),
                                         .slot_bytes = settings_.params.slot_bytes};
  const auto connect = [&](int peer, uint16_t port, uint32_t channel) {
    return links_.connection(peer, port, static_cast<int>(channel), execution.protocol);
  };
  RONDO_TRY_ASSIGN(auto made, DeviceProgram::make(algorithm.build(shape, settings_.rank), settings, connect));
  return &plans_.emplace(key, std::move(made)).first->second;
}

Status DeviceCalls::begin(const Call& call, const Execution& execution, const Signature& signature) {
  const gpu::OutsideCapture outside;
  RONDO_TRY_ASSIGN(DeviceProgram * program, plan(execution, call.shape(settings_.nranks, settings_.group)));
  Layout layout = layout_of(call, program->chunks(), execution.decision.tile_units);
  RONDO_TRY(copy_tables(layout));
  asked_ = &call;
  running_ = refused_ = false;
  failure_ = Status();
  call_.program = program->program();
  call_.blocks = program->blocks();
  call_.call = device_call(call, layout, signature, settings_.nranks);
  call_.call.scratch = program->scratch();
  call_.call.health = health_;
  const std::lock_guard lock(mutex_);
  peers_ = program->peers();
  return {};
}

Result<Progress> DeviceCalls::step() {
  if (!running_) {
    RONDO_TRY_ASSIGN(const bool linked, links_.stand());
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

/// Blocks that were stopped have ended like others.
Status DeviceCalls::outcome() {
  if (load(health_->stop) == 0) return {};
  if (!owner_.failed()) report_mismatch();
  return owner_.cause();
}

Progress DeviceCalls::advance() {
  const auto progress = step();
  failure_ = progress.status();
  return progress.ok() ? progress.value() : Progress::Failed;
}

int DeviceCalls::blocked_on() const { return running_ ? run_.blocked_on() : links_.waits_for(); }

void DeviceCalls::abandon() {
  if (running_) run_.abandon();
}

/// Reuses a free table buffer, or allocates one.
Result<DeviceCalls::Tables*> DeviceCalls::free_tables(size_t bytes) {
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

Status DeviceCalls::copy_tables(Layout& layout) {
  tables_at_hand_ = nullptr;
  const auto length = [](const BufferLayout& buffer) {
    return buffer.counts == nullptr ? size_t{0} : static_cast<size_t>(buffer.chunks);
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

Status DeviceCalls::issued(gpu::Stream stream) {
  if (tables_at_hand_ == nullptr) return {};
  RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(stream));
  tables_at_hand_->of_graph = capture != 0;
  tables_at_hand_->in_use = true;
  return capture != 0 ? Status() : tables_at_hand_->behind.record(stream);
}

Status DeviceCalls::drain(const Deadline& deadline) {
  for (;;) {
    const bool idle = run_.drained() && load(health_->started) == load(health_->finished) && links_.flushed();
    if (idle || owner_.failed()) return {};
    if (deadline.passed())
      return error(Code::Timeout, "rank {}'s calls on CUDA streams did not come to their end in time",
                   settings_.rank);
    std::this_thread::yield();
  }
}

bool DeviceCalls::serve() {
  if (owner_.failed()) {
    // Pairs with the waits of the device's blocks, which look at nothing else then.
    std::atomic_ref(health_->stop).store(1, std::memory_order_release);
    busy_ = false;
    return false;
  }
  const bool moved = links_.pump();
  const uint64_t finished =
      load(health_->finished);  // before `started`: they are equal only where nothing runs
  busy_ = load(health_->started) != finished;
  if (load(health_->stop) != 0) report_mismatch();
  watch(moved);
  return moved;
}

void DeviceCalls::report_mismatch() {
  if (load(health_->mismatch) == 0) return;
  int peer = -1;
  {
    const std::lock_guard lock(mutex_);
    if (!peers_.empty()) peer = peers_[health_->connection % peers_.size()];
  }
  if (peer < 0) return;
  if (health_->hashed == 0) return owner_.fail(owner_.mismatch(peer, health_->signature));
  // Nothing but a hash came: what the other call is, that rank itself can say.
  const Status known = owner_.look(false);
  owner_.fail(known.ok() ? error(Code::Mismatch,
                                 "rank {} sent rank {} {} bytes of another call, where {} of this one belong",
                                 peer, settings_.rank, health_->bytes, health_->expected)
                         : known);
}

/// Looks after calls that last.
void DeviceCalls::watch(bool moved) {
  const uint64_t seen = load(health_->started) + load(health_->finished);
  if (!busy_ || moved || seen != last_seen_) {
    last_seen_ = seen;
    stuck_since_ns_ = now_ns();
    next_look_ns_ = kFirstLook_ns;
    return;
  }
  const int64_t waited_ns = now_ns() - stuck_since_ns_;
  const bool last = waited_ns / 1'000'000 >= settings_.timeout_ms;
  if (!last && waited_ns < next_look_ns_) return;
  next_look_ns_ *= 2;
  Status broken = links_.status();
  if (broken.ok()) broken = owner_.look(last);
  if (!broken.ok()) owner_.fail(broken);
}

}  // namespace rondo
