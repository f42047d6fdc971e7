// SPDX-License-Identifier: Apache-2.0
#include "synthesis/msccl_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error_kinds.h"
#include "formats/msccl_xml.h"

namespace rondo {
namespace {

constexpr int kMaxCount = 71;  // chunks of a step, in MSCCL's runtime
constexpr int kNone = -1;

MscclBuffer buffer_of(Ref at) {
  switch (at.buffer) {
    case Buffer::Output: return MscclBuffer::Output;
    case Buffer::Scratch: return MscclBuffer::Scratch;
    case Buffer::Input:
    case Buffer::None: break;
  }
  return MscclBuffer::Input;
}

bool overlap(Ref a, Ref b, int count) {
  return a.buffer == b.buffer && a.chunk < b.chunk + count && b.chunk < a.chunk + count;
}
bool is_same(Ref a, Ref b) { return a.buffer == b.buffer && a.chunk == b.chunk; }

/// The thread blocks of one lane. A block takes one connection in, one out, or one of each.
class LaneBlocks {
 public:
  LaneBlocks(const Schedule& schedule, const Lane& lane, MscclGpu& gpu) : gpu_(gpu) {
    std::set<int> receivers, senders;
    for (const Step& step : lane.steps) {
      for (const int peer : set_of(schedule, step.send_set)) receivers.insert(peer);
      for (const int peer : set_of(schedule, step.recv_set))
        if (schedule.is_peer(peer)) senders.insert(peer);
      pair_ends(schedule, step);
    }
    for (const auto& [from, to] : pairs_) add(lane.port, from, to);
    for (const int from : senders)
      if (!in_.contains(from)) add(lane.port, from, kNone);
    for (const int to : receivers)
      if (!out_.contains(to)) add(lane.port, kNone, to);
    if (in_.empty() && out_.empty()) latest_ = new_block(lane.port, kNone, kNone);
  }

  int receiving(int peer) const { return in_.at(peer); }
  int sending(int peer) const { return out_.at(peer); }
  /// Whether one block receives from the first and sends to the second.
  bool are_paired(int from, int to) const { return in_.at(from) == out_.at(to); }
  /// The block of the latest step: steps within the GPU go there too.
  int latest() const { return latest_; }
  void set_latest(int block) { latest_ = block; }

 private:
  static const std::vector<int>& set_of(const Schedule& schedule, uint16_t set) {
    static const std::vector<int> none;
    return set == Step::kNone ? none : schedule.peer_sets[set];
  }

  /// A Step that receives and sends joins the last of its senders and the first of its receivers that are
  /// free.
  void pair_ends(const Schedule& schedule, const Step& step) {
    if (!step.has(kRecv) || !step.has(kSend)) return;
    int from = kNone;
    for (const int peer : set_of(schedule, step.recv_set))
      if (schedule.is_peer(peer)) from = peer;
    if (from == kNone || pairs_.contains(from)) return;
    for (const int to : set_of(schedule, step.send_set))
      if (paired_receivers_.insert(to).second) {
        pairs_[from] = to;
        return;
      }
  }
  void add(int port, int from, int to) {
    const int block = new_block(port, from, to);
    if (from != kNone) in_[from] = block;
    if (to != kNone) out_[to] = block;
    if (latest_ == kNone) latest_ = block;
  }
  int new_block(int port, int from, int to) {
    gpu_.blocks.push_back({.send = to, .recv = from, .channel = port, .steps = {}});
    return static_cast<int>(gpu_.blocks.size()) - 1;
  }

  MscclGpu& gpu_;
  std::map<int, int> pairs_;  // by sender: receiver
  std::set<int> paired_receivers_;
  std::map<int, int> in_, out_;  // by peer: block
  int latest_ = kNone;
};

/// The steps of one GPU.
class GpuWriter {
 public:
  explicit GpuWriter(const Schedule& schedule) : schedule_(schedule) {
    gpu_.scratch_chunks = schedule.scratch_chunks;
  }

  Result<MscclGpu> write() {
    for (size_t lane = 0; lane != schedule_.lanes.size(); ++lane) {
      const Lane& at = schedule_.lanes[lane];
      if (at.steps.empty()) continue;
      LaneBlocks blocks(schedule_, at, gpu_);
      blocks_ = &blocks;
      previous_.reset();
      spare_ = kNone;
      for (size_t i = 0; i != at.steps.size(); ++i) {
        RONDO_TRY(check(static_cast<int>(lane), static_cast<int>(i), at.steps[i]));
        step_ = &at.steps[i];
        is_waiting_ = step_->wait_lane != Step::kNone;
        write_step();
        ends_[{static_cast<int>(lane), static_cast<int>(i)}] = *previous_;
      }
    }
    for (const auto& [waiting, awaited] : waits_) {
      set_wait(at(waiting), ends_.at(awaited));
    }
    return std::move(gpu_);
  }

