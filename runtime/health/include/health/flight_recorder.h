// SPDX-License-Identifier: Apache-2.0
// FlightRecorder: what a rank is doing on a communicator and its latest calls, for state queries from peers
// that wait for it, for the communicator's messages, and for the file that a failure leaves. Written by
// threads that make calls, read by any; a call never waits for a reader.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "base/signature.h"
#include "base/status.h"
#include "health/pending.h"
#include "health/trace.h"

namespace rondo {

/// A call as it was recorded.
struct CallRecord {
  Signature signature;
  const char* algorithm = "";  // static
  int64_t began_ns = 0;        // of the coarse clock
  int64_t ended_ns = 0;        // 0: it has not ended
  bool refused = false;        // ended without having been carried out, at all ranks alike
};

/// Calls that have begun, by CollectiveKind, and their bytes as passed to the C API.
struct CallCounts {
  std::array<uint64_t, kCollectives> calls{};
  std::array<uint64_t, kCollectives> bytes{};
};

class FlightRecorder {
 public:
  static constexpr uint32_t kRemembered = 256;  // calls

  /// `name`: the communicator's name, for its messages. Made by the thread that makes the communicator.
  explicit FlightRecorder(const std::string& name)
      : name_(name), title_(fmt::format("communicator '{}'", in_one_line(name))) {}

  /// The monotonic clock of now_ns() as of the kernel's latest tick, a few ms ago at most. Reading it takes a
  /// quarter of the time of now_ns(), and never a system call.
  static int64_t coarse_now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }

