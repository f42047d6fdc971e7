// SPDX-License-Identifier: Apache-2.0
#include "p2p/gpu_messages.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/backoff.h"
#include "base/error_kinds.h"
#include "base/log.h"
#include "gpu/device.h"
#include "gpu/shared_memory.h"
#include "gpu_message.h"
#include "kernels/ticket.h"

namespace rondo {
namespace {

constexpr int64_t kMaxAbandon_ms = 5000;
constexpr size_t kMinMemory = size_t{64} << 10;

size_t bytes_of(const AnyRequest& request) {
  if (const auto* send = std::get_if<std::shared_ptr<SendRequest>>(&request)) return (*send)->bytes;
  return std::get<std::shared_ptr<RecvRequest>>(request)->capacity;
}

bool is_done(const AnyRequest& request) {
  return std::visit([](const auto& one) { return one->done; }, request);
}

}  // namespace

GpuMessages::GpuMessages(int device, PointToPoint& engine, MessageHooks hooks)
    : device_(device), engine_(engine), hooks_(std::move(hooks)) {
  Proxy::get().add(this);
}

/// Leaks the memory that a stuck stream may still use.
GpuMessages::~GpuMessages() {
  const bool settled = settle(Deadline::in_ms(kMaxAbandon_ms));
  Proxy::get().remove(this);
  if (settled) return;
  log().warn("memory of messages on CUDA streams is not freed, since a stream still uses it");
  for (const auto& message : messages_) new std::shared_ptr(message);
}

/// Reuses spare memory or allocates.
Result<gpu::Memory> GpuMessages::memory(size_t bytes) {
  {
    const std::lock_guard lock(engine_.mutex());
    const auto found = std::find_if(spare_.begin(), spare_.end(),
                                    [&](const gpu::Memory& one) { return one.bytes() >= bytes; });
    if (found != spare_.end()) {
      gpu::Memory taken = std::move(*found);
      spare_.erase(found);
      return taken;
    }
  }
  return gpu::Memory::allocate(gpu::MemoryKind::Pinned, device_, std::max(kMinMemory, std::bit_ceil(bytes)));
}

/// A spare or new one, after the work on the default stream. Tickets are drawn in the order of the calls.
Result<GpuMessages::OwnStream> GpuMessages::own_stream() {
  OwnStream own;
  {
    const std::lock_guard lock(engine_.mutex());
    if (!spare_streams_.empty()) {
      own = std::move(spare_streams_.back());
      spare_streams_.pop_back();
    }
  }
  if (own.stream.get() == nullptr) {
    RONDO_TRY_ASSIGN(own.stream, gpu::OwnedStream::create(device_));
    RONDO_TRY_ASSIGN(own.event, gpu::Event::create(device_));
  }
  RONDO_TRY(own.event.record(gpu::kLegacyStream));
  RONDO_TRY(own.event.hold(own.stream.get()));
  RONDO_TRY(drawn_.hold(own.stream.get()));
  return own;
}

void GpuMessages::give_back(OwnStream own) {
  const std::lock_guard lock(engine_.mutex());
  spare_streams_.push_back(std::move(own));
}

/// Host memory, which is 0 without a stream's help. CUDA's calls may wait for streams that only the proxy's
/// thread can release, so none is made under the engine's mutex, which that thread needs.
Status GpuMessages::make_counter() {
  const std::lock_guard lock(counter_mutex_);
  if (counter_.data() != nullptr) return {};
  RONDO_TRY_ASSIGN(drawn_, gpu::Event::create(device_));
  RONDO_TRY_ASSIGN(counter_, gpu::Memory::allocate(gpu::MemoryKind::Pinned, device_, sizeof(uint64_t)));
  return {};
}

/// Registers the message first, so that the proxy can release its stream whatever fails later.
Result<GpuMessages::Placed> GpuMessages::place(const AnyRequest& request, gpu::Stream stream) {
  RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(stream));
  RONDO_TRY_ASSIGN(gpu::Memory staged, memory(GpuMessage::memory_bytes(bytes_of(request))));
  const std::lock_guard lock(engine_.mutex());
  RONDO_TRY(std::visit([this](const auto& one) { return engine_.reach(*one); }, request));
  messages_.push_back(GpuMessage::make(request, std::move(staged), capture != 0));
  return Placed{messages_.back(), stream};
}

