// SPDX-License-Identifier: Apache-2.0
// Every collective, in all its forms, over every transport and by every algorithm, against the oracle.
#include <sys/mman.h>
#include <unistd.h>

#include "catch.h"
#include "exchange.h"
#include "oracle.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// "all_reduce=ring;broadcast=chain;...": the variant-th algorithm of every collective, modulo its number.
std::string algorithms_of_variant(size_t variant, int nranks) {
  std::string text;
  for (const Kind kind : kAllCollectives) {
    const auto names = algorithms_of(collective_name(kind), nranks);
    text +=
        (text.empty() ? "" : ";") + std::string(collective_name(kind)) + "=" + names[variant % names.size()];
  }
  return text;
}

size_t max_variants(int nranks) {
  size_t most = 0;
  for (const Kind kind : kAllCollectives)
    most = std::max(most, algorithms_of(collective_name(kind), nranks).size());
  return most;
}

/// Whether the algorithm supports the call; forcing an algorithm that does not is an error that says so.
bool supported(const Trial& trial, size_t variant, int nranks) {
  if (!trial.varying) return true;
  const auto names = algorithms_of(collective_name(trial.kind), nranks);
  const std::string& name = names[variant % names.size()];
  const bool relays_blocks = trial.kind == Kind::AllToAll ? name == "hierarchical"
                             : trial.kind == Kind::Gather || trial.kind == Kind::Scatter
                                 ? name != "linear"
                                 : name == "hierarchical_doubling" || name == "hierarchical_halving";
  return !relays_blocks;
}

/// The same sums by one algorithm per collective: all roots, both forms, in and out of place, some lengths.
void try_algorithms(const Rank& rank, size_t variant) {
  for (const Kind kind : kAllCollectives) {
    Trial trial{.kind = kind};
    for (trial.root = 0; trial.root < (has_root(kind) ? rank.size : 1); ++trial.root) {
      for (const size_t count : {0u, 1u, 13u, 211u}) {
        trial.count = count;
        trial.seed = mix(variant, count, static_cast<uint64_t>(trial.root));
        trial.varying = traits(kind).has_blocks() && trial.seed % 3 == 0;
        trial.in_place = kind != Kind::Barrier && trial.seed % 5 == 0;
        trial.shift = trial.seed % 7 == 0 ? 3 : 0;
        if (supported(trial, variant, rank.size)) run_trial(rank, trial);
      }
    }
  }
}

/// Runs `attempt(rank, variant)` on one communicator per variant of the algorithms.
template <typename Attempt>
void with_all_algorithms(const Rank& rank, const Attempt& attempt) {
  for (size_t variant = 0; variant < max_variants(rank.size); ++variant) {
    const Child child(rank, algorithms_of_variant(variant, rank.size));
    attempt(child.rank, variant);
  }
}

void try_all_algorithms(const Rank& rank) { with_all_algorithms(rank, try_algorithms); }

void every_algorithm(const Way& way) {
  for (int nranks = 1; nranks <= 9; ++nranks) {
    if (kSanitized && nranks > 3 && nranks != 5) continue;
    if (kThreadSanitizer && !way.threads && nranks != 3) continue;
    // Small slots wrap many times; the other sizes have to make do with the default.
    const Environment slots("RONDO_SLOT_BYTES", nranks % 3 == 0 ? "65536" : "256");
    const Environment groups = in_groups(nranks);
    INFO(way.transport << ", " << nranks << " ranks");
    expect_success(run_world(world_of(way, nranks), try_all_algorithms));
  }
}

void try_types_and_operations(const Rank& rank) {
  for (Trial trial : every_type_and_operation(rank.size))
    for (trial.seed = 1; trial.seed <= 2; ++trial.seed) run_trial(rank, trial);
}

