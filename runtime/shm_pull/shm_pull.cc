// SPDX-License-Identifier: Apache-2.0
#include "shm_pull.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "base/cache_line.h"
#include "base/error_kinds.h"
#include "exec/call_args.h"

namespace rondo {
namespace {

constexpr int kBriefPolls = 64;  // polls

/// In the lower half of Mailbox::ready, so that no post looks like an empty mailbox.
constexpr uint64_t kPosted = uint64_t{1} << 31;

uint64_t ready_word(uint64_t round, size_t bytes) { return round << 32 | kPosted | bytes; }
/// Whether anything has been posted in that round.
bool is_of(uint64_t ready, uint64_t round) { return ready >> 31 == ready_word(round, 0) >> 31; }
bool has_bytes(uint64_t ready, uint64_t round, size_t bytes) {
  return is_of(ready, round) && (ready & (kPosted - 1)) >= bytes;
}

uint64_t hash(uint64_t before, const Signature& signature) {
  uint64_t value = before;
  for (const uint64_t word : std::bit_cast<std::array<uint64_t, 5>>(signature)) {
    value = (value ^ word) * 0x9e3779b97f4a7c15u;
    value ^= value >> 32;
  }
  return value;
}

int mutual_slot(uint64_t round) { return static_cast<int>(round % MailboxTable::kMutualSlots); }
int short_slot(uint64_t round) {
  return MailboxTable::kFirstShort + static_cast<int>(round % MailboxTable::kShortSlots);
}

}  // namespace

ShmPull::ShmPull(const MembershipPtr& membership)
    : memory_(membership, MailboxTable::bytes(membership->size())),
      self_(membership->rank()),
      done_(static_cast<size_t>(membership->size())),
      heard_(done_.size()),
      operands_(done_.size()) {}

/// Whether the shared memory is set up.
Result<bool> ShmPull::find_table() {
  RONDO_TRY_ASSIGN(const bool there, memory_.advance());
  if (!there) return false;
  table_ = MailboxTable(memory_.data(), static_cast<int>(done_.size()));
  has_table_ = true;
  table_.touch_posts();
  note_cpu();
  begin();
  return true;
}

void ShmPull::begin() {
  signature_of(++round_) = *signature_;
  slot_ = next_slot(*call_);
  has_posted_ = !call_->posts;
  read_ = offset_ = arrived_ = 0;
  failure_ = Status();
}

/// All ranks choose the same.
int ShmPull::next_slot(const PullCall& call) {
  if (call.mutual) return mutual_slot(mutual_rounds_++);
  if (call.posted_bytes > MailboxTable::kShortBytes)
    return MailboxTable::kFirstLong + static_cast<int>(long_rounds_++ % MailboxTable::kLongSlots);
  return short_slot(short_rounds_++);
}

Progress ShmPull::advance() {
  if (!has_table_) [[unlikely]] {
    if (!failure_.ok()) return Progress::Failed;
    const auto there = find_table();
    failure_ = there.status();
    if (!there.ok()) return Progress::Failed;
    if (!there.value()) return Progress::Stuck;
  }
  has_moved_ = false;
  blocked_on_ = -1;
  if (!has_posted_) {
    if (!may_post()) return Progress::Stuck;
    post();
    has_moved_ = has_posted_ = true;
  }
  const bool has_read = call_->place == 0 ? read_pieces() : read_mailboxes();
  if (!has_read) return !failure_.ok() ? Progress::Failed : has_moved_ ? Progress::Moved : Progress::Stuck;
  end_round();
  if (call_->next == nullptr) return Progress::Done;
  call_ = call_->next.get();
  begin();
  return Progress::Moved;
}

/// Whether all ranks are done with this rank's previous post in the slot. In an all-to-all round that post is
/// two such rounds old, and in the round between them this rank has heard from all.
bool ShmPull::may_post() {
  if (call_->mutual) return true;
  const uint64_t used = used_[slot_];
  all_done_ = round_;
  for (size_t peer = 0; peer < done_.size(); ++peer) {
    if (done_[peer] < used && !is_done_with(static_cast<int>(peer), used)) return false;
    if (static_cast<int>(peer) != self_) all_done_ = std::min(all_done_, done_[peer]);
  }
  return true;
}

bool ShmPull::is_done_with(int peer, uint64_t round) {
  if (peer == self_) return true;
  uint64_t& known = done_[static_cast<size_t>(peer)];
  // Pairs with the release store in end_round(): the slot is not written before it has been read.
  known = std::atomic_ref(table_.done(peer)).load(std::memory_order_acquire);
  if (known >= round) return true;
  blocked_on_ = peer;
  return false;
}

/// Data outside the line of `ready` is written before that line: pollers keep stealing it, and if they took
/// it between two writes, it would take a while to come back.
void ShmPull::post() {
  Mailbox& post = table_.post(self_, slot_);
  if (call_->place == 0) touch_bulk();
  std::byte* const to = posted(self_, slot_);
  const size_t end = std::min(call_->piece_bytes, call_->posted_bytes);
  put(to, 0, end);
  post.write(*signature_);
  post.history = history_;
  publish(post, end);
  if (end != call_->posted_bytes) post_rest(post, to, end);
  used_[slot_] = round_;
  // A peer in step with this rank is about to post. A poll that starts before this post is complete steals
  // the line from it; then it moves twice in each round (0.25 instead of 0.12 us for 8 B of 2 ranks, EPYC,
  // 2026-11).
  if (call_->mutual) delay_loads();
  if (slot_ < MailboxTable::kFirstShort) return;
  if (const int next = short_slot(short_rounds_); used_[next] <= all_done_) fetch_to_post(next);
}

/// Copies and publishes what follows the first piece, which ends at `end`.
void ShmPull::post_rest(Mailbox& post, std::byte* to, size_t end) {
  while (end < call_->posted_bytes) {
    const size_t bytes = std::min(call_->piece_bytes, call_->posted_bytes - end);
    put(to + end, end, bytes);
    publish(post, end += bytes);
  }
}

void ShmPull::publish(Mailbox& post, size_t bytes) {
  // Pairs with the acquire load in has_arrived(): a reader of `ready` sees the Signature and the bytes.
  std::atomic_ref(post.ready).store(ready_word(round_, bytes), std::memory_order_release);
  wake(table_.asleep(self_));
}

/// Prefetches the lines that this rank writes in the next call, if it is like this one. They are in peers'
/// caches, and waiting for them at the time of the write takes longer than the call.
void ShmPull::fetch_to_post(int slot) const {
  constexpr size_t kMaxFetched = 512;
  fetch_to_write(&table_.post(self_, slot));
  if (call_->posted_bytes <= Mailbox::kHeadBytes || call_->posted_bytes > kMaxFetched) return;
  const std::byte* const to = posted(self_, slot);
  for (size_t at = 0; at < call_->posted_bytes; at += kLineBytes) fetch_to_write(to + at);
}

/// The same for an all-to-all round. By the time of its last read all ranks have been heard, so all are done
/// with the post in that slot.
void ShmPull::fetch_to_post_mutual() const {
  if (call_->mutual) fetch_to_post(mutual_slot(mutual_rounds_));
}

/// A rank that runs ahead uses all slots of a kind, so all of them are faulted in at once.
void ShmPull::touch_bulk() {
  if (slot_ >= MailboxTable::kFirstShort)
    touch(MailboxTable::kFirstShort, MailboxTable::kSlots, MailboxTable::kShortBytes, touched_short_bytes_);
  else if (slot_ >= MailboxTable::kFirstLong)
    touch(MailboxTable::kFirstLong, MailboxTable::kFirstShort, call_->posted_bytes, touched_long_bytes_);
}

void ShmPull::touch(int first, int end, size_t bytes, size_t& touched) {
  if (bytes <= touched) return;
  table_.touch_bulk(self_, first, end, touched, bytes);
  touched = bytes;
}

void ShmPull::put(std::byte* to, size_t offset, size_t bytes) const {
  const void* from = call_->input + offset;
  if (call_->scales)
    fold(call_->type, call_->op, {.out = to, .operands = {&from, 1}, .bytes = bytes, .scaled = 0});
  else if (bytes == sizeof(uint64_t))
    std::memcpy(to, from, sizeof(uint64_t));  // two instructions
  else if (bytes != 0)
    std::memcpy(to, from, bytes);
}

/// Reads what the round needs of data that is in the mailboxes: its own while the peers' arrives, and theirs
/// once all of it is there. False: not yet, or a peer has posted another call.
bool ShmPull::read_mailboxes() {
  fold_reads(call_->own_reads);
  const std::vector<int>& peers = call_->peers;
  for (; arrived_ != peers.size(); ++arrived_, has_moved_ = true)
    if (!has_arrived(peers[arrived_], 0, 0)) return false;
  fetch_to_post_mutual();
  fold_reads(call_->reads.size());
  return true;
}

void ShmPull::fold_reads(size_t end) {
  for (; read_ != end; ++read_)
    if (const PullCall::PullOperand& read = call_->reads[read_]; read.bytes != 0)
      fold_piece(read, 0, read.bytes);
}

/// The same of data that is in bulk, as far as it is there.
bool ShmPull::read_pieces() {
  for (; read_ != call_->reads.size(); has_moved_ = true)
    if (!read_next()) return false;
  return true;
}

/// Folds the next piece; false if it has not arrived, or is of another call.
bool ShmPull::read_next() {
  const PullCall::PullOperand& read = call_->reads[read_];
  const size_t bytes = std::min(call_->piece_bytes, read.bytes - offset_);
  for (size_t i = read.first; i < read.first + read.sources; ++i) {
    const PullCall::PullSource source = call_->sources[i];
    const size_t from = source.offset + offset_;
    if (source.rank != self_ && !has_arrived(source.rank, from, bytes == 0 ? 0 : from + bytes)) return false;
  }
  if (read_ + 1 == call_->reads.size() && offset_ + bytes == read.bytes) fetch_to_post_mutual();
  if (bytes != 0) fold_piece(read, offset_, bytes);
  offset_ += bytes;
  if (offset_ < read.bytes) return true;
  ++read_;
  offset_ = 0;
  return true;
}

/// Whether the peer has posted the first `end` bytes. Prefetches those from `from` on together with its
/// `ready`, not after that has arrived.
bool ShmPull::has_arrived(int peer, size_t from, size_t end) {
  Mailbox& post = table_.post(peer, slot_);
  const std::byte* const wanted = posted(peer, slot_) + from;
  fetch_to_read(wanted);
  // Pairs with the release store in publish().
  const uint64_t ready = std::atomic_ref(post.ready).load(std::memory_order_acquire);
  if (has_bytes(ready, round_, end)) return heard_[static_cast<size_t>(peer)] == round_ || hear(peer, post);
  blocked_on_ = peer;
  seen_ = ready;
  wanted_ = wanted;
  return false;
}

bool ShmPull::hear(int peer, const Mailbox& post) {
  if (!(post.signature() == *signature_) || post.history != history_) [[unlikely]] {
    refuse(peer, post);
    return false;
  }
  heard_[static_cast<size_t>(peer)] = round_;
  // The peer has begun this round, so it has completed the previous ones.
  uint64_t& done = done_[static_cast<size_t>(peer)];
  done = std::max(done, round_ - 1);
  return true;
}

/// Fails: the peer has posted another call, or has made other calls before this one.
void ShmPull::refuse(int peer, const Mailbox& post) {
  blocked_on_ = peer;
  if (!(post.signature() == *signature_)) {
    failure_ = mismatch(self_, *signature_, peer, post.signature());
    return;
  }
  failure_ = find_disagreement();
  if (failure_.ok())
    failure_ =
        error(ErrorKind::RanksDisagree, "ranks disagree: ranks {} and {} made different calls before {}",
              self_, peer, describe(*signature_));
}

void ShmPull::fold_piece(const PullCall::PullOperand& read, size_t offset, size_t bytes) {
  for (size_t i = 0; i < read.sources; ++i) {
    const PullCall::PullSource source = call_->sources[read.first + i];
    const std::byte* const from = source.rank == self_ ? call_->input : posted(source.rank, slot_);
    operands_[i] = from + source.offset + offset;
  }
  std::byte* out = call_->output + read.offset + offset;
  if (read.is_copy) {
    if (out != operands_[0]) std::memcpy(out, operands_[0], bytes);
    return;
  }
  const std::span<const void* const> operands(operands_.data(), read.sources);
  if (read.kernel == nullptr)
    return fold(call_->type, call_->op, {.out = out, .operands = operands, .bytes = bytes});
  ReduceArgs args = read.whole;
  args.out = out;
  args.sources = operands;
  args.scalar = call_->op.scalar;
  if (bytes != read.bytes) args.count = bytes / call_->type.bytes;
  read.kernel(args);
}

void ShmPull::end_round() {
  // Pairs with the acquire load in is_done_with(): all reads of posts are before it.
  std::atomic_ref(table_.done(self_)).store(round_, std::memory_order_release);
  wake(table_.asleep(self_));
  history_ = hash(history_, *signature_);
}

/// Polls until the awaited peer has posted. Prefetches its data together with its `ready`, not after that has
/// arrived.
void ShmPull::poll_briefly() const {
  if (blocked_on_ < 0 || !has_posted_) return;
  uint64_t& ready = table_.post(blocked_on_, slot_).ready;
  for (int look = 0; look < kBriefPolls; ++look) {
    fetch_to_read(wanted_);
    // Relaxed: advance() loads it again.
    if (std::atomic_ref(ready).load(std::memory_order_relaxed) != seen_) return;
  }
}

Awaited ShmPull::awaited() {
  if (blocked_on_ < 0) return {};
  uint32_t* asleep = &table_.asleep(blocked_on_);
  if (has_posted_) return AwaitedCounter{&table_.post(blocked_on_, slot_).ready, seen_, asleep};
  return AwaitedCounter{&table_.done(blocked_on_), done_[static_cast<size_t>(blocked_on_)], asleep};
}

/// Called before the first wait too, because peers spin for a rank whose CPU they do not know.
void ShmPull::note_cpu() {
  const auto cpu = static_cast<uint32_t>(::sched_getcpu() + 1);
  if (cpu != cpu_) std::atomic_ref(table_.cpu(self_)).store(cpu_ = cpu, std::memory_order_relaxed);
}

/// True if a rank that it waits for last noted the CPU that runs this rank.
bool ShmPull::may_block_others(bool /*oversubscribed*/) {
  if (!has_table_) return true;
  if (blocked_on_ < 0) return false;
  note_cpu();
  const auto is_here = [&](int peer) {
    return std::atomic_ref(table_.cpu(peer)).load(std::memory_order_relaxed) == cpu_;
  };
  if (!has_posted_) return is_here(blocked_on_);
  return std::ranges::any_of(call_->peers, [&](int peer) {
    return is_here(peer) &&
           !is_of(std::atomic_ref(table_.post(peer, slot_).ready).load(std::memory_order_relaxed), round_);
  });
}

/// Checks as many rounds as this rank remembers.
Status ShmPull::find_disagreement() const {
  return find_post([&](uint64_t round, int peer, const Signature& theirs) {
    if (round > round_ || round_ - round >= kRemembered) return Status();
    const Signature& ours = signature_of(round);
    return ours == theirs ? Status() : mismatch(self_, ours, peer, theirs);
  });
}

Status ShmPull::check_nothing_left() const {
  if (!has_table_) return {};
  RONDO_TRY(find_disagreement());
  return find_post([&](uint64_t round, int peer, const Signature& theirs) {
    // Once round numbers wrap around, older posts can look like future rounds.
    return round > round_ && round - round_ < kRemembered ? never_called(peer, self_, theirs) : Status();
  });
}

/// Posts hold the lower half of a round's number, and are never half of its range ahead or behind.
uint64_t ShmPull::whole_round(uint64_t ready) const {
  return round_ + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(
                      static_cast<uint32_t>(ready >> 32) - static_cast<uint32_t>(round_))));
}

/// The first error that `judge` returns for a peer's post.
template <typename Judge>
Status ShmPull::find_post(const Judge& judge) const {
  for (int peer = 0; peer < static_cast<int>(done_.size()); ++peer)
    for (int slot = 0; peer != self_ && slot < MailboxTable::kSlots; ++slot) {
      uint64_t ready = 0;
      if (const auto theirs = table_.post(peer, slot).signature_at_rest(&ready))
        RONDO_TRY(judge(whole_round(ready), peer, *theirs));
    }
  return {};
}

}  // namespace rondo
