#include "exec/exchange.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/cache_line.h"
#include "exec/fold.h"

namespace rondo {
namespace {

constexpr size_t kPieceBytes = 4096;
constexpr int kLinger = 64;  // looks

/// In the lower half of Post::ready, so that no post looks like one that never was.
constexpr uint64_t kPosted = uint64_t{1} << 31;

uint64_t ready_word(uint64_t round, size_t bytes) { return round << 32 | kPosted | bytes; }
bool has_bytes(uint64_t ready, uint64_t round, size_t bytes) {
  return ready >> 32 == (round & UINT32_MAX) && (ready & kPosted) != 0 && (ready & (kPosted - 1)) >= bytes;
}

uint64_t hash(uint64_t before, const Signature& signature) {
  uint64_t value = before;
  for (const uint64_t word : std::bit_cast<std::array<uint64_t, 5>>(signature)) {
    value = (value ^ word) * 0x9e3779b97f4a7c15u;
    value ^= value >> 32;
  }
  return value;
}

int mutual_slot(uint64_t round) { return static_cast<int>(round % PostTable::kMutualSlots); }
int short_slot(uint64_t round) {
  return PostTable::kFirstShort + static_cast<int>(round % PostTable::kShortSlots);
}

size_t input_bytes(const BufferLayout& input) {
  size_t bytes = 0;
  for (int chunk = 0; chunk < input.chunks; ++chunk) bytes += input.piece(0, chunk).bytes;
  return bytes;
}

/// Where posts of so many bytes have them.
ExchangeCall::Place place_of(size_t bytes) {
  if (bytes <= Post::kHeadBytes) return ExchangeCall::Place::Head;
  return bytes <= Post::kBriefBytes ? ExchangeCall::Place::Brief : ExchangeCall::Place::Bulk;
}

/// In whole elements.
size_t piece_of(size_t element_bytes) {
  return std::max(element_bytes, kPieceBytes - kPieceBytes % element_bytes);
}

}  // namespace

/// All ranks' buffers are laid out alike. From the second round on a rank posts a chunk of its Output.
ExchangeCall::ExchangeCall(const Rounds& plan, const Binding& binding, int rank, size_t round)
    : posts(plan.all[round].posts),
      mutual(plan.all[round].mutual),
      piece_bytes(piece_of(binding.layout.input.element_bytes)),
      type(binding.type),
      op(binding.op),
      scales(round == 0 && binding.reduces && binding.op.scales_input) {
  const Round& planned_round = plan.all[round];
  const BufferLayout& out_layout = binding.layout.output;
  const bool first = round == 0;
  posted_bytes = first ? input_bytes(binding.layout.input) : out_layout.piece(0, planned_round.posted).bytes;
  // All ranks look for one another's posts in the same place; no part is longer than the first.
  place = place_of(first ? posted_bytes : out_layout.piece(0, 0).bytes);
  const bool averages = op.built_in == Reduction::Avg && op.function == nullptr;
  for (const Round::Read& planned : planned_round.reads) {
    const Piece out = out_layout.piece(0, planned.dst);
    Read read{.offset = out.offset, .bytes = out.bytes, .first = sources.size()};
    for (const Round::Source source : planned.sources) {
      if (source.rank == rank && scales) read.scaled = static_cast<int>(sources.size() - read.first);
      sources.push_back({source.rank, first ? binding.layout.input.piece(0, source.chunk).offset : 0});
    }
    read.sources = sources.size() - read.first;
    if (planned.finish && averages) read.divisor = binding.nranks;
    read.is_copy = read.sources == 1 && read.scaled < 0 && read.divisor == 1;
    reads.push_back(read);
  }
  if (round + 1 == plan.all.size()) return;
  next = std::make_unique<ExchangeCall>(plan, binding, rank, round + 1);
  next_posts = out_layout.piece(0, plan.all[round + 1].posted).offset;
}

void ExchangeCall::use(const void* send, void* recv, const Signature& of) {
  input = static_cast<const std::byte*>(send);
  output = static_cast<std::byte*>(recv);
  signature = of;
  if (next) next->use(output + next_posts, output, of);
}

Exchange::Exchange(PostTable table, int rank, int nranks)
    : table_(table),
      self_(rank),
      done_(static_cast<size_t>(nranks)),
      heard_(static_cast<size_t>(nranks)),
      operands_(static_cast<size_t>(nranks)) {
  table_.touch_posts();
  note_cpu();
}

void Exchange::begin(const ExchangeCall& call) {
  call_ = &call;
  signature_of(++round_) = call.signature;
  slot_ = next_slot(call);
  has_posted_ = !call.posts;
  read_ = 0;
  offset_ = 0;
  failure_ = Status();
}

/// All ranks choose alike.
int Exchange::next_slot(const ExchangeCall& call) {
  if (call.mutual) return mutual_slot(mutual_rounds_++);
  if (call.posted_bytes > PostTable::kShortBytes)
    return PostTable::kFirstLong + static_cast<int>(long_rounds_++ % PostTable::kLongSlots);
  return short_slot(short_rounds_++);
}

Progress Exchange::advance() {
  bool moved = false;
  blocked_on_ = -1;
  if (!has_posted_) {
    if (!may_post()) return Progress::Stuck;
    post();
    moved = has_posted_ = true;
  }
  while (read_ < call_->reads.size()) {
    if (!read_next()) return !failure_.ok() ? Progress::Failed : moved ? Progress::Moved : Progress::Stuck;
    moved = true;
  }
  end_round();
  if (call_->next == nullptr) return Progress::Done;
  begin(*call_->next);
  return Progress::Moved;
}

/// Whether everybody is done with what this rank posted in the slot before.
bool Exchange::may_post() {
  const uint64_t used = used_[slot_];
  all_done_ = round_;
  for (size_t peer = 0; peer < done_.size(); ++peer) {
    if (done_[peer] < used && !is_done_with(static_cast<int>(peer), used)) return false;
    if (static_cast<int>(peer) != self_) all_done_ = std::min(all_done_, done_[peer]);
  }
  return true;
}

bool Exchange::is_done_with(int peer, uint64_t round) {
  if (peer == self_) return true;
  uint64_t& known = done_[static_cast<size_t>(peer)];
  // Pairs with the release store in end_round(): the slot is not written before it has been read.
  known = std::atomic_ref(table_.done(peer)).load(std::memory_order_acquire);
  if (known >= round) return true;
  blocked_on_ = peer;
  return false;
}

/// Bytes that have lines of their own are written before the line of the number: that one readers ask for
/// again and again, and taken away between two writes it would come back only after a while.
void Exchange::post() {
  Post& post = table_.post(self_, slot_);
  if (call_->place == ExchangeCall::Place::Bulk) touch_bulk();
  std::byte* const to = posted(self_, slot_);
  size_t offset = 0;
  do {
    const size_t bytes = std::min(call_->piece_bytes, call_->posted_bytes - offset);
    put(to + offset, offset, bytes);
    if (offset == 0) {
      post.write(call_->signature);
      post.history = history_;
    }
    offset += bytes;
    // Pairs with the acquire load in has_arrived(): who sees the number sees the Signature and the bytes.
    std::atomic_ref(post.ready).store(ready_word(round_, offset), std::memory_order_release);
    rouse(table_.asleep(self_));
  } while (offset < call_->posted_bytes);
  used_[slot_] = round_;
  if (slot_ < PostTable::kFirstShort) return;
  if (const int next = short_slot(short_rounds_); used_[next] <= all_done_) fetch_to_post(next);
}

/// What this rank writes in the next call, if it is like this one. Peers have these lines, and to wait for
/// them only when they are written takes longer than the call.
void Exchange::fetch_to_post(int slot) const {
  constexpr size_t kMostFetched = 512;
  fetch_to_write(&table_.post(self_, slot));
  if (call_->place == ExchangeCall::Place::Head || call_->posted_bytes > kMostFetched) return;
  const std::byte* const to = posted(self_, slot);
  for (size_t at = 0; at < call_->posted_bytes; at += kLineBytes) fetch_to_write(to + at);
}

/// Where the rank posts what it posts in calls like this one.
std::byte* Exchange::posted(int rank, int slot) const {
  switch (call_->place) {
    case ExchangeCall::Place::Head: return table_.post(rank, slot).head.data();
    case ExchangeCall::Place::Brief: return table_.post(rank, slot).brief.data();
    case ExchangeCall::Place::Bulk: break;
  }
  return table_.bulk(rank, slot);
}

/// A rank that runs ahead goes through all slots of a kind, so all of them are brought into memory at once.
void Exchange::touch_bulk() {
  if (slot_ >= PostTable::kFirstShort)
    touch(PostTable::kFirstShort, PostTable::kSlots, PostTable::kShortBytes, touched_short_bytes_);
  else if (slot_ >= PostTable::kFirstLong)
    touch(PostTable::kFirstLong, PostTable::kFirstShort, call_->posted_bytes, touched_long_bytes_);
}

void Exchange::touch(int first, int end, size_t bytes, size_t& touched) {
  if (bytes <= touched) return;
  table_.touch_bulk(self_, first, end, touched, bytes);
  touched = bytes;
}

void Exchange::put(std::byte* to, size_t offset, size_t bytes) const {
  const void* from = call_->input + offset;
  if (call_->scales)
    fold(call_->type, call_->op, {.out = to, .operands = {&from, 1}, .bytes = bytes, .scaled = 0});
  else if (bytes != 0)
    std::memcpy(to, from, bytes);
}

/// Folds the next piece; false where it has not arrived, or is of another call.
bool Exchange::read_next() {
  const ExchangeCall::Read& read = call_->reads[read_];
  const size_t bytes = std::min(call_->piece_bytes, read.bytes - offset_);
  for (size_t i = read.first; i < read.first + read.sources; ++i) {
    const ExchangeCall::Source source = call_->sources[i];
    if (source.rank != self_ && !has_arrived(source, bytes)) return false;
  }
  // Everybody has been heard then, so everybody is done with the slot before this one.
  const bool is_last = read_ + 1 == call_->reads.size() && offset_ + bytes == read.bytes;
  if (call_->mutual && is_last) fetch_to_post(mutual_slot(mutual_rounds_));
  if (bytes != 0) fold_piece(read, offset_, bytes);
  offset_ += bytes;
  if (offset_ < read.bytes) return true;
  ++read_;
  offset_ = 0;
  return true;
}

/// Whether the peer has posted so many bytes of what is read now. Those are asked for at the same time as its
/// number, and not after that has come.
bool Exchange::has_arrived(const ExchangeCall::Source& source, size_t bytes) {
  const int peer = source.rank;
  Post& post = table_.post(peer, slot_);
  const size_t start = source.offset + offset_;
  const std::byte* const wanted = posted(peer, slot_) + start;
  fetch_to_read(wanted);
  // Pairs with the release store in post().
  const uint64_t ready = std::atomic_ref(post.ready).load(std::memory_order_acquire);
  if (has_bytes(ready, round_, bytes == 0 ? 0 : start + bytes))
    return heard_[static_cast<size_t>(peer)] == round_ || hear(peer, post);
  blocked_on_ = peer;
  seen_ = ready;
  wanted_ = wanted;
  return false;
}

bool Exchange::hear(int peer, const Post& post) {
  if (!(post.signature() == call_->signature)) {
    blocked_on_ = peer;
    failure_ = mismatch(self_, call_->signature, peer, post.signature());
    return false;
  }
  if (post.history != history_) {
    blocked_on_ = peer;
    failure_ = find_disagreement();
    if (failure_.ok())
      failure_ = error(Code::Mismatch, "ranks disagree: ranks {} and {} made different calls before {}",
                       self_, peer, describe(call_->signature));
    return false;
  }
  heard_[static_cast<size_t>(peer)] = round_;
  // It has begun this round, so it has ended those before.
  uint64_t& done = done_[static_cast<size_t>(peer)];
  done = std::max(done, round_ - 1);
  return true;
}

void Exchange::fold_piece(const ExchangeCall::Read& read, size_t offset, size_t bytes) {
  for (size_t i = 0; i < read.sources; ++i) {
    const ExchangeCall::Source source = call_->sources[read.first + i];
    const std::byte* const from = source.rank == self_ ? call_->input : posted(source.rank, slot_);
    operands_[i] = from + source.offset + offset;
  }
  std::byte* out = call_->output + read.offset + offset;
  if (read.is_copy) {
    if (out != operands_[0]) std::memcpy(out, operands_[0], bytes);
    return;
  }
  fold(call_->type, call_->op,
       {.out = out,
        .operands = {operands_.data(), read.sources},
        .bytes = bytes,
        .scaled = read.scaled,
        .divisor = read.divisor});
}

void Exchange::end_round() {
  // Pairs with the acquire load in is_done_with(): all reads of posts come before.
  std::atomic_ref(table_.done(self_)).store(round_, std::memory_order_release);
  rouse(table_.asleep(self_));
  history_ = hash(history_, call_->signature);
}

/// Until the peer that it waits for has posted something. What it posts is asked for at the same time, and
/// not after its number has come.
void Exchange::linger() const {
  if (blocked_on_ < 0 || !has_posted_) return;
  uint64_t& ready = table_.post(blocked_on_, slot_).ready;
  for (int look = 0; look < kLinger; ++look) {
    fetch_to_read(wanted_);
    // Relaxed: advance() looks again.
    if (std::atomic_ref(ready).load(std::memory_order_relaxed) != seen_) return;
  }
}

Awaited Exchange::awaited() {
  if (blocked_on_ < 0) return {};
  uint32_t* asleep = &table_.asleep(blocked_on_);
  if (has_posted_) return AwaitedCounter{&table_.post(blocked_on_, slot_).ready, seen_, asleep};
  return AwaitedCounter{&table_.done(blocked_on_), done_[static_cast<size_t>(blocked_on_)], asleep};
}

/// Others spin for a rank that they have not heard of, so this is not left to the first wait.
void Exchange::note_cpu() {
  const auto cpu = static_cast<uint32_t>(::sched_getcpu() + 1);
  if (cpu != cpu_) std::atomic_ref(table_.cpu(self_)).store(cpu_ = cpu, std::memory_order_relaxed);
}

/// It may do so where one that it waits for was last seen on the CPU that runs this rank.
bool Exchange::may_block_others(bool /*crowded*/) {
  if (blocked_on_ < 0) return false;
  note_cpu();
  const auto is_here = [&](int peer) {
    return std::atomic_ref(table_.cpu(peer)).load(std::memory_order_relaxed) == cpu_;
  };
  if (!has_posted_) return is_here(blocked_on_);
  const auto left = call_->sources.begin() + static_cast<std::ptrdiff_t>(call_->reads[read_].first);
  return std::any_of(left, call_->sources.end(), [&](const ExchangeCall::Source& source) {
    return source.rank != self_ && is_here(source.rank) &&
           std::atomic_ref(table_.post(source.rank, slot_).ready).load(std::memory_order_relaxed) >> 32 !=
               (round_ & UINT32_MAX);
  });
}

/// As far back as this rank remembers.
Status Exchange::find_disagreement() const {
  return find_post([&](uint64_t round, int peer, const Signature& theirs) {
    if (round > round_ || round_ - round >= kRemembered) return Status();
    const Signature& ours = signature_of(round);
    return ours == theirs ? Status() : mismatch(self_, ours, peer, theirs);
  });
}

Status Exchange::check_nothing_left() const {
  RONDO_TRY(find_disagreement());
  return find_post([&](uint64_t round, int peer, const Signature& theirs) {
    // Older ones can look like rounds to come, after so many that numbers begin again.
    return round > round_ && round - round_ < kRemembered ? never_called(peer, self_, theirs) : Status();
  });
}

/// Posts have the lower half of a round's number, and are never half of all numbers apart.
uint64_t Exchange::whole_round(uint64_t ready) const {
  return round_ + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(
                      static_cast<uint32_t>(ready >> 32) - static_cast<uint32_t>(round_))));
}

/// The first error that `judge` has of a peer's post.
template <typename Judge>
Status Exchange::find_post(const Judge& judge) const {
  for (int peer = 0; peer < static_cast<int>(done_.size()); ++peer)
    for (int slot = 0; peer != self_ && slot < PostTable::kSlots; ++slot) {
      uint64_t ready = 0;
      if (const auto theirs = table_.post(peer, slot).signature_at_rest(&ready))
        RONDO_TRY(judge(whole_round(ready), peer, *theirs));
    }
  return {};
}

}  // namespace rondo
