// SPDX-License-Identifier: Apache-2.0
#include "shm/ways.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "shm/process_reader.h"

namespace rondo::shm {
namespace {

/// Up to this message, what may be read is: to try slots costs as much as some hundred messages.
constexpr uint64_t kFirstRead = 1024;
/// Up to this message, nothing is read where that is slow on this host.
constexpr uint64_t kFirstUnread = 4096;

constexpr TimedChoice::Ways bit(Way way) { return TimedChoice::Ways{1} << static_cast<int>(way); }

/// Whether plain stores to a slot and loads from it take so long that stores past the caches may be faster.
/// Between near cores of a Zen 5 the two copies take as long as four to seven within one; far ones were seen
/// to fill slots at a tenth of that rate.
bool is_far(double plain_ns_per_byte) {
  constexpr double kCopies = 10;
  return plain_ns_per_byte > kCopies * copy_ns_per_byte();
}

/// Non-temporal stores cost more than their own time: the lines must be fetched back from memory. Counting
/// only their own time made a 256 KiB all_reduce between two near CPUs take 1.3 times as long; counting it
/// twice kept two far CPUs from using them, and it took 1.5 times as long.
/// The two copies through a slot displace other data from two caches; a read, which is one copy, does not.
/// But where reads are slow, what tells is that those two copies overlap.
int64_t weighed(Way way, int64_t ns) {
  switch (way) {
    case Way::Streaming: return ns + ns / 2;
    case Way::Read: return is_reading_quick() ? ns - ns / 5 : ns + ns / 2;
    default: return ns;
  }
}

}  // namespace

/// Readable messages are copied by the receiver; others may be reduced there, which takes longer.
size_t SentWays::kind_of(size_t bytes, bool could_post) {
  const auto doublings = static_cast<size_t>(std::bit_width(bytes / kMinRead)) - 1;
  return 2 * std::min(doublings, kLengths - 1) + (could_post ? 1 : 0);
}

SentWays::SentWays(const uint32_t* times, uint64_t messages, uint64_t parts)
    : times_(times), messages_(messages), parts_(parts) {
  choosers_.fill(TimedChoice(bit(Way::Reusing) | bit(Way::InTurn) | bit(Way::Read)));
}

/// The kind whose times are the best guess for this one's: itself once it has any, or the nearest length of
/// those that have.
size_t SentWays::known_like(size_t kind) const {
  for (size_t distance = 0; distance < choosers_.size(); distance += 2)
    for (const size_t like : {kind - distance, kind + distance})
      if (like < choosers_.size() && choosers_[like].has_taken()) return like;
  return kind;
}

/// At first whatever may be read is, which touches no slot's pages, or nothing where that is slow on this
/// host.
Way SentWays::next(uint64_t message, size_t kind, bool may_read, const SlotPicker& picker) const {
  const TimedChoice& chooser = choosers_[known_like(kind)];
  TimedChoice::Ways allowed = bit(Way::Reusing);
  if (is_far(chooser.ns_per_byte(static_cast<size_t>(Way::Reusing)))) allowed |= bit(Way::Streaming);
  if (may_turn_ && picker.may_turn()) allowed |= bit(Way::InTurn);
  if (may_read) {
    const bool is_quick = is_reading_quick();
    const bool is_early = message <= (is_quick ? kFirstRead : kFirstUnread) || picker.is_early();
    if (is_early && is_quick) return Way::Read;
    if (!is_early) allowed |= bit(Way::Read);
  }
  return static_cast<Way>(chooser.next(allowed, is_sampled(message)));
}

bool SentWays::reads(uint64_t message, size_t bytes, const SlotPicker& picker) const {
  return bytes >= kMinRead && next(message, kind_of(bytes, true), true, picker) == Way::Read;
}

/// Neither the first messages count nor those that are the first to touch the pages of a part of the slots'
/// memory, for which they use plain stores.
FillHints::Filling SentWays::filling(uint64_t message, size_t bytes, bool could_post,
                                     const SlotPicker& picker) {
  filling_ = {};
  fills_new_ = bytes >= kMinRead && picker.is_new();
  if (fills_new_) return {.streams = false, .is_timed = true};
  if (!is_counted(message, bytes)) return {};
  const size_t kind = kind_of(bytes, could_post);
  const bool streams = next(message, kind, false, picker) == Way::Streaming;
  // The part was picked before anything was known of the message.
  const Way plain = picker.reused() ? Way::Reusing : Way::InTurn;
  filling_ = {.number = message, .bytes = bytes, .kind = kind, .way = streams ? Way::Streaming : plain};
  return {.streams = streams, .is_timed = is_sampled(message)};
}

void SentWays::filled(int64_t ns, bool overlapped) {
  if (!fills_new_) {
    filling_.fill_ns = overlapped ? 0 : ns;
    sampled_ns_ += ns;
    return;
  }
  new_part_ns_ = std::min(new_part_ns_, ns);
}

/// To find out about the parts in turn, those that are new must be touched. That is put off until it takes no
/// longer than a tenth of the time for which slots have been filled.
void SentWays::consider_turns(const SlotPicker& picker) {
  constexpr int64_t kTenth = 10;
  const auto others = static_cast<int64_t>(picker.others());
  may_turn_ = others == 0 || kSampledOf * sampled_ns_ / (kTenth * others) >= new_part_ns_;
}

void SentWays::sent_by_slot(uint64_t message, SlotPicker& picker) {
  if (filling_.number == message) keep(filling_, picker);
}

void SentWays::sent_to_be_read(uint64_t message, size_t bytes, SlotPicker& picker) {
  if (is_counted(message, bytes))
    keep({.number = message, .bytes = bytes, .kind = kind_of(bytes, true), .way = Way::Read}, picker);
}

void SentWays::keep(const SentMessage& message, SlotPicker& picker) {
  TimedChoice& chooser = choosers_[message.kind];
  if (!chooser.has_taken()) chooser = choosers_[known_like(message.kind)];
  chooser.takes(static_cast<size_t>(message.way));
  picker.prefer_reuse(next(message.number + 1, message.kind, false, picker) != Way::InTurn);
  if (!is_sampled(message.number)) return;
  if (!may_turn_) consider_turns(picker);
  by_header_.resize(messages_);
  by_header_[(message.number - 1) % messages_] = message;
  if (heard_ == latest_) heard_ = message.number - 1;
  latest_ = message.number;
}

void SentWays::hear_times(uint64_t returned) {
  for (const uint64_t end = std::min(returned, latest_); heard_ < end; ++heard_) {
    const SentMessage& message = by_header_[heard_ % messages_];
    if (message.number != heard_ + 1) continue;
    // Relaxed: a sender that has acquired the slot's release also sees its time, which was stored earlier.
    const uint32_t taken_ns =
        std::atomic_ref(const_cast<uint32_t&>(times_[heard_ % messages_])).load(std::memory_order_relaxed);
    choosers_[message.kind].took(static_cast<size_t>(message.way), message.bytes,
                                 weighed(message.way, message.fill_ns + taken_ns));
  }
}

void TakenTime::begin() { began_ns_ = now_ns(); }

void TakenTime::end(uint64_t header) {
  const int64_t before_ns = std::exchange(before_ns_, 0);
  if (began_ns_ == 0) return;
  const int64_t ns = before_ns + now_ns() - began_ns_;
  constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
  // Relaxed: the sender loads it only after its acquire load has seen the slot's release.
  std::atomic_ref(times_[header])
      .store(static_cast<uint32_t>(std::clamp<int64_t>(ns, 0, kMax)), std::memory_order_relaxed);
  began_ns_ = 0;
}

}  // namespace rondo::shm