void random_calls(const Way& way, int nranks, const char* slot_bytes, uint64_t seed, int calls) {
  const Environment slots("RONDO_SLOT_BYTES", slot_bytes);
  // Also runs short calls over connections, and long calls over the short-call path.
  const Environment exchange("RONDO_EXCHANGE_BYTES", std::string(slot_bytes) == "256" ? "0" : "65536");
  INFO(way.transport << ", " << nranks << " ranks, slots of " << slot_bytes << " bytes, first seed " << seed);
  expect_success(run_world(world_of(way, nranks), [=](Rank& rank) {
    for (int i = 0; i < calls; ++i)
      run_trial(rank, random_trial(seed + static_cast<uint64_t>(i), rank.size, 2000));
  }));
}

/// Lengths around the point at which a slot is full, and one of many tiles.
void sizes_around_tiles(const Rank& rank) {
  for (const Kind kind : kAllCollectives)
    for (const size_t count : {8191u, 16384u, 16385u, 70001u})
      run_trial(rank, {.kind = kind, .count = count, .seed = count});
}

TEST_CASE("every algorithm sums right over every transport") {
  for (const Way& way : kWays) every_algorithm(way);
}

TEST_CASE("every type and operation is right in every collective") {
  expect_success(run_world({.nranks = 3, .transport = "local", .threads = true}, try_types_and_operations));
  if (!kThreadSanitizer)
    expect_success(run_world({.nranks = 4, .transport = "shm"}, try_types_and_operations));
}

TEST_CASE("any call after any other is right") {
  uint64_t seed = 20'000;
  for (const Way& way : kWays)
    for (const int nranks : {2, 3, 5, 8}) {
      if (kThreadSanitizer && !way.threads && nranks != 3) continue;
      for (const char* slot_bytes : {"256", "4096", "65536"})
        random_calls(way, nranks, slot_bytes, seed += 1000, 40);
    }
}

TEST_CASE("lengths around a full slot, and far beyond, are right") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), sizes_around_tiles));
  }
}

