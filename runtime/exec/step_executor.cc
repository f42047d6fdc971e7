// SPDX-License-Identifier: Apache-2.0
#include "step_executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error_kinds.h"
#include "kernels/stream_copy.h"

namespace rondo {
namespace {

/// Below this, copying into a slot costs less than waiting for the peer to read the original, and copying out
/// of a slot no more than receiving elsewhere.
constexpr size_t kMinPosted = size_t{8} * 1024;

}  // namespace

StepExecutor::StepExecutor(const Program& program)
    : program_(program), lanes_(program.schedule().lanes.size()), expected_(lanes_.size()) {}

void StepExecutor::begin(const CallArgs& binding) {
  binding_ = binding;
  std::fill(lanes_.begin(), lanes_.end(), LanePosition());
  std::fill(expected_.begin(), expected_.end(), LanePosition());
  message_ = binding_.signature;
  failure_ = Status();
  is_exported_ = false;
}

/// Lets messages leave from the caller's buffers, once a call has some that are long enough.
void StepExecutor::export_buffers() {
  if (std::exchange(is_exported_, true)) return;
  export_memory(binding_.input);
  export_memory(binding_.output);
}

void StepExecutor::export_memory(const std::byte* buffer) {
  const auto& exporter = program_.posting_connections(binding_.in_place);
  if (exporter.empty()) return;
  const auto memory = find_offered(buffer, 1);
  if (!memory) return;
  for (ZeroCopy* zero_copy : exporter) zero_copy->export_memory(*memory);
}

Progress StepExecutor::advance() {
  bool moved = false;
  bool all_done = true;
  blocked_on_ = -1;
  blocked_connection_ = nullptr;
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    const auto& steps = program_.schedule().lanes[lane].steps;
    while (!lane_done(lane)) {
      LanePosition& at = lanes_[lane];
      const StepOutcome outcome = try_step(lane, steps[at.step]);
      if (outcome == StepOutcome::Failed) return Progress::Failed;
      if (outcome == StepOutcome::Stuck) break;
      moved = true;
      at = after(lane, at);
    }
    all_done = all_done && lane_done(lane);
  }
  if (all_done && flush()) return Progress::Done;
  if (!moved) flush();  // partly sent messages must continue even while this rank waits to receive
  return moved ? Progress::Moved : Progress::Stuck;
}

bool StepExecutor::lane_done(size_t lane) const {
  return lanes_[lane].tile >= binding_.layout.tiles || program_.schedule().lanes[lane].steps.empty();
}

bool StepExecutor::waits_for_lane(const Step& step, size_t lane) const {
  if (step.wait_lane == Step::kNone) return false;
  const LanePosition& other = lanes_[step.wait_lane];
  return step.waits(lanes_[lane].tile, other.tile, other.step);
}

/// The chunk whose length is the length of everything that the Step moves.
Ref StepExecutor::sizing(const Step& step) const {
  if (step.has(kCopy)) return {step.dst(), step.dst_chunk};
  return {step.src(), step.src_chunk};
}

size_t StepExecutor::step_bytes(const Step& step, size_t tile) const {
  const Ref ref = sizing(step);
  size_t bytes = 0;
  for (int i = 0; i < step.count; ++i) bytes += binding_.layout.piece(tile, ref.buffer, ref.chunk + i).bytes;
  return bytes;
}

uint64_t StepExecutor::step_elements(const Step& step) const {
  const Ref ref = sizing(step);
  uint64_t elements = 0;
  for (int i = 0; i < step.count; ++i) elements += binding_.layout.elements(ref.buffer, ref.chunk + i);
  return elements;
}

StepExecutor::StepOutcome StepExecutor::try_step(size_t lane, const Step& step) {
  const size_t tile = lanes_[lane].tile;
  if (waits_for_lane(step, lane)) return StepOutcome::Stuck;
  const size_t bytes = step_bytes(step, tile);
  if (bytes == 0 && tile > 0) return StepOutcome::Done;  // the other end skips it as well
  if (binding_.signature.varying) message_.count = step_elements(step);
  if (auto outcome = gather_operands(lane, step, bytes); outcome != StepOutcome::Done) return outcome;
  if (auto outcome = reserve_targets(lane, step, bytes); outcome != StepOutcome::Done) return outcome;
  // Posted early, so that peers read it while this rank copies.
  const bool is_there = Program::value_place(step).buffer == Buffer::Input;
  if (is_there && !post(step, tile, bytes)) return StepOutcome::Failed;
  compute(lane, step);
  if (!read_intact()) return StepOutcome::Failed;
  if (!is_there && !post(step, tile, bytes)) return StepOutcome::Failed;
  hand_over(bytes);
  return StepOutcome::Done;
}

