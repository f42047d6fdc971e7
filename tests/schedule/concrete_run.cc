// SPDX-License-Identifier: Apache-2.0
#include "concrete_run.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "collective_result.h"

namespace rondo {
namespace {

/// Two-by-two matrices, whose product is associative but not commutative; or four sums.
using Number = std::array<uint64_t, 4>;
using Value = std::vector<Number>;  // a chunk, each of its own length

using Cell = std::tuple<size_t, Buffer, int, int>;  // rank, buffer, tile, chunk

struct Message {
  std::vector<Value> chunks;
  std::vector<Cell> places;   // of the chunks, if they are read where they lie
  bool are_operands = false;  // which is in the Input
};

class ConcreteRun {
 public:
  ConcreteRun(const Shape& shape, const std::vector<Schedule>& ranks, const ConcreteOptions& options)
      : shape_(shape), ranks_(ranks), options_(options), random_(options.seed) {}

  bool right() {
    fill();
    go_on(all_lanes());
    if (broken_) return false;
    for (auto [rank, lane] : all_lanes())
      if (!done(rank, lane)) return false;
    for (const auto& [key, queue] : queues_)
      if (!queue.empty()) return false;
    return results_right();
  }

  /// Whether no rank leaves a barrier that `late` has not entered.
  bool waits_for(size_t late) {
    fill();
    Lanes others = all_lanes();
    std::erase_if(others, [&](const auto& lane) { return lane.first == late; });
    go_on(others);
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto has_left = [](const Position& at) { return at.tile > 0; };
      if (std::all_of(positions_[rank].begin(), positions_[rank].end(), has_left) && rank != late)
        return false;
    }
    return true;
  }

 private:
  using Lanes = std::vector<std::pair<size_t, size_t>>;

  Lanes all_lanes() const {
    Lanes lanes;
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      for (size_t lane = 0; lane < ranks_[rank].lanes.size(); ++lane) lanes.emplace_back(rank, lane);
    return lanes;
  }

  /// Runs these lanes, a few Steps at a time in random order, until none can progress.
  void go_on(Lanes lanes) {
    for (bool moved = true; moved;) {
      moved = false;
      std::shuffle(lanes.begin(), lanes.end(), random_);
      for (auto [rank, lane] : lanes) {
        const int steps = 1 + static_cast<int>(random_() % 4);
        for (int i = 0; i < steps && try_step(rank, lane); ++i) moved = true;
        if (broken_) return;
      }
    }
  }

  struct Position {
    int tile = 0;
    size_t step = 0;
  };

  // Chunks
  // -------------------------------------------------------------------------------------------------------

  int parts(int rank) const { return ranks_[static_cast<size_t>(rank)].chunks.parts; }
  int chunks(size_t rank, Buffer buffer) const {
    const Schedule& schedule = ranks_[rank];
    if (buffer == Buffer::Input) return schedule.chunks.input;
    if (buffer == Buffer::Output) return schedule.chunks.output;
    return buffer == Buffer::Scratch ? schedule.scratch_chunks : 0;
  }

  /// Chunks of the same name have the same length: a name for each part of each block or pair of ranks; one
  /// for all blocks of the plain forms.
  int block_name(int rank, bool input, int block) const {
    const CollectiveTraits& kind = traits(shape_.kind);
    if (!shape_.varying) return 0;
    if (kind.sends != kind.receives) return input == kind.sends_blocks() ? block : rank;
    if (options_.in_place)  // a block replaces one of the same length
      return std::min(rank, block) * 1000 + std::max(rank, block);
    return input ? rank * 1000 + block : block * 1000 + rank;
  }
  int length_name(int rank, bool input, int chunk) const {
    const int parts = this->parts(rank);
    return block_name(rank, input, chunk / parts) * parts + chunk % parts;
  }