Result<std::vector<GpuMessages::Placed>> GpuMessages::start(std::span<const Asked> asked, OwnStream& own) {
  const gpu::OutsideCapture outside;
  const gpu::Current current(device_);
  RONDO_TRY(current.status());
  RONDO_TRY(make_counter());
  const bool needs_own =
      std::any_of(asked.begin(), asked.end(), [](const Asked& one) { return !one.stream; });
  std::unique_lock order(order_mutex_, std::defer_lock);
  if (needs_own) {
    order.lock();
    RONDO_TRY_ASSIGN(own, own_stream());
  }
  std::vector<Placed> placed;
  for (const Asked& one : asked) {
    RONDO_TRY_ASSIGN(placed.emplace_back(), place(one.request, one.stream.value_or(own.stream.get())));
  }
  const auto draw = [this](gpu::Stream stream, uint64_t* word) {
    return draw_ticket(device_, stream, reinterpret_cast<uint64_t*>(counter_.data()), word);
  };
  for (const Placed& one : placed) RONDO_TRY(one.message->start(one.stream, draw));
  if (needs_own) RONDO_TRY(drawn_.record(own.stream.get()));
  return placed;
}

Status GpuMessages::finish(std::span<const Placed> placed) {
  const gpu::Current current(device_);
  RONDO_TRY(current.status());
  for (const Placed& one : placed) RONDO_TRY(one.message->finish(one.stream));
  Proxy::get().wake();
  return {};
}

bool GpuMessages::serve() {
  const bool failed = hooks_.failed();
  bool moved = false;
  {
    const std::lock_guard lock(engine_.mutex());
    if (failed)
      release_all();
    else
      moved = serve_all();
    forget_ended();
  }
  if (failed) return moved;
  if (failure_.ok()) watch(moved);
  if (!failure_.ok()) hooks_.fail(failure_);
  return moved;
}

/// Cancels the engine first: peers may still be reading sent data.
void GpuMessages::release_all() {
  if (!std::exchange(cancelled_, true)) engine_.cancel();
  for (const auto& message : messages_) message->release();
}

/// Begins messages in the order of their tickets.
bool GpuMessages::begin_next() {
  const uint64_t first = next_ticket_;
  for (bool any = true; any && failure_.ok();) {
    any = false;
    for (const auto& message : messages_) {
      if (message->under_way() || message->ticket() != next_ticket_ || !message->can_begin(engine_)) continue;
      failure_ = message->begin(engine_);
      ++next_ticket_;
      any = true;
    }
  }
  return next_ticket_ != first;
}

bool GpuMessages::serve_all() {
  bool moved = begin_next();
  waits_ = false;
  for (const auto& message : messages_) {
    if (!message->under_way()) continue;
    moved = message->serve() || moved;
    waits_ = waits_ || message->under_way();
  }
  if (waits_) moved = engine_.progress() || moved;
  if (failure_.ok()) failure_ = engine_.status();
  return moved;
}

void GpuMessages::forget_ended() {
  for (auto& message : messages_)
    if (message->over()) spare_.push_back(message->take_memory());
  std::erase_if(messages_, [](const auto& message) { return message->over(); });
}

/// The messages that wait for a peer.
PendingMessages GpuMessages::pending() const {
  PendingMessages pending;
  for (const auto& message : messages_)
    if (message->under_way()) message->note(pending);
  engine_.note_unasked(pending);
  return pending;
}

/// Diagnoses stalled messages.
void GpuMessages::watch(bool moved) {
  if (moved || !waits_) stall_detector_.note_progress();
  const StallDetector::Finding finding = stall_detector_.judge(hooks_.timeout_ms());
  if (finding == StallDetector::Finding::Fine) return;
  PendingMessages waits_for;
  std::vector<uint64_t> received;
  {
    const std::lock_guard lock(engine_.mutex());
    failure_ = engine_.connection_status();
    waits_for = pending();
    received = engine_.received();
  }
  const bool last = finding == StallDetector::Finding::Overdue;
  if (failure_.ok() && (last || !waits_for.none()))
    failure_ = hooks_.look(waits_for, std::move(received), last);
}

bool GpuMessages::settle(const Deadline& deadline) {
  const auto idle = [this] {
    const std::lock_guard lock(engine_.mutex());
    return std::all_of(messages_.begin(), messages_.end(),
                       [](const auto& one) { return one->replayed() && !one->under_way(); });
  };
  return wait_until([&] { return idle() || !gpu::Current(device_).status().ok(); }, deadline);
}

