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

DeviceCalls::DeviceCalls(const Settings& settings, Owner owner)
    : settings_(settings), owner_(std::move(owner)) {}

Result<std::unique_ptr<DeviceCalls>> DeviceCalls::make(const Settings& settings, Owner owner) {
  std::unique_ptr<DeviceCalls> made(new DeviceCalls(settings, std::move(owner)));
  RONDO_TRY_ASSIGN(made->health_memory_, gpu::Memory::allocate(gpu::MemoryKind::Pinned, settings.device,
                                                               sizeof(device::CallHealth)));
  made->health_ = new (made->health_memory_.data()) device::CallHealth;
  Proxy::get().add(made.get());
  return made;
}

DeviceCalls::~DeviceCalls() { Proxy::get().remove(this); }

Result<device::LaneConnection*> DeviceCalls::link(int peer, uint16_t port) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = links_.find({peer, port}); known != links_.end()) return known->second.on_device();
  }
  RONDO_TRY_ASSIGN(Connection * connection, owner_.connect(peer, port));
  const size_t bytes = Relay::memory_bytes(settings_.params);
  RONDO_TRY_ASSIGN(gpu::Memory fifos,
                   gpu::Memory::allocate(gpu::MemoryKind::Pinned, settings_.device, bytes));
  std::memset(fifos.data(), 0, bytes);
  Relay relay(*connection, fifos.data(), settings_.params);
  const device::LaneConnection initial{.out = relay.outgoing(), .in = relay.incoming()};
  RONDO_TRY_ASSIGN(gpu::Memory memory,
                   gpu::Memory::allocate(gpu::MemoryKind::Device, settings_.device, sizeof initial));
  RONDO_TRY(gpu::upload(settings_.device, memory.data(), &initial, sizeof initial));
  const std::lock_guard lock(mutex_);
  const auto made =
      links_.emplace(std::pair(peer, port), Link{std::move(fifos), std::move(memory), std::move(relay)});
  return made.first->second.on_device();
}

Result<DeviceProgram*> DeviceCalls::plan(const Algorithm& algorithm, const Shape& shape) {
  const PlanKey key{&algorithm, shape.root, shape.varying, shape.commutative};
  if (const auto known = plans_.find(key); known != plans_.end()) return &known->second;
  RONDO_TRY_ASSIGN(
      auto made, DeviceProgram::make(algorithm.build(shape, settings_.rank), settings_.device, 1,
                                     settings_.params.slot_bytes,
                                     [this](int peer, uint16_t port, uint32_t) { return link(peer, port); }));
  return &plans_.emplace(key, std::move(made)).first->second;
}

Status DeviceCalls::prepare(const Call& call, const Decision& decision, const Signature& signature) {
  const gpu::OutsideCapture outside;
  const Shape shape = call.shape(settings_.nranks);
  RONDO_TRY_ASSIGN(DeviceProgram * program, plan(*decision.algorithm, shape));
  Layout layout = layout_of(call, program->chunks(), decision.tile_units);
  RONDO_TRY(copy_tables(layout));
  call_.program = program->program();
  call_.blocks = program->blocks();
  call_.call = device_call(call, layout, signature, settings_.nranks);
  call_.call.scratch = program->scratch();
  call_.call.health = health_;
  const std::lock_guard lock(mutex_);
  peers_ = program->peers();
  return {};
}

/// Tables that nobody needs any more, or new ones.
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
    bool idle = load(health_->started) == load(health_->finished);
    {
      const std::lock_guard lock(mutex_);
      for (auto& [key, link] : links_) idle = link.relay.flushed() && idle;
    }
    if (idle || owner_.failed()) return {};
    if (deadline.passed())
      return error(Code::Timeout, "the messages of rank {}'s GPU did not leave in time", settings_.rank);
    std::this_thread::yield();
  }
}

bool DeviceCalls::pump() {
  const std::lock_guard lock(mutex_);
  bool moved = false;
  for (auto& [key, link] : links_) moved = link.relay.pump() || moved;
  return moved;
}

bool DeviceCalls::advance() {
  if (owner_.failed()) {
    // Pairs with the waits of the device's blocks, which look at nothing else then.
    std::atomic_ref(health_->stop).store(1, std::memory_order_release);
    busy_ = false;
    return false;
  }
  const bool moved = pump();
  const uint64_t finished =
      load(health_->finished);  // before `started`: they are equal only where nothing runs
  busy_ = load(health_->started) != finished;
  if (load(health_->stop) != 0) report_mismatch();
  watch(moved);
  return moved;
}

void DeviceCalls::report_mismatch() {
  int peer = -1;
  {
    const std::lock_guard lock(mutex_);
    if (load(health_->mismatch) != 0 && health_->connection < peers_.size())
      peer = peers_[health_->connection];
  }
  if (peer >= 0) owner_.fail(owner_.mismatch(peer, health_->signature));
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
  const bool last = waited_ns >= settings_.timeout_ms * 1'000'000;
  if (!last && waited_ns < next_look_ns_) return;
  next_look_ns_ *= 2;
  Status broken;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, link] : links_)
      if (broken.ok()) broken = link.relay.status();
  }
  if (broken.ok()) broken = owner_.look(last);
  if (!broken.ok()) owner_.fail(broken);
}

}  // namespace rondo
