// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"

#include <array>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "oracle.h"
#include "seed.h"

namespace rondo::test {
namespace {

/// Places the blocks with gaps between them, in ascending or descending order of rank.
void scatter_blocks(BlockTable& table, uint64_t seed) {
  table.packed = false;
  size_t at = seed % 3;
  const size_t n = table.counts.size();
  for (size_t i = 0; i < n; ++i) {
    const size_t block = seed % 2 == 0 ? i : n - 1 - i;
    table.offsets[block] = at;
    at += table.counts[block] + mix(seed, i) % 3;
  }
}

}  // namespace

std::string Trial::text() const {
  std::ostringstream text;
  text << collective_name(kind) << (varying ? "_v" : "") << "(count=" << count << ", ";
  if (type_bytes != 0)
    text << type_bytes << " bytes";
  else
    text << type_name(type);
  if (reduces(kind)) text << ", " << op_name(op);
  if (has_root(kind)) text << ", root=" << root;
  if (in_place) text << ", in place";
  text << ", " << shift << " bytes off, seed=" << seed << ")";
  return text.str();
}

Trial random_trial(uint64_t usual_seed, int nranks, size_t max_count) {
  const uint64_t seed = test_seed(usual_seed);
  constexpr std::array<size_t, 12> kCounts{0, 1, 2, 3, 5, 7, 13, 31, 64, 97, 127, 251};
  uint64_t drawn = 0;
  const auto draw = [&](uint64_t below) { return mix(seed, 77, ++drawn) % below; };
  Trial trial;
  trial.seed = seed;
  trial.kind = static_cast<Kind>(draw(kKinds));
  trial.type = static_cast<rondo_type_t>(draw(kTypes));
  do {
    trial.op = static_cast<rondo_op_t>(draw(kOps));
  } while (!op_takes(trial.op, trial.type) ||
           (trial.op == RONDO_AVG && (trial.kind == Kind::Scan || trial.kind == Kind::Exscan)));
  trial.count = draw(4) == 0 ? draw(max_count + 1) : std::min(max_count, kCounts[draw(kCounts.size())]);
  trial.root = static_cast<int>(draw(static_cast<uint64_t>(nranks)));
  trial.varying = traits(trial.kind).has_blocks() && draw(2) == 0;
  trial.in_place = trial.kind != Kind::Barrier && draw(3) == 0;
  trial.shift = draw(2) == 0 ? 0 : draw(17);
  return trial;
}

size_t BlockTable::extent() const {
  size_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) end = std::max(end, offsets[i] + counts[i]);
  return end;
}

Exchange::Exchange(const Rank& rank, const Trial& trial)
    : rank_(rank),
      trial_(trial),
      bytes_(trial.type_bytes != 0 ? trial.type_bytes : type_bytes(trial.type)),
      send_(send_table(rank.rank)),
      recv_(recv_table(rank.rank)) {
  place_buffers();
  if (rank_.memory != nullptr) send_abroad();
}

/// Copies the buffers to the memory that the call uses.
void Exchange::send_abroad() {
  const auto move = [this](Guarded& home, std::shared_ptr<std::byte>& abroad, auto*& pointer) {
    const auto all = home.memory();
    const bool points_here = pointer >= all.data() && pointer < all.data() + all.size();
    if (abroad == nullptr) {
      abroad = rank_.memory->allocate(all.size());
      rank_.memory->copy(abroad.get(), all.data(), all.size());
    }
    if (points_here) pointer = abroad.get() + (pointer - all.data());
  };
  move(input_, foreign_input_, sendbuf_);
  move(output_, foreign_output_, sendbuf_);
  move(input_, foreign_input_, recvbuf_);
  move(output_, foreign_output_, recvbuf_);
}

void Exchange::bring_home() {
  rank_.memory->copy(input_.memory().data(), foreign_input_.get(), input_.memory().size());
  rank_.memory->copy(output_.memory().data(), foreign_output_.get(), output_.memory().size());
}