  size_t length(int rank, Buffer buffer, int chunk) {
    const Schedule& schedule = ranks_[static_cast<size_t>(rank)];
    const int longest = std::max(schedule.chunks.input, schedule.chunks.output);
    bool input = buffer == Buffer::Input;
    if (buffer == Buffer::Scratch) {
      input = schedule.chunks.input == longest;
      chunk %= longest;
    }
    const int name = length_name(rank, input, chunk);
    const auto [place, fresh] = lengths_.try_emplace(name, 0);
    if (fresh) place->second = 1 + (static_cast<size_t>(name) * 7 + options_.seed) % 5;
    return place->second;
  }

  Cell cell(size_t rank, Buffer buffer, int tile, int chunk) const {
    if (buffer == Buffer::Output && options_.in_place) {
      const int alias =
          InPlace::input_of_output(shape_, static_cast<int>(rank), ranks_[rank].chunks.parts, chunk);
      if (alias >= 0) return {rank, Buffer::Input, tile, alias};
    }
    return {rank, buffer, buffer == Buffer::Scratch ? 0 : tile, chunk};
  }

  Value noise(size_t words) {
    Value value(words);
    for (Number& number : value)
      for (uint64_t& part : number) part = random_() | 1;
    return value;
  }

  void fill() {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      positions_.emplace_back(ranks_[rank].lanes.size());
      for (int tile = 0; tile < options_.tiles; ++tile)
        for (Buffer buffer : {Buffer::Input, Buffer::Output, Buffer::Scratch})
          for (int chunk = 0; chunk < chunks(rank, buffer); ++chunk)
            memory_[cell(rank, buffer, tile, chunk)] = noise(length(static_cast<int>(rank), buffer, chunk));
    }
    given_ = memory_;
  }

  // Arithmetic
  // ---------------------------------------------------------------------------------------------------