StepExecutor::StepOutcome StepExecutor::block_on(int rank, const Connection& connection,
                                                 Connection::Awaiting what) {
  blocked_on_ = rank;
  blocked_connection_ = &connection;
  blocked_for_ = what;
  return StepOutcome::Stuck;
}

StepExecutor::StepOutcome StepExecutor::gather_operands(size_t lane, const Step& step, size_t bytes) {
  operands_.clear();
  if (!step.has(kRecv)) {
    operands_.push_back({program_.schedule().rank, nullptr, nullptr, bytes});
    return StepOutcome::Done;
  }
  if (bytes >= kMinPosted && takes_places(lane, step)) expect_ahead(lane);
  const auto& ranks = program_.schedule().peer_sets[step.recv_set];
  const auto& connections = program_.connections(lane, step.recv_set);
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (connections[i] == nullptr) {
      operands_.push_back({ranks[i], nullptr, nullptr, bytes});
      continue;
    }
    if (std::byte* place = place_of_arrival(step, lanes_[lane].tile, bytes))
      if (ZeroCopy* const zero_copy = connections[i]->zero_copy()) zero_copy->expect(place, bytes, message_);
    const Arrival* const arrival = connections[i]->peek();
    if (arrival == nullptr) return block_on(ranks[i], *connections[i], Connection::Awaiting::Arrival);
    if (!check(*arrival, ranks[i], bytes)) return StepOutcome::Failed;
    operands_.push_back({ranks[i], connections[i], arrival->data, bytes});
  }
  return StepOutcome::Done;
}

/// The destination of a Step that only copies what it receives, if contiguous; null if there is none, or if
/// it does not pay.
std::byte* StepExecutor::place_of_arrival(const Step& step, size_t tile, size_t bytes) const {
  const bool only_copied =
      step.has(kCopy) && !step.has(kFinish) && program_.schedule().peer_sets[step.recv_set].size() == 1;
  if (bytes < kMinPosted || !only_copied || !contiguous(step, tile, sizing(step))) return nullptr;
  return start_of(sizing(step), tile);
}

StepExecutor::LanePosition StepExecutor::after(size_t lane, LanePosition at) const {
  const bool is_last = at.step + 1 == program_.schedule().lanes[lane].steps.size();
  return is_last ? LanePosition{at.tile + 1, 0} : LanePosition{at.tile, at.step + 1};
}

/// Whether connections of a Step can be told of the places of later messages.
bool StepExecutor::takes_places(size_t lane, const Step& step) const {
  const auto& connections = program_.connections(lane, step.recv_set);
  return std::any_of(connections.begin(), connections.end(), [](const Connection* connection) {
    return connection != nullptr && connection->zero_copy() != nullptr &&
           connection->zero_copy()->room_ahead();
  });
}

/// Tells connections where the messages of the lane's next Steps go.
void StepExecutor::expect_ahead(size_t lane) {
  LanePosition& next = expected_[lane];
  next = std::max(next, lanes_[lane]);
  while (next.tile < binding_.layout.tiles && expect_message(lane, next)) next = after(lane, next);
}

/// False if a connection of this Step has no room for one more.
bool StepExecutor::expect_message(size_t lane, const LanePosition& at) {
  const Step& step = program_.schedule().lanes[lane].steps[at.step];
  const size_t bytes = step_bytes(step, at.tile);
  if (!step.has(kRecv) || (bytes == 0 && at.tile > 0)) return true;
  const auto& connections = program_.connections(lane, step.recv_set);
  const auto has_room = [](const Connection* connection) {
    return connection == nullptr || connection->zero_copy() == nullptr ||
           connection->zero_copy()->room_ahead() != size_t{0};
  };
  if (!std::all_of(connections.begin(), connections.end(), has_room)) return false;
  Signature message = binding_.signature;
  if (message.varying) message.count = step_elements(step);
  const bool is_early = program_.may_land_early(lane, at.step, binding_.in_place);
  std::byte* const place = is_early ? place_of_arrival(step, at.tile, bytes) : nullptr;
  for (const Connection* connection : connections)
    if (connection != nullptr && connection->zero_copy() != nullptr)
      connection->zero_copy()->expect_next(place, bytes, &message);
  return true;
}

std::byte* StepExecutor::start_of(Ref place, size_t tile) const {
  return address(place.buffer, binding_.layout.piece(tile, place.buffer, place.chunk).offset);
}

bool StepExecutor::check(const Arrival& arrival, int peer, size_t bytes) {
  if (*arrival.signature == message_ && arrival.bytes == bytes) return true;
  blocked_on_ = peer;
  const int self = program_.schedule().rank;
  if (*arrival.signature == message_)
    failure_ = error(ErrorKind::LengthsDiffer, "rank {} sent {} bytes where rank {} expects {} in {}", peer,
                     arrival.bytes, self, bytes, describe(message_));
  else
    failure_ = mismatch(self, message_, peer, *arrival.signature);
  return false;
}