 private:
  using Place = std::pair<int, int>;  // block and step

  MscclStep& at(Place place) {
    return gpu_.blocks[static_cast<size_t>(place.first)].steps[static_cast<size_t>(place.second)];
  }

  static void set_wait(MscclStep& step, Place awaited) {
    step.wait_block = static_cast<uint16_t>(awaited.first);
    step.wait_step = static_cast<uint16_t>(awaited.second);
  }

  Status check(int lane, int number, const Step& step) const {
    const auto refuse = [&](const std::string& why) {
      return error(ErrorKind::FormatCannot, "rank {} lane {} step {} ({}) {}", schedule_.rank, lane, number,
                   to_string(schedule_, step), why);
    };
    if (step.has(kBefore)) return refuse("waits for the tile before, which MSCCL's programs cannot");
    if (step.count > kMaxCount)
      return refuse(fmt::format("moves {} chunks: MSCCL's steps move at most {}", step.count, kMaxCount));
    return {};
  }

  Ref source() const { return {step_->src(), step_->src_chunk}; }
  Ref destination() const { return step_->has(kCopy) ? Ref{step_->dst(), step_->dst_chunk} : Ref{}; }
  std::vector<int> receivers() const {
    return step_->has(kSend) ? schedule_.peer_sets[step_->send_set] : std::vector<int>();
  }

  void write_step() {
    if (step_->has(kReduce)) return write_fold();
    if (step_->has(kRecv)) return write_receive();
    const bool is_copied = step_->has(kCopy) && !is_same(source(), destination());
    send_all(receivers(), source());
    if (is_copied) put(blocks_->latest(), "cpy", source(), destination());
    if (!step_->has(kSend) && !is_copied) put(blocks_->latest(), "nop", {}, {});
  }

  void write_receive() {
    const int from = schedule_.peer_sets[step_->recv_set][0];
    std::vector<int> to = receivers();
    const auto paired = std::ranges::find_if(to, [&](int peer) { return blocks_->are_paired(from, peer); });
    const bool passes_on = paired != to.end();
    put(blocks_->receiving(from), passes_on ? "rcs" : "r", destination(), destination());
    if (passes_on) to.erase(paired);
    send_all(to, destination());
  }

  /// The operands that are here, the own one first, since in a call in place it may be overwritten by the
  /// result; and the ranks that send the others.
  void sort_operands(std::vector<Ref>& here, std::vector<int>& peers) const {
    for (const int member : schedule_.peer_sets[step_->recv_set]) {
      if (is_scratch_operand(member))
        here.push_back(scratch(chunk_of_operand(member)));
      else if (member == schedule_.rank)
        here.insert(here.begin(), source());
      else
        peers.push_back(member);
    }
  }

  /// One operand after the other, into the destination or, if that is itself an operand or there is none, a
  /// place of Scratch; the last message may go on at once.
  void write_fold() {
    std::vector<Ref> here;
    std::vector<int> peers, to = receivers();
    sort_operands(here, peers);
    const auto paired = std::ranges::find_if(
        to, [&](int peer) { return !peers.empty() && blocks_->are_paired(peers.back(), peer); });
    const bool last_goes_on = paired != to.end() && (peers.size() > 1 || here.size() == 1);
    if (last_goes_on) to.erase(paired);
    const bool is_kept = step_->has(kCopy) || !to.empty();
    const bool is_spared = !step_->has(kCopy) || is_clobbered(here);
    const bool needs_place = is_kept || peers.size() + here.size() > 2;
    const Ref sum = !is_spared ? destination() : needs_place ? spare() : Ref{};
    Ref so_far = write_start(here, peers, sum);
    const char* const last = is_kept ? "rrcs" : "rrs";
    for (size_t i = 0; i != peers.size(); ++i) {
      const bool is_last = i + 1 == peers.size();
      put(blocks_->receiving(peers[i]), is_last && last_goes_on ? last : "rrc", so_far,
          is_last && last_goes_on && !is_kept ? so_far : sum);
      so_far = sum;
      // The others that are here come after the first message, into which the first of them went.
      for (size_t other = 1; i == 0 && other < here.size(); ++other)
        put(blocks_->latest(), "re", here[other], sum);
    }
    if (step_->has(kCopy) && is_spared) put(blocks_->latest(), "cpy", sum, destination());
    send_all(to, sum);
  }

