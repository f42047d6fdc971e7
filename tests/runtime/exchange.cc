// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"

#include <array>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "bytes.h"
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

/// Whether the trial's op is, for its type and in its collective.
bool is_defined(const Trial& trial) {
  return op_takes(trial.op, trial.type) && (trial.op != RONDO_AVG || averages(trial.kind));
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
  trial.kind = kAllCollectives[draw(kAllCollectives.size())];
  trial.type = static_cast<rondo_type_t>(draw(kTypes));
  do {
    trial.op = static_cast<rondo_op_t>(draw(kOps));
  } while (!is_defined(trial));
  trial.count = draw(4) == 0 ? draw(max_count + 1) : std::min(max_count, kCounts[draw(kCounts.size())]);
  trial.root = static_cast<int>(draw(static_cast<uint64_t>(nranks)));
  trial.varying = traits(trial.kind).has_blocks() && draw(2) == 0;
  trial.in_place = trial.kind != Kind::Barrier && draw(3) == 0;
  trial.shift = draw(2) == 0 ? 0 : draw(17);
  return trial;
}

std::vector<Trial> every_type_and_operation(int nranks) {
  std::vector<Trial> trials;
  for (const Kind kind : kAllCollectives)
    for (rondo_type_t type = 0; type < kTypes; ++type) {
      const auto root = static_cast<int>(mix(static_cast<uint64_t>(type)) % static_cast<uint64_t>(nranks));
      Trial trial{.kind = kind, .count = 37, .type = type, .root = root};
      if (!reduces(kind)) trials.push_back(trial);
      for (trial.op = 0; reduces(kind) && trial.op < kOps; ++trial.op)
        if (is_defined(trial)) trials.push_back(trial);
    }
  return trials;
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
  const CollectiveTraits& kind = traits(trial_.kind);
  const bool at_root = !kind.has_root() || rank_.rank == trial_.root;
  const auto own = static_cast<size_t>(rank_.rank);
  in_place_ = trial_.in_place && (at_root || !kind.has_blocks());
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
  const bool omits = trial_.seed % 2 == 0 && !in_place_;
  if (omits && !kind.reads(rank_.rank, trial_.root)) sendbuf_ = nullptr;
  if (omits && !kind.writes(rank_.rank, trial_.root)) recvbuf_ = nullptr;
  before_.assign(result().bytes().begin(), result().bytes().end());
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

void Exchange::judge_reduction(const BlockResult& from, std::span<const std::byte> got) const {
  std::vector<std::vector<std::byte>> inputs;
  for (int rank = from.first; rank < from.end; ++rank) inputs.push_back(input(rank));
  const size_t begin = send_.offsets[static_cast<size_t>(from.block)] * bytes_;
  std::vector<const std::byte*> operands(inputs.size());
  for (size_t at = 0; at < got.size(); at += bytes_) {
    for (size_t i = 0; i < inputs.size(); ++i) operands[i] = inputs[i].data() + begin + at;
    const std::string fault = judge(trial_.type, trial_.op, operands, got.data() + at);
    if (!fault.empty()) wrong("element " + std::to_string(at / bytes_) + " " + fault);
  }
}

void Exchange::verify() {
  if (rank_.memory != nullptr) bring_home();
  const std::span<const std::byte> got = result().bytes();
  std::vector<std::byte> expected = before_;
  for (size_t block = 0; block < recv_.counts.size(); ++block) {
    const auto from = block_result(trial_.kind, rank_.size, trial_.root, rank_.rank, static_cast<int>(block));
    if (!from || recv_.counts[block] == 0) continue;
    const size_t at = (result_offset_ + recv_.offsets[block]) * bytes_;
    const auto found = got.subspan(at, recv_.counts[block] * bytes_);
    if (reduces(trial_.kind)) {  // several results may be right
      judge_reduction(*from, found);
      std::copy(found.begin(), found.end(), expected.data() + at);
    } else {
      const auto sent = input(from->first);
      const size_t begin = send_table(from->first).offsets[static_cast<size_t>(from->block)] * bytes_;
      std::copy_n(sent.data() + begin, found.size(), expected.data() + at);
    }
  }
  if (!same_bytes(got.data(), expected.data(), expected.size())) {
    const auto differs = std::mismatch(expected.begin(), expected.end(), got.begin()).first;
    wrong("byte " + std::to_string(differs - expected.begin()) + " of the result is wrong");
  }
  if (!input_.guards_intact() || !output_.guards_intact()) wrong("memory beside a buffer was written");
  if (in_input_) return;
  const auto sent = input(rank_.rank);
  if (!same_bytes(sent.data(), input_.data(), sent.size())) wrong("the input was changed");
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