/// Not for operands: the peer would copy them before it folds them, while the sender's CPU idles.
bool StepExecutor::may_be_read(const Step& step) const {
  return binding_.is_read && (!binding_.reduces || step.has(kFinish));
}

/// Whether a Step's value is posted to this peer rather than copied to a slot.
bool StepExecutor::is_posted(const Connection& connection, const Step& step, const std::byte* value,
                             size_t bytes) const {
  if (connection.zero_copy() == nullptr) return false;
  switch (connection.zero_copy()->post_mode(value, bytes)) {
    case ZeroCopy::PostMode::Mapped: return true;
    case ZeroCopy::PostMode::Read: return may_be_read(step);
    case ZeroCopy::PostMode::None: break;
  }
  return false;
}

StepExecutor::StepOutcome StepExecutor::reserve_targets(size_t lane, const Step& step, size_t bytes) {
  targets_.clear();
  if (!step.has(kSend)) return StepOutcome::Done;
  const size_t tile = lanes_[lane].tile;
  const Ref place = Program::value_place(step);
  const bool scaled = binding_.op.scales_input && binding_.reduces && place.buffer == Buffer::Input;
  const bool by_reference = bytes >= kMinPosted && !scaled && (step.has(kCopy) || !step.has(kFinish)) &&
                            program_.stable(lane, lanes_[lane].step, binding_.in_place) &&
                            contiguous(step, tile, place);
  const std::byte* const value = by_reference ? start_of(place, tile) : nullptr;
  if (by_reference) export_buffers();
  const auto& ranks = program_.schedule().peer_sets[step.send_set];
  const auto& connections = program_.connections(lane, step.send_set);
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::byte* slot = connections[i]->acquire(bytes);
    if (slot == nullptr) return block_on(ranks[i], *connections[i], Connection::Awaiting::Room);
    const bool posted = by_reference && is_posted(*connections[i], step, value, bytes);
    if (posted)
      targets_.push_back({connections[i], nullptr});
    else
      targets_.push_back(
          {connections[i], slot,
           filling_by(connections[i]->fill_hints(), bytes, by_reference && may_be_read(step))});
  }
  return StepOutcome::Done;
}

bool StepExecutor::contiguous(const Step& step, size_t tile, Ref place) const {
  Piece all = binding_.layout.piece(tile, place.buffer, place.chunk);
  for (int i = 1; i < step.count; ++i) {
    const Piece next = binding_.layout.piece(tile, place.buffer, place.chunk + i);
    if (next.bytes != 0 && next.offset != all.offset + all.bytes) return false;
    all.bytes += next.bytes;
  }
  return true;
}

std::byte* StepExecutor::address(Buffer buffer, size_t offset) const {
  switch (buffer) {
    case Buffer::Input: return const_cast<std::byte*>(binding_.input) + offset;  // read only
    case Buffer::Output: return binding_.output + offset;
    case Buffer::Scratch: return binding_.scratch + offset;
    case Buffer::None: break;
  }
  return nullptr;
}

/// Whether the result is written past the caches; not if a peer reads it in place.
bool StepExecutor::streams(size_t lane) const {
  if (!binding_.streams || !program_.settles(lane, lanes_[lane].step)) return false;
  return std::all_of(targets_.begin(), targets_.end(),
                     [](const Target& target) { return target.slot != nullptr; });
}

void StepExecutor::compute(size_t lane, const Step& step) {
  const size_t tile = lanes_[lane].tile;
  streams_ = streams(lane);
  size_t slot_offset = 0;
  for (int i = 0; i < step.count; ++i) {
    Piece src;
    Piece dst;
    if (step.src() != Buffer::None) src = binding_.layout.piece(tile, step.src(), step.src_chunk + i);
    if (step.has(kCopy)) dst = binding_.layout.piece(tile, step.dst(), step.dst_chunk + i);
    const size_t bytes = step.has(kCopy) ? dst.bytes : src.bytes;
    if (bytes != 0) compute_piece(step, i, src, dst, slot_offset, bytes);
    slot_offset += bytes;
  }
}

/// Computes the value in the first place that needs it and copies it from there to the others.
void StepExecutor::compute_piece(const Step& step, int index, const Piece& src, const Piece& dst,
                                 size_t slot_offset, size_t bytes) {
  int own = -1;
  sources_.clear();
  for (const Operand& operand : operands_) {
    if (operand.connection != nullptr) {
      sources_.push_back(operand.data + slot_offset);
    } else if (is_scratch_operand(operand.member)) {
      sources_.push_back(start_of(scratch(chunk_of_operand(operand.member) + index), 0));
    } else {
      own = static_cast<int>(sources_.size());
      sources_.push_back(address(step.src(), src.offset));
    }
  }
  FoldArgs args{.out = step.has(kCopy) ? address(step.dst(), dst.offset) : nullptr,
                .operands = sources_,
                .bytes = bytes};
  if (binding_.reduces && binding_.op.scales_input && own >= 0 && step.src() == Buffer::Input)
    args.scaled = own;
  if (step.has(kFinish) && binding_.op.built_in == Reduction::Avg && binding_.op.function == nullptr)
    args.divisor = binding_.nranks;
  if (streams_) return stream_piece(args, slot_offset);
  if (args.out != nullptr) fold(binding_.type, binding_.op, args);
  fill_slots(args, args.out, slot_offset);
}

