// SPDX-License-Identifier: Apache-2.0
// Messages that do not pass through slots: whatever the order in which ranks go on, nothing lands on what a
// rank still needs, and nothing changes before it has been read.
#include "catch.h"
#include "concrete_run.h"
#include "program.h"
#include "seed.h"
#include "shapes.h"

namespace rondo {
namespace {

/// Programs need connections to be bound to, and use none here.
class NoConnection final : public Connection {
 public:
  NoConnection() : Connection(64) {}
  std::byte* acquire(size_t /*bytes*/) override { return nullptr; }
  void commit(size_t, const Signature&) override {}
  bool flushed() override { return true; }
  const Arrival* peek() override { return nullptr; }
  void release() override {}
  Status status() const override { return {}; }
  Awaited awaited(Awaiting) const override { return {}; }
};

std::vector<Program> bind_all(const Shape& shape, const std::vector<Schedule>& ranks) {
  static NoConnection none;
  std::vector<Program> programs;
  for (const Schedule& schedule : ranks) {
    Program& program = programs.emplace_back(shape, schedule);
    REQUIRE(program.bind([](int, uint16_t) -> Result<Connection*> { return &none; }).value() == -1);
  }
  return programs;
}

bool only_copies(const Schedule& schedule, size_t lane, size_t index) {
  const Step& step = schedule.lanes[lane].steps[index];
  return step.has(kRecv) && step.has(kCopy) && !step.has(kFinish) &&
         schedule.peer_sets[step.recv_set].size() == 1;
}

/// Where the value that a Step sends can be read. Not a scaled operand, which differs from what is there.
Ref lies_at(const Shape& shape, const Step& step, bool in_place) {
  const Ref place = Program::value_place(step);
  const bool is_scaled_there =
      in_place && reduces(shape.kind) && step.has(kCopy) && place.buffer == Buffer::Input;
  return is_scaled_there || (step.has(kFinish) && !step.has(kCopy)) ? Ref() : place;
}

bool runs_right(const Shape& shape, const std::vector<Schedule>& ranks, bool in_place, uint64_t seed,
                const ConcreteOptions::LandsEarly& lands_early) {
  return runs_right(shape, ranks,
                    {.slots = 3, .in_place = in_place, .seed = seed, .lands_early = lands_early});
}

struct Case {
  const Shape& shape;
  const std::vector<Schedule>& ranks;
  const std::vector<Program>& programs;
  bool in_place;
  uint64_t seed;
};

/// Calls `is_right` with every algorithm and shape, in some orders of events.
template <typename IsRight>
void require_all(const IsRight& is_right) {
  for (const Algorithm& algorithm : algorithms())
    for (int nranks = 2; nranks <= 6; ++nranks)
      for (const Shape& shape : supported_shapes(algorithm, nranks)) {
        const auto ranks = build_all(algorithm, shape);
        const auto programs = bind_all(shape, ranks);
        for (const bool in_place : {false, true})
          for (uint64_t seed = 1; seed <= 4; ++seed) {
            INFO(name_of(algorithm) << ", " << to_string(shape) << (in_place ? ", in place" : "") << ", seed "
                                    << seed);
            if (!is_right(Case{shape, ranks, programs, in_place, test::test_seed(seed)})) FAIL("wrong");
          }
      }
}

}  // namespace

TEST_CASE("what may land early may, for every algorithm, shape and order of events") {
  size_t early = 0;
  require_all([&](const Case& one) {
    const auto lands_early = [&](size_t rank, size_t lane, size_t step) {
      const bool does = only_copies(one.ranks[rank], lane, step) &&
                        one.programs[rank].may_land_early(lane, step, one.in_place);
      early += does;
      return does;
    };
    return runs_right(one.shape, one.ranks, one.in_place, one.seed, lands_early);
  });
  CHECK(early > 10'000);
}

TEST_CASE("what is read where it lies is what was sent, for every algorithm, shape and order of events") {
  size_t in_input = 0;  // of an all-reduce in place
  require_all([&](const Case& one) {
    const auto read_at = [&](size_t rank, size_t lane, size_t index) {
      if (!one.programs[rank].stable(lane, index, one.in_place)) return Ref();
      const Ref place = lies_at(one.shape, one.ranks[rank].lanes[lane].steps[index], one.in_place);
      in_input +=
          one.in_place && one.shape.kind == CollectiveKind::AllReduce && place.buffer == Buffer::Input;
      return place;
    };
    return runs_right(one.shape, one.ranks,
                      {.slots = 3, .in_place = one.in_place, .seed = one.seed, .read_at = read_at});
  });
  CHECK(in_input > 1'000);
}

TEST_CASE("the blocks of an all-to-all in place may not") {
  const Algorithm& algorithm = *algorithm_by_name(CollectiveKind::AllToAll, "pairwise").value();
  const Shape shape{.kind = CollectiveKind::AllToAll, .nranks = 4};
  const auto ranks = build_all(algorithm, shape);
  const auto naively = [&](size_t rank, size_t lane, size_t step) {
    return only_copies(ranks[rank], lane, step);
  };
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) wrong += !runs_right(shape, ranks, true, seed, naively);
  CHECK(wrong > 0);
}

}  // namespace rondo