  /// What the first message is added to: the first operand here, or a message that is received for it.
  Ref write_start(std::vector<Ref>& here, std::vector<int>& peers, Ref sum) {
    if (here.empty()) {
      put(blocks_->receiving(peers[0]), "r", sum, sum);
      peers.erase(peers.begin());
      return sum;
    }
    if (!peers.empty()) return here[0];
    if (!is_same(here[0], sum)) put(blocks_->latest(), "cpy", here[0], sum);
    for (size_t other = 1; other < here.size(); ++other) put(blocks_->latest(), "re", here[other], sum);
    return sum;
  }

  /// Whether the sum would overwrite an operand before its turn.
  bool is_clobbered(const std::vector<Ref>& here) const {
    for (size_t i = 0; i != here.size(); ++i)
      if (overlap(here[i], destination(), step_->count) && (i > 0 || !is_same(here[i], destination())))
        return true;
    return false;
  }

  /// A place for the sums of this lane.
  Ref spare() {
    if (spare_ == kNone) {
      int most = 1;
      for (const Lane& lane : schedule_.lanes)
        for (const Step& step : lane.steps) most = std::max(most, int{step.count});
      spare_ = gpu_.scratch_chunks;
      gpu_.scratch_chunks += most;
    }
    return scratch(spare_);
  }

  void send_all(const std::vector<int>& peers, Ref from) {
    for (const int peer : peers) put(blocks_->sending(peer), "s", from, from);
  }

  /// Appends a step to a block, after the lane's previous one.
  void put(int block, const char* type, Ref src, Ref dst) {
    const bool follows = !previous_ || previous_->first == block;
    const std::optional<Place> before = follows ? std::nullopt : previous_;
    const bool only_waits = type == std::string_view("nop");
    if (before && is_waiting_) append(block, "nop", {}, {}, 0, before);
    append(block, type, src, dst, only_waits ? 0 : step_->count, is_waiting_ ? std::nullopt : before);
    if (std::exchange(is_waiting_, false)) waits_[*previous_] = {step_->wait_lane, step_->wait_step};
  }
  void append(int block, const char* type, Ref src, Ref dst, int count, std::optional<Place> after) {
    MscclStep step = msccl_step(type);
    step.src_buffer = buffer_of(src);
    step.src_chunk = static_cast<uint16_t>(src.chunk);
    step.dst_buffer = buffer_of(dst);
    step.dst_chunk = static_cast<uint16_t>(dst.chunk);
    step.count = static_cast<uint16_t>(count);
    if (after) set_wait(step, *after);
    auto& steps = gpu_.blocks[static_cast<size_t>(block)].steps;
    steps.push_back(step);
    blocks_->set_latest(block);
    previous_ = Place{block, static_cast<int>(steps.size()) - 1};
  }

  const Schedule& schedule_;
  MscclGpu gpu_;
  LaneBlocks* blocks_ = nullptr;   // of the lane that is being written
  std::optional<Place> previous_;  // the lane's latest step
  int spare_ = kNone;              // of the lane
  const Step* step_ = nullptr;     // that is being written
  bool is_waiting_ = false;        // its wait is not written yet
  std::map<Place, Place> waits_;   // what waits, and for which lane and Step
  std::map<Place, Place> ends_;    // by lane and Step: the last step that is written for it
};

Status check(const Shape& shape) {
  if (std::ranges::find(kMscclCollectives, shape.kind) == kMscclCollectives.end())
    return error(ErrorKind::FormatCannot,
                 "MSCCL's files have no {}: expected all_reduce, all_gather, reduce_scatter or all_to_all",
                 collective_name(shape.kind));
  if (shape.nranks < 2)
    return Status(ErrorKind::FormatCannot, "it has one rank: MSCCL's files have at least two");
  if (!shape.commutative)
    return Status(ErrorKind::FormatCannot, "MSCCL's files cannot keep operands in rank order");
  if (shape.varying) return Status(ErrorKind::FormatCannot, "MSCCL's files have blocks of one length");
  return {};
}

}  // namespace

Result<std::string> msccl_text_of(const Shape& shape, const std::vector<Schedule>& ranks, std::string name) {
  RONDO_TRY(check(shape));
  MscclProgram program{.source = name,
                       .name = name,
                       .collective = shape.kind,
                       .parts = ranks.front().chunks.parts,
                       .gpus = {}};
  for (const Schedule& schedule : ranks) {
    RONDO_TRY_ASSIGN(MscclGpu gpu, GpuWriter(schedule).write());
    program.gpus.push_back(std::move(gpu));
  }
  std::string text = msccl_xml(program);
  const Status readable = msccl_program_from_xml(text, std::move(name)).status();
  if (!readable.ok()) return Status(ErrorKind::FormatCannot, readable.message());
  return text;
}

}  // namespace rondo