void MessageStreams::join(int device, gpu::Stream stream) {
  const auto known = std::find_if(members_.begin(), members_.end(), [&](const MessageStream& one) {
    return one.device == device && one.stream == stream;
  });
  if (known == members_.end()) members_.push_back({device, stream, {}});
}

Status MessageStreams::separate() {
  if (separated_ || members_.size() < 2) return {};
  separated_ = true;
  const gpu::OutsideCapture outside;
  RONDO_TRY(check_captured_together());
  for (MessageStream& member : members_) RONDO_TRY(mark(member));
  for (const MessageStream& member : members_) RONDO_TRY(hold(member));
  return {};
}

Status MessageStreams::check_captured_together() const {
  std::optional<uint64_t> first;
  for (const MessageStream& member : members_) {
    const gpu::Current current(member.device);
    RONDO_TRY(current.status());
    RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(member.stream));
    if (first.value_or(capture) != capture)
      return Status(
          ErrorKind::CapturesDiffer,
          "the streams of a group's messages are not captured into the same graph; they have to be in one "
          "graph, or all of them in none");
    first = capture;
  }
  return {};
}

Status MessageStreams::mark(MessageStream& member) const {
  const gpu::Current current(member.device);
  RONDO_TRY(current.status());
  RONDO_TRY_ASSIGN(member.started, gpu::Event::create(member.device));
  return member.started.record(member.stream);
}

Status MessageStreams::hold(const MessageStream& member) const {
  const gpu::Current current(member.device);
  RONDO_TRY(current.status());
  for (const MessageStream& other : members_)
    if (&other != &member) RONDO_TRY(other.started.hold(member.stream));
  return {};
}

void GpuMessageTask::add(const AnyRequest& request, gpu::Stream stream, bool is_waited_for) {
  if (!is_waited_for) return asked_.push_back({request, stream});
  asked_.push_back({request, {}});
  waited_for_.push_back(request);
}

bool GpuMessageTask::all_done() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(waited_for_.begin(), waited_for_.end(), is_done);
}

Status GpuMessageTask::start() {
  RONDO_TRY_ASSIGN(placed_, messages_.start(asked_, own_));
  for (const GpuMessages::Placed& one : placed_) streams_.join(messages_.device(), one.stream);
  return {};
}

Status GpuMessageTask::finish() {
  RONDO_TRY(streams_.separate());
  RONDO_TRY(messages_.finish(placed_));
  if (waited_for_.empty()) return {};
  const gpu::Current current(messages_.device());
  RONDO_TRY(current.status());
  return own_.event.record(own_.stream.get());
}

/// Polls the event now and then: a lost GPU writes no words.
Status GpuMessageTask::check_gpu() {
  constexpr uint32_t kTurnsPerLook = 64;
  if (++turns_ % kTurnsPerLook != 0) return {};
  return own_.event.complete().status();
}

/// One stage per call, so that the group's tasks on other communicators keep pace.
Progress GpuMessageTask::advance() {
  switch (stage_) {
    case TaskStage::Start:
      failure_ = start();
      stage_ = TaskStage::Finish;
      return failure_.ok() ? Progress::Moved : Progress::Failed;
    case TaskStage::Finish:
      failure_ = finish();
      stage_ = TaskStage::Wait;
      return failure_.ok() ? Progress::Moved : Progress::Failed;
    case TaskStage::Wait: break;
  }
  if (all_done()) {
    if (own_.stream.get() != nullptr) messages_.give_back(std::move(own_));
    return Progress::Done;
  }
  failure_ = check_gpu();
  return failure_.ok() ? Progress::Stuck : Progress::Failed;
}

int GpuMessageTask::blocked_on() const {
  const std::lock_guard lock(mutex_);
  for (const AnyRequest& request : waited_for_)
    if (!is_done(request)) return std::visit([](const auto& one) { return one->peer; }, request);
  return -1;
}

/// The GPU still accesses the caller's buffers until the proxy's thread has released its streams.
void GpuMessageTask::abandon() {
  const auto is_over = [&] { return stage_ != TaskStage::Wait || all_done() || !own_.event.complete().ok(); };
  static_cast<void>(wait_until(is_over, Deadline::in_ms(kMaxAbandon_ms)));
}

}  // namespace rondo