TEST_CASE("results that bypass the caches are right by every algorithm") {
  const Environment bytes("RONDO_STREAM_BYTES", "0");
  const Environment exchange("RONDO_EXCHANGE_BYTES", "0");
  const Environment groups = in_groups(4);
  for (const Way& way : kWays) {
    if (kSanitized && std::string_view(way.transport) != "shm") continue;
    INFO(way.transport);
    expect_success(run_world(world_of(way, 4), [](Rank& rank) {
      try_all_algorithms(rank);
      sizes_around_tiles(rank);
    }));
    random_calls(way, 3, "4096", 77'000, 40);
  }
}

/// Calls long enough for ranks to read parts of them from a peer's memory.
void long_calls(const Rank& rank, size_t variant) {
  for (const Kind kind : kAllCollectives)
    for (const bool in_place : {false, true}) {
      Trial trial{.kind = kind, .count = 25'013, .seed = mix(variant, in_place)};
      trial.root = has_root(kind) ? static_cast<int>(trial.seed % static_cast<uint64_t>(rank.size)) : 0;
      trial.in_place = in_place && kind != Kind::Barrier;
      if (in_place && averages(kind)) trial.op = RONDO_AVG;
      run_trial(rank, trial);
    }
}

TEST_CASE("long calls are right by every algorithm if ranks read one another's memory") {
  const Environment reads("RONDO_READ_PEER", "1");
  const Environment exchange("RONDO_EXCHANGE_BYTES", "0");
  for (const int nranks : {2, 4, 5}) {
    if (kSanitized && nranks > 4) continue;  // a minute on two busy CPUs
    if (kThreadSanitizer && nranks != 4) continue;
    const Environment groups = in_groups(nranks);
    INFO(nranks << " ranks");
    expect_success(run_world({.nranks = nranks, .transport = "shm"},
                             [](Rank& rank) { with_all_algorithms(rank, long_calls); }));
  }
}

TEST_CASE("one slot per connection is enough for every algorithm") {
  const Environment slots("RONDO_SLOTS", "1");
  const Environment bytes("RONDO_SLOT_BYTES", "512");
  for (const Way& way : kWays)
    for (const int nranks : {5, 6}) {
      if (kThreadSanitizer && !way.threads && nranks != 6) continue;
      const Environment groups = in_groups(nranks);
      INFO(way.transport << ", " << nranks << " ranks");
      expect_success(run_world(world_of(way, nranks), try_all_algorithms));
    }
}

TEST_CASE("an algorithm that does not support the call is refused with an error") {
  const std::string algorithm = "gather=binomial";
  expect_success(run_world({.nranks = 3, .algorithm = algorithm, .threads = true}, [](Rank& rank) {
    std::array<int, 3> all{};
    const std::array<size_t, 3> counts{1, 1, 1};
    const std::array<size_t, 3> places{0, 1, 2};
    rondo_status_t status = rondo_barrier(rank.comm, nullptr);  // may already report a rank that is ahead
    if (status == RONDO_OK)
      status = rondo_gather_v(&rank.rank, 1, all.data(), counts.data(), places.data(), RONDO_INT32, 0,
                              rank.comm, nullptr);
    check_fails(status, RONDO_UNSUPPORTED, {"gather", "binomial", "3 ranks", "different lengths"}, rank.comm);
  }));
}

TEST_CASE("a group algorithm is refused with an error if ranks form no groups, or unsuitable ones") {
  const auto refused = [](Rank& rank) {
    int one = 1, sum = 0;
    check_fails(rondo_all_reduce(&one, &sum, 1, RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
                RONDO_UNSUPPORTED, {"all_reduce", "leaders", "4 ranks", "not in equal groups"}, rank.comm);
  };
  for (const char* group : {"1", "3", "4", "5", "4,8", "3,3,3"}) {
    const Environment groups("RONDO_GROUP", group);
    INFO("groups of " << group);
    expect_success(run_world({.nranks = 4, .algorithm = "all_reduce=leaders"}, refused));
  }
}

TEST_CASE("a rank configured with other groups than its peers is a mismatch") {
  expect_success(run_world({.nranks = 6}, [](Rank& rank) {
    const Environment groups("RONDO_GROUP", rank.rank == 5 ? "3" : "2");
    const Child child(rank, "all_gather=hierarchical");
    std::array<int, 6> all{};
    check_fails(rondo_all_gather(&rank.rank, all.data(), 1, RONDO_INT32, child.rank.comm, nullptr),
                RONDO_MISMATCH, {"all_gather", "rank 5", "different groups"}, child.rank.comm);
  }));
}

class Mapping {
 public:
  explicit Mapping(size_t bytes) : bytes_(bytes) {
    void* at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(at != MAP_FAILED, "no memory");
    data_ = static_cast<int8_t*>(at);
  }
  ~Mapping() { ::munmap(data_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  int8_t* data() { return data_; }

 private:
  size_t bytes_;
  int8_t* data_ = nullptr;
};

size_t free_bytes() {
  return static_cast<size_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_CASE("a count above 2^31 is not cut short") {
  constexpr size_t kCount = (size_t{1} << 31) + 12'345;
  if (kSanitized) {
    WARN("skipped: under a sanitizer this many bytes take minutes");
    return;
  }
  if (free_bytes() < 2 * kCount) {
    WARN("left out: less than 4 GiB of memory are free");
    return;
  }
  expect_success(run_world({.nranks = 2, .threads = true, .call_timeout_ms = 100'000}, [](Rank& rank) {
    Mapping buffer(kCount);  // pages that the root never writes take no memory
    const std::array<size_t, 4> places{0, (size_t{1} << 31) - 1, size_t{1} << 31, kCount - 1};
    if (rank.rank == 0)
      for (size_t i = 0; i < places.size(); ++i) buffer.data()[places[i]] = static_cast<int8_t>(i + 1);
    check(rondo_broadcast(buffer.data(), buffer.data(), kCount, RONDO_INT8, 0, rank.comm, nullptr),
          rank.comm);
    for (size_t i = 0; i < places.size(); ++i)
      require(buffer.data()[places[i]] == static_cast<int8_t>(i + 1),
              "a byte is wrong at " + std::to_string(places[i]));
  }));
}

}  // namespace
}  // namespace rondo::test