  std::optional<Value> combine(const Value& a, const Value& b) const {
    if (a.size() != b.size()) return std::nullopt;
    Value c(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      const Number& x = a[i];
      const Number& y = b[i];
      if (shape_.commutative)
        c[i] = {x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]};
      else
        c[i] = {x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3], x[2] * y[0] + x[3] * y[2],
                x[2] * y[1] + x[3] * y[3]};
    }
    return c;
  }

  static Value map(Value value, uint64_t factor, uint64_t term) {
    for (Number& number : value)
      for (uint64_t& part : number) part = part * factor + term;
    return value;
  }
  static Value finish(const Value& value) { return map(value, 5, 7); }
  Value scale(const Value& value) const { return reduces(shape_.kind) ? map(value, 3, 0) : value; }

  // Steps
  // --------------------------------------------------------------------------------------------------------

  bool done(size_t rank, size_t lane) const {
    return positions_[rank][lane].tile >= options_.tiles || ranks_[rank].lanes[lane].steps.empty();
  }

  std::deque<Message>& queue(size_t from, size_t to, uint16_t port) { return queues_[{from, to, port}]; }

  std::vector<int> peers(size_t rank, uint16_t set) {
    if (set == Step::kNone) return {};
    if (set < ranks_[rank].peer_sets.size()) {
      const auto& found = ranks_[rank].peer_sets[set];
      const auto n = static_cast<int>(ranks_.size());
      if (std::all_of(found.begin(), found.end(), [&](int peer) { return peer < n; })) return found;
    }
    broken_ = true;
    return {};
  }

  static bool is_peer(size_t rank, int member) { return member >= 0 && member != static_cast<int>(rank); }

  bool try_step(size_t rank, size_t lane) {
    if (done(rank, lane)) return false;
    Position& at = positions_[rank][lane];
    const Lane& own = ranks_[rank].lanes[lane];
    const Step& step = own.steps[at.step];
    if (!ready(rank, own.port, at, step) || broken_) return false;
    run(rank, lane, at, step);
    if (++at.step == own.steps.size()) at = {at.tile + 1, 0};
    return true;
  }

  bool ready(size_t rank, uint16_t port, const Position& at, const Step& step) {
    if (step.wait_lane != Step::kNone) {
      if (step.wait_lane >= positions_[rank].size()) return broken_ = true;
      const Position& other = positions_[rank][step.wait_lane];
      const int needed = step.has(kBefore) ? at.tile - 1 : at.tile;
      if (other.tile < needed || (other.tile == needed && other.step <= step.wait_step)) return false;
    }
    for (const int member : peers(rank, step.recv_set))
      if (is_peer(rank, member) && queue(static_cast<size_t>(member), rank, port).empty()) return false;
    for (size_t peer : peers(rank, step.send_set))
      if (queue(rank, peer, port).size() >= static_cast<size_t>(options_.slots)) return false;
    return true;
  }

  std::optional<Value> load(size_t rank, const Step& step, int tile, int i) {
    const auto found = memory_.find(cell(rank, step.src(), tile, step.src_chunk + i));
    if (step.src_chunk + i >= chunks(rank, step.src()) || found == memory_.end()) return std::nullopt;
    return step.src() == Buffer::Input ? scale(found->second) : found->second;
  }

  std::optional<Value> load_scratch(size_t rank, int tile, int chunk) {
    const auto found = memory_.find(cell(rank, Buffer::Scratch, tile, chunk));
    if (chunk >= chunks(rank, Buffer::Scratch) || found == memory_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<Value> compute(size_t rank, uint16_t port, int tile, const Step& step, int i) {
    if (!step.has(kRecv)) return load(rank, step, tile, i);
    std::optional<Value> value;
    for (const int member : peers(rank, step.recv_set)) {
      std::optional<Value> operand;
      if (member < 0) {
        operand = load_scratch(rank, tile, -1 - member + i);
      } else if (member == static_cast<int>(rank)) {
        operand = load(rank, step, tile, i);
      } else if (const Message& message = queue(static_cast<size_t>(member), rank, port).front();
                 static_cast<size_t>(i) < message.chunks.size()) {
        operand = taken(message, static_cast<size_t>(i));
      }
      if (!operand) return std::nullopt;
      value = value ? combine(*value, *operand) : operand;
      if (!value) return std::nullopt;
    }
    return value;
  }

  Value taken(const Message& message, size_t i) {
    if (message.places.empty()) return message.chunks[i];
    const Value& value = memory_[message.places[i]];
    return message.are_operands ? scale(value) : value;
  }

  void run(size_t rank, size_t lane, const Position& at, const Step& step) {
    const uint16_t port = ranks_[rank].lanes[lane].port;
    if (!step.has(kRecv) && !step.has(kCopy) && !step.has(kSend)) return;
    Message message;
    for (int i = 0; i < step.count; ++i) {
      auto value = compute(rank, port, at.tile, step, i);
      if (!value) return void(broken_ = true);
      if (step.has(kFinish)) value = finish(*value);
      if (step.has(kCopy) && !keep(rank, at.tile, step, i, *value)) return void(broken_ = true);
      message.chunks.push_back(std::move(*value));
    }
    const Ref read_at = options_.read_at && step.has(kSend) ? options_.read_at(rank, lane, at.step) : Ref();
    for (int i = 0; read_at.buffer != Buffer::None && i < step.count; ++i)
      message.places.push_back(cell(rank, read_at.buffer, at.tile, read_at.chunk + i));
    message.are_operands = read_at.buffer == Buffer::Input;
    for (const int member : peers(rank, step.recv_set)) {
      if (!is_peer(rank, member)) continue;
      const auto peer = static_cast<size_t>(member);
      if (queue(peer, rank, port).front().chunks.size() != step.count) broken_ = true;
      queue(peer, rank, port).pop_front();
    }
    for (const int to : peers(rank, step.send_set)) {
      const auto peer = static_cast<size_t>(to);
      if (options_.lands_early) land(rank, peer, port, message);
      queue(rank, peer, port).push_back(message);
    }
  }

  /// Of each tile, the Steps that take the messages of a queue, in order.
  std::vector<std::pair<size_t, size_t>> receivers(size_t from, size_t to, uint16_t port) {
    std::vector<std::pair<size_t, size_t>> found;
    for (size_t lane = 0; lane < ranks_[to].lanes.size(); ++lane)
      for (size_t i = 0; i < ranks_[to].lanes[lane].steps.size(); ++i) {
        const auto sources = peers(to, ranks_[to].lanes[lane].steps[i].recv_set);
        const bool takes = std::find(sources.begin(), sources.end(), from) != sources.end();
        if (takes && ranks_[to].lanes[lane].port == port) found.emplace_back(lane, i);
      }
    return found;
  }

  void land(size_t from, size_t to, uint16_t port, const Message& message) {
    const auto takers = receivers(from, to, port);
    const size_t number = pushed_[{from, to, port}]++;
    const auto [lane, index] = takers[number % takers.size()];
    if (!options_.lands_early(to, lane, index)) return;
    const int tile = static_cast<int>(number / takers.size());
    const Step& step = ranks_[to].lanes[lane].steps[index];
    for (int i = 0; i < step.count; ++i)
      if (!keep(to, tile, step, i, message.chunks[static_cast<size_t>(i)])) broken_ = true;
  }

  bool keep(size_t rank, int tile, const Step& step, int i, const Value& value) {
    const int chunk = step.dst_chunk + i;
    if (chunk >= chunks(rank, step.dst())) return false;
    if (value.size() != length(static_cast<int>(rank), step.dst(), chunk)) return false;
    memory_[cell(rank, step.dst(), tile, chunk)] = value;
    return true;
  }

  // Results
  // ------------------------------------------------------------------------------------------------------

  /// nullopt: the chunk must be unchanged.
  std::optional<Value> expected(int rank, int tile, int chunk) {
    const int parts = this->parts(rank);
    const auto from = test::block_result(shape_.kind, shape_.nranks, shape_.root, rank, chunk / parts);
    if (!from) return std::nullopt;
    std::optional<Value> value;
    for (int source = from->first; source < from->end; ++source) {
      const Cell place =
          cell(static_cast<size_t>(source), Buffer::Input, tile, from->block * parts + chunk % parts);
      const Value operand = scale(given_[place]);
      value = value ? combine(*value, operand) : operand;
    }
    return test::averages(shape_.kind) ? finish(*value) : value;
  }

  bool results_right() {
    if (shape_.kind == CollectiveKind::Barrier) return true;
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      for (int tile = 0; tile < options_.tiles; ++tile) {
        for (int chunk = 0; chunk < ranks_[rank].chunks.output; ++chunk) {
          const Cell place = cell(rank, Buffer::Output, tile, chunk);
          if (memory_[place] != expected(static_cast<int>(rank), tile, chunk).value_or(given_[place]))
            return false;
        }
        for (int chunk = 0; !options_.in_place && chunk < ranks_[rank].chunks.input; ++chunk) {
          const Cell place = cell(rank, Buffer::Input, tile, chunk);
          if (memory_[place] != given_[place]) return false;
        }
      }
    return true;
  }

  Shape shape_;
  const std::vector<Schedule>& ranks_;
  ConcreteOptions options_;
  std::mt19937_64 random_;
  std::map<int, size_t> lengths_;
  std::map<Cell, Value> memory_;
  std::map<Cell, Value> given_;
  std::vector<std::vector<Position>> positions_;
  using Link = std::tuple<size_t, size_t, uint16_t>;
  std::map<Link, std::deque<Message>> queues_;
  std::map<Link, size_t> pushed_;
  bool broken_ = false;
};

}  // namespace

bool runs_right(const Shape& shape, const std::vector<Schedule>& ranks, const ConcreteOptions& options) {
  if (shape.kind == CollectiveKind::Barrier)
    for (size_t late = 0; late < ranks.size(); ++late)
      if (!ConcreteRun(shape, ranks, options).waits_for(late)) return false;
  return ConcreteRun(shape, ranks, options).right();
}

}  // namespace rondo