/// Number of elements that `source` sends to `destination`.
size_t Exchange::length(int source, int destination) const {
  if (trial_.kind == Kind::Barrier) return 0;
  if (!trial_.varying) return trial_.count;
  const int of = receives_blocks() ? source : destination;
  if (trial_.kind == Kind::AllToAll && trial_.in_place && source > destination)
    return length(destination, source);  // in place, a block is replaced by one of the same length
  const uint64_t pair = trial_.kind == Kind::AllToAll ? static_cast<uint64_t>(destination) + 1 : 0;
  const uint64_t random = mix(trial_.seed, 1000 + static_cast<uint64_t>(of), pair);
  return random % 4 == 0 ? 0 : (random >> 2) % (trial_.count + 1);
}

BlockTable Exchange::table(int rank, bool sends) const {
  const bool many = sends ? sends_blocks() : receives_blocks();
  BlockTable made;
  for (int peer = 0; peer < (many ? rank_.size : 1); ++peer)
    made.counts.push_back(!many ? length(rank, rank) : sends ? length(rank, peer) : length(peer, rank));
  size_t at = 0;
  for (const size_t count : made.counts) {
    made.offsets.push_back(at);
    at += count;
  }
  const bool as_sent = sends || (trial_.kind == Kind::AllToAll && trial_.in_place);
  const uint64_t salt = mix(trial_.seed, as_sent ? 5 : 6, static_cast<uint64_t>(rank));
  const bool may_have_gaps = many && trial_.varying && trial_.kind != Kind::ReduceScatter;
  if (may_have_gaps && salt % 3 != 0) scatter_blocks(made, salt / 3);
  return made;
}

BlockTable Exchange::send_table(int rank) const { return table(rank, true); }
BlockTable Exchange::recv_table(int rank) const { return table(rank, false); }

std::vector<std::byte> Exchange::input(int rank) const {
  const size_t elements = send_table(rank).extent();
  if (reduces(trial_.kind) && trial_.type_bytes == 0)
    return random_operands(trial_.type, trial_.op, trial_.seed, rank, elements);
  return random_bytes(trial_.seed, rank, elements * bytes_);
}

void Exchange::place_buffers() {
  const bool at_root = !has_root(trial_.kind) || rank_.rank == trial_.root;
  const bool blocks = traits(trial_.kind).has_blocks();
  const auto own = static_cast<size_t>(rank_.rank);
  in_place_ = trial_.in_place && (at_root || !blocks);
  in_input_ = in_place_ && sends_blocks();
  input_ = Guarded(send_.extent() * bytes_, trial_.shift);
  input_.fill(input(rank_.rank));
  output_ = Guarded(recv_.extent() * bytes_, trial_.shift / 2);
  sendbuf_ = input_.data();
  recvbuf_ = output_.data();
  if (in_input_) {
    result_offset_ = receives_blocks() ? 0 : send_.offsets[own];
    recvbuf_ = input_.data() + result_offset_ * bytes_;
  } else if (in_place_) {
    const size_t offset = receives_blocks() ? recv_.offsets[own] * bytes_ : 0;
    if (input_.size() != 0) output_.fill(input_.bytes(), offset);
    sendbuf_ = output_.data() + offset;
  }
  const bool spare = trial_.seed % 2 == 0 && !at_root && !in_place_;  // non-root ranks may omit one buffer
  if (spare && (trial_.kind == Kind::Broadcast || trial_.kind == Kind::Scatter)) sendbuf_ = nullptr;
  if (spare && (trial_.kind == Kind::Reduce || trial_.kind == Kind::Gather)) recvbuf_ = nullptr;
  const Guarded& result = in_input_ ? input_ : output_;
  before_.assign(result.bytes().begin(), result.bytes().end());
}

rondo_status_t Exchange::start(rondo_stream_t stream) {
  CollectiveCall call{trial_.kind, sendbuf_,  recvbuf_,    trial_.count,
                      trial_.type, trial_.op, trial_.root, trial_.varying};
  if (trial_.varying) call.count = (sends_blocks() ? recv_ : send_).counts[0];
  if (!has_root(trial_.kind) || rank_.rank == trial_.root) {
    call.send_counts = send_.counts.data();
    call.send_offsets = send_.packed ? nullptr : send_.offsets.data();
    call.recv_counts = recv_.counts.data();
    call.recv_offsets = recv_.packed ? nullptr : recv_.offsets.data();
  }
  return make_call(call, rank_.comm, stream);
}