  /// Records that a call begins, under its sequence number. `algorithm`: the one that carries it out; static.
  void begin(const Signature& signature, const char* algorithm) {
    RecordedCall& entry = entry_of(signature.sequence);
    entry.sequence.store(0, std::memory_order_relaxed);  // marks the entry incomplete: a reader discards it
    const auto words = std::bit_cast<Words>(signature);
    for (size_t i = 0; i < words.size(); ++i) entry.words[i].store(words[i], std::memory_order_release);
    entry.algorithm.store(algorithm, std::memory_order_release);
    entry.began_ns.store(coarse_now_ns(), std::memory_order_release);
    entry.ended_ns.store(0, std::memory_order_release);
    entry.sequence.store(signature.sequence, std::memory_order_release);  // pairs with record()
    const uint64_t bytes = signature.count * signature.type_bytes;
    is_short_.store(bytes <= kShortBytes, std::memory_order_relaxed);
    add(calls_[static_cast<size_t>(signature.kind)], 1);
    add(bytes_[static_cast<size_t>(signature.kind)], bytes);
    waiting_for_.store(-1, std::memory_order_relaxed);
    if (track_ != 0) [[unlikely]]
      begin_traced();
    latest_.store(signature.sequence, std::memory_order_release);
    inside_.store(true, std::memory_order_release);
  }
  /// The algorithm that carries out the latest call; "" before the first.
  const char* algorithm() const { return entry_of(latest()).algorithm.load(std::memory_order_relaxed); }
  void note_algorithm(const char* name) {
    entry_of(latest()).algorithm.store(name, std::memory_order_relaxed);
  }
  /// The latest call has ended, or messages that it was not part of.
  void end() { end(coarse_now_ns()); }
  /// The same after a few polls. If the call was short, that took less than a tick of the clock, which is not
  /// read again: two ranks' all_reduce of 8 bytes would take 5% longer.
  void end_soon() {
    const RecordedCall& entry = entry_of(latest_.load(std::memory_order_relaxed));
    if (!is_short_.load(std::memory_order_relaxed)) return end();
    end(entry.began_ns.load(std::memory_order_relaxed));
  }
  /// The latest call has ended at all ranks without being carried out.
  void end_refused() { end(-coarse_now_ns()); }
  /// The rank (of the communicator) that the call waits for; -1: none known.
  void wait_for(int rank) {
    if (traced_began_ns_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      note_traced_wait(rank);
    waiting_for_.store(rank, std::memory_order_relaxed);
  }

  /// From now on each call is also a record of the trace. Before the first call.
  void trace_as(uint32_t track) { track_ = track; }
  uint32_t track() const { return track_; }
  /// The latest call has failed, if there is one under way.
  void end_failed() {
    if (traced_began_ns_.load(std::memory_order_relaxed) != 0) end_traced(TraceState::Failed);
  }

  /// Something that a long wait is for has moved at this time; 0: nothing has yet.
  void note_moved(int64_t at_ns) { moved_ns_.store(at_ns, std::memory_order_relaxed); }
  int64_t moved_ns() const { return moved_ns_.load(std::memory_order_relaxed); }

  /// The messages that a long wait is for; empty once it is over.
  void show(const PendingMessages& messages) {
    const std::lock_guard lock(mutex_);
    messages_ = messages;
  }
  PendingMessages messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

  /// No more calls will come; `sent`: the number of messages sent to each rank; `unsent`: those that were
  /// begun and will not be completed; `quiesced`: only rondo_quiesce() has been called.
  void finish(std::vector<uint64_t> sent, const MessageNotes& unsent, bool quiesced) {
    const std::lock_guard lock(mutex_);
    sent_ = std::move(sent);
    messages_ = {.receives = {}, .sends = unsent, .unexpected = {}};
    quiesced_.store(quiesced, std::memory_order_relaxed);
    finished_.store(true, std::memory_order_release);
  }
  /// The count that finish() was given for a rank; 0 before.
  uint64_t sent_to(int rank) const {
    const std::lock_guard lock(mutex_);
    return rank < 0 || sent_.empty() ? 0 : sent_[static_cast<size_t>(rank)];
  }
  /// From now until end(), this rank waits for the other ranks to finish.
  void wait_for_ends() { inside_.store(true, std::memory_order_release); }

  bool finished() const { return finished_.load(std::memory_order_acquire); }
  bool quiesced() const { return quiesced_.load(std::memory_order_relaxed); }
  uint32_t latest() const { return latest_.load(std::memory_order_acquire); }
  bool inside() const { return inside_.load(std::memory_order_acquire); }
  int waiting_for() const { return waiting_for_.load(std::memory_order_relaxed); }
  /// The call with that sequence number, if it is still recorded.
  std::optional<Signature> call(uint32_t sequence) const {
    const auto found = record(sequence);
    return found ? std::optional(found->signature) : std::nullopt;
  }
  std::optional<CallRecord> record(uint32_t sequence) const {
    const RecordedCall& entry = entry_of(sequence);
    if (sequence == 0 || entry.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
    Words words;
    for (size_t i = 0; i < words.size(); ++i) words[i] = entry.words[i].load(std::memory_order_acquire);
    CallRecord found{.algorithm = entry.algorithm.load(std::memory_order_acquire),
                     .began_ns = entry.began_ns.load(std::memory_order_acquire)};
    const int64_t ended_ns = entry.ended_ns.load(std::memory_order_acquire);
    if (entry.sequence.load(std::memory_order_relaxed) != sequence) return std::nullopt;
    found.signature = std::bit_cast<Signature>(words);
    found.ended_ns = std::abs(ended_ns);
    found.refused = ended_ns < 0;
    return found;
  }

  /// Of all calls, not only those that it remembers.
  CallCounts counts() const {
    CallCounts counts;
    for (size_t kind = 0; kind < calls_.size(); ++kind) {
      counts.calls[kind] = calls_[kind].load(std::memory_order_relaxed);
      counts.bytes[kind] = bytes_[kind].load(std::memory_order_relaxed);
    }
    return counts;
  }

  const std::string& name() const { return name_; }
  /// That made it.
  pid_t thread() const { return thread_; }
  /// "communicator 'world'"
  const std::string& title() const { return title_; }
  /// The same outcome, with the communicator and the current call, if any, prefixed to a failure's message. A
  /// message that already has the prefix, such as a cause reported again, stays as it is. A mismatch says
  /// itself which call it was of each rank: their numbers may differ, and other ranks get the same message.
  Status named(const Status& status) const {
    if (status.message().starts_with(title_)) return status;
    const bool names_call = inside() && status.code() != Code::Mismatch;
    return status.within(names_call ? fmt::format("{}, call {}", title_, latest()) : title_);
  }

 private:
  static constexpr uint64_t kShortBytes = 16'384;
  using Words = std::array<uint64_t, sizeof(Signature) / sizeof(uint64_t)>;
  struct RecordedCall {
    std::atomic<uint32_t> sequence{0};
    std::array<std::atomic<uint64_t>, std::tuple_size_v<Words>> words{};
    std::atomic<const char*> algorithm{""};
    std::atomic<int64_t> began_ns{0};
    std::atomic<int64_t> ended_ns{0};  // 0: not yet; negative: it was refused
  };

  RecordedCall& entry_of(uint32_t sequence) { return entries_[sequence % kRemembered]; }
  const RecordedCall& entry_of(uint32_t sequence) const { return entries_[sequence % kRemembered]; }
  /// A communicator's calls begin one after the other, so nothing else adds meanwhile.
  static void add(std::atomic<uint64_t>& total, uint64_t more) {
    total.store(total.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  /// Messages that end after the call leave its time as it is.
  void end(int64_t ended_ns) {
    std::atomic<int64_t>& ended = entry_of(latest_.load(std::memory_order_relaxed)).ended_ns;
    if (ended.load(std::memory_order_relaxed) == 0) ended.store(ended_ns, std::memory_order_relaxed);
    if (traced_began_ns_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      end_traced(ended_ns < 0 ? TraceState::Refused : TraceState::Done);
    inside_.store(false, std::memory_order_release);
  }

  void begin_traced();
  void note_traced_wait(int rank);
  void end_traced(TraceState state);

  std::string name_;
  std::string title_;
  const pid_t thread_ = static_cast<pid_t>(::syscall(SYS_gettid));
  std::array<RecordedCall, kRemembered> entries_;
  std::array<std::atomic<uint64_t>, kCollectives> calls_{};
  std::array<std::atomic<uint64_t>, kCollectives> bytes_{};
  std::atomic<uint32_t> latest_{0};
  std::atomic<bool> is_short_{true};  // the latest call
  std::atomic<bool> inside_{false};
  std::atomic<int> waiting_for_{-1};
  std::atomic<int64_t> moved_ns_{0};
  std::atomic<bool> finished_{false};
  std::atomic<bool> quiesced_{false};
  uint32_t track_ = 0;                       // of the trace; 0: none
  std::atomic<int64_t> traced_began_ns_{0};  // the call that is to be traced; 0: none
  // Of that call: how long it has waited for which rank, and since when for the latest one.
  std::atomic<int64_t> wait_since_ns_{0};
  std::atomic<int64_t> longest_wait_ns_{0};
  std::atomic<int> longest_wait_for_{-1};
  mutable std::mutex mutex_;  // guards messages_ and sent_
  PendingMessages messages_;
  std::vector<uint64_t> sent_;
};

}  // namespace rondo