/// Computes the peers' slots first, because they stay in the caches.
void StepExecutor::stream_piece(const FoldArgs& args, size_t slot_offset) {
  const std::byte* const value = fill_slots(args, nullptr, slot_offset);
  if (value != nullptr) return stream_copy(args.out, value, args.bytes);
  FoldArgs past_caches = args;
  past_caches.streams = true;
  fold(binding_.type, binding_.op, past_caches);
}

/// Copies the value to the slots, computing it first if `value` is null. Returns where it is now; null if it
/// is not in the caches.
const std::byte* StepExecutor::fill_slots(const FoldArgs& args, const std::byte* value, size_t slot_offset) {
  for (Target& target : targets_) {
    if (target.slot == nullptr) continue;
    const int64_t start_ns = target.filling.is_timed ? now_ns() : 0;
    fill(target, args, value, slot_offset);
    if (target.filling.is_timed) target.fill_ns += now_ns() - start_ns;
    const bool is_streamed = target.filling.streams && binding_.op.function == nullptr;
    if (value == nullptr && !is_streamed) value = target.slot + slot_offset;
  }
  return value;
}

void StepExecutor::fill(Target& target, FoldArgs args, const std::byte* value, size_t slot_offset) {
  args.out = target.slot + slot_offset;
  args.streams = target.filling.streams;
  if (value == nullptr) return fold(binding_.type, binding_.op, args);
  if (args.streams) return stream_copy(args.out, value, args.bytes);
  std::memcpy(args.out, value, args.bytes);
}

/// Whether the result was computed from the peers' messages, and not from what overwrote them.
bool StepExecutor::read_intact() {
  const bool all = std::all_of(operands_.begin(), operands_.end(), [](const Operand& operand) {
    const ZeroCopy* const zero_copy =
        operand.connection != nullptr ? operand.connection->zero_copy() : nullptr;
    return zero_copy == nullptr || zero_copy->intact();
  });
  if (!all)
    failure_ = error(ErrorKind::MessageCancelled, "a peer cancelled a message while it was being read");
  return all;
}

/// Posts the value to the peers that take it in place.
bool StepExecutor::post(const Step& step, size_t tile, size_t bytes) {
  for (const Target& target : targets_) {
    if (target.slot != nullptr) continue;
    const std::byte* const value = start_of(Program::value_place(step), tile);
    if (target.connection->zero_copy()->post(value, bytes, message_)) continue;
    failure_ = error(ErrorKind::MemoryFreed,
                     "memory from rondo_mem_alloc(), or that was registered, was freed while {} used it",
                     describe(message_));
    return false;
  }
  return true;
}

/// Commits the filled slots and releases the received ones.
void StepExecutor::hand_over(size_t bytes) {
  for (const Target& target : targets_) {
    if (target.slot == nullptr) continue;
    if (target.filling.is_timed) target.connection->fill_hints()->filled(target.fill_ns);
    target.connection->commit(bytes, message_);
  }
  for (const Operand& operand : operands_)
    if (operand.connection != nullptr) operand.connection->release();
}

/// Checks only the connection that it waits on: a peer that has finished may have left.
Status StepExecutor::connection_status() const {
  if (blocked_connection_ != nullptr) return blocked_connection_->status();
  for (Connection* connection : program_.all_connections())
    if (!connection->flushed()) RONDO_TRY(connection->status());
  return {};
}

/// If several lanes are stuck, what the last one waits for.
Awaited StepExecutor::awaited() {
  if (blocked_connection_ != nullptr) return blocked_connection_->awaited(blocked_for_);
  for (Connection* connection : program_.all_connections())
    if (!connection->flushed()) return connection->awaited(Connection::Awaiting::Room);
  return {};
}

void StepExecutor::abandon() {
  for (const Connection* connection : program_.all_connections())
    if (connection->zero_copy() != nullptr) connection->zero_copy()->stop_reading();
  for (const Connection* connection : program_.all_connections())
    if (connection->zero_copy() != nullptr) connection->zero_copy()->cancel();
}

bool StepExecutor::flush() {
  bool flushed = true;
  for (Connection* connection : program_.all_connections()) flushed = connection->flushed() && flushed;
  return flushed;
}

}  // namespace rondo
