// SPDX-License-Identifier: Apache-2.0
// FlightRecorder: what a rank is doing on a communicator, for state queries from peers that wait for it and
// for the communicator's messages. Written by threads that make calls, read by any; a call never waits for a
// reader.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/signature.h"
#include "base/status.h"
#include "health/pending.h"

namespace rondo {

class FlightRecorder {
 public:
  static constexpr uint32_t kRemembered = 16;  // calls

  /// `name`: the communicator's name, for its messages.
  explicit FlightRecorder(const std::string& name) : title_(fmt::format("communicator '{}'", name)) {}

  /// Records that a call begins, under its sequence number.
  void begin(const Signature& signature) {
    RecordedCall& entry = entries_[signature.sequence % kRemembered];
    entry.sequence.store(0, std::memory_order_relaxed);  // marks the entry incomplete: a reader discards it
    const auto words = std::bit_cast<Words>(signature);
    for (size_t i = 0; i < words.size(); ++i) entry.words[i].store(words[i], std::memory_order_release);
    entry.sequence.store(signature.sequence, std::memory_order_release);  // pairs with call()
    waiting_for_.store(-1, std::memory_order_relaxed);
    latest_.store(signature.sequence, std::memory_order_release);
    inside_.store(true, std::memory_order_release);
  }
  /// The algorithm that carries out the latest call; "" before the first.
  const char* algorithm() const { return algorithm_.load(std::memory_order_relaxed); }
  void note_algorithm(const char* name) { algorithm_.store(name, std::memory_order_relaxed); }
  void end() { inside_.store(false, std::memory_order_release); }
  /// The rank (of the communicator) that the call waits for; -1: none known.
  void wait_for(int rank) { waiting_for_.store(rank, std::memory_order_relaxed); }

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
  /// begun and will not be completed.
  void finish(std::vector<uint64_t> sent, const MessageNotes& unsent) {
    const std::lock_guard lock(mutex_);
    sent_ = std::move(sent);
    messages_ = {.receives = {}, .sends = unsent, .unexpected = {}};
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
  uint32_t latest() const { return latest_.load(std::memory_order_acquire); }
  bool inside() const { return inside_.load(std::memory_order_acquire); }
  int waiting_for() const { return waiting_for_.load(std::memory_order_relaxed); }
  /// The call with that sequence number, if it is still recorded.
  std::optional<Signature> call(uint32_t sequence) const {
    const RecordedCall& entry = entries_[sequence % kRemembered];
    if (sequence == 0 || entry.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
    Words words;
    for (size_t i = 0; i < words.size(); ++i) words[i] = entry.words[i].load(std::memory_order_acquire);
    if (entry.sequence.load(std::memory_order_relaxed) != sequence) return std::nullopt;
    return std::bit_cast<Signature>(words);
  }

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
  using Words = std::array<uint64_t, sizeof(Signature) / sizeof(uint64_t)>;
  struct RecordedCall {
    std::atomic<uint32_t> sequence{0};
    std::array<std::atomic<uint64_t>, std::tuple_size_v<Words>> words{};
  };
  std::string title_;
  std::array<RecordedCall, kRemembered> entries_;
  std::atomic<uint32_t> latest_{0};
  std::atomic<bool> inside_{false};
  std::atomic<int> waiting_for_{-1};
  std::atomic<int64_t> moved_ns_{0};
  std::atomic<const char*> algorithm_{""};
  std::atomic<bool> finished_{false};
  mutable std::mutex mutex_;  // guards messages_ and sent_
  PendingMessages messages_;
  std::vector<uint64_t> sent_;
};

}  // namespace rondo