void Exchange::wrong(const std::string& what) const {
  throw std::runtime_error(trial_.text() + " at rank " + std::to_string(rank_.rank) + " of " +
                           std::to_string(rank_.size) + ": " + what);
}

/// The buffer's expected content after the call, if the collective only moves elements.
std::vector<std::byte> Exchange::expected_moves(std::vector<std::byte> content) const {
  const auto put = [&](int source, size_t from, size_t count, size_t to) {
    const auto sent = input(source);
    if (count != 0) std::memcpy(content.data() + to * bytes_, sent.data() + from * bytes_, count * bytes_);
  };
  const auto me = static_cast<size_t>(rank_.rank);
  if (trial_.kind == Kind::Broadcast) put(trial_.root, 0, trial_.count, 0);
  if (trial_.kind == Kind::Scatter)
    put(trial_.root, send_table(trial_.root).offsets[me], length(trial_.root, rank_.rank), result_offset_);
  if (trial_.kind == Kind::Gather && rank_.rank != trial_.root) return content;
  if (!receives_blocks()) return content;
  for (int source = 0; source < rank_.size; ++source) {
    const auto s = static_cast<size_t>(source);
    const size_t from = trial_.kind == Kind::AllToAll ? send_table(source).offsets[me] : 0;
    put(source, from, recv_.counts[s], recv_.offsets[s]);
  }
  return content;
}

size_t Exchange::first_operand() const {
  return trial_.kind == Kind::ReduceScatter ? send_.offsets[static_cast<size_t>(rank_.rank)] : 0;
}

/// Number of result elements on this rank.
size_t Exchange::results() const {
  if (trial_.kind == Kind::Reduce && rank_.rank != trial_.root) return 0;
  if (trial_.kind == Kind::Exscan && rank_.rank == 0) return 0;
  return recv_.counts[0];
}

/// Number of ranks, counted from rank 0, that contribute to this rank's result.
int Exchange::operands() const {
  if (trial_.kind == Kind::Scan) return rank_.rank + 1;
  if (trial_.kind == Kind::Exscan) return rank_.rank;
  return rank_.size;
}

void Exchange::judge_reduction(std::span<const std::byte> got) const {
  std::vector<std::vector<std::byte>> inputs;
  for (int rank = 0; rank < operands(); ++rank) inputs.push_back(input(rank));
  std::vector<const std::byte*> elements(inputs.size());
  for (size_t i = 0; i < results(); ++i) {
    for (size_t rank = 0; rank < inputs.size(); ++rank)
      elements[rank] = inputs[rank].data() + (first_operand() + i) * bytes_;
    const std::string fault =
        judge(trial_.type, trial_.op, elements, got.data() + (result_offset_ + i) * bytes_);
    if (!fault.empty()) wrong("element " + std::to_string(i) + " " + fault);
  }
}

void Exchange::verify() {
  if (rank_.memory != nullptr) bring_home();
  const Guarded& result = in_input_ ? input_ : output_;
  std::vector<std::byte> expected = expected_moves(before_);
  if (reduces(trial_.kind) && trial_.type_bytes == 0 && results() != 0) {
    judge_reduction(result.bytes());
    const size_t at = result_offset_ * bytes_;
    std::memcpy(expected.data() + at, result.data() + at, results() * bytes_);
  }
  for (size_t i = 0; i < expected.size(); ++i)
    if (result.bytes()[i] != expected[i]) wrong("byte " + std::to_string(i) + " of the result is wrong");
  if (!input_.guards_intact() || !output_.guards_intact()) wrong("memory beside a buffer was written");
  if (in_input_) return;
  const auto sent = input(rank_.rank);
  if (!std::equal(sent.begin(), sent.end(), input_.data())) wrong("the input was changed");
}

void run_trial(const Rank& rank, const Trial& trial) {
  Exchange exchange(rank, trial);
  const rondo_status_t status = exchange.start();
  if (status != RONDO_OK)
    throw std::runtime_error(trial.text() + ": " + rondo_status_string(status) + ": " +
                             rondo_last_error(rank.comm));
  exchange.verify();
}

}  // namespace rondo::test
