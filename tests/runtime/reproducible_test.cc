// SPDX-License-Identifier: Apache-2.0
// What the bits of a result may depend on. Inputs depend on rank and element index alone, so a short call
// must give the same results as the start of a longer one.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "bytes.h"
#include "catch.h"
#include "exchange.h"
#include "oracle.h"
#include "sanitized.h"
#include "seed.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr uint64_t kSeed = 42;  // even, so that operands are not integers and sums round

using Bytes = std::vector<std::byte>;

struct Reduction {
  Kind kind = Kind::AllReduce;
  rondo_type_t type = RONDO_FLOAT32;
  rondo_op_t op = RONDO_SUM;  // negative: the pre-multiplied sum

  std::string text() const {
    return std::string(collective_name(kind)) + " of " + type_name(type) + ", " +
           (op < 0 ? "pre-multiplied sum" : op_name(op));
  }
};

constexpr rondo_op_t kPremulSum = -1;

std::vector<Kind> reducing_kinds() {
  std::vector<Kind> kinds;
  std::copy_if(kAllCollectives.begin(), kAllCollectives.end(), std::back_inserter(kinds), reduces);
  return kinds;
}

/// All reductions whose results are rounded; under a sanitizer those of two types, of which bfloat16 is added
/// in float32.
std::vector<Reduction> reductions_that_round() {
  std::vector<Reduction> made;
  for (const Kind kind : reducing_kinds())
    for (rondo_type_t type = 0; type < kTypes; ++type) {
      if (kSanitized && type != RONDO_FLOAT64 && type != RONDO_BFLOAT16) continue;
      for (const rondo_op_t op :
           {rondo_op_t{RONDO_SUM}, rondo_op_t{RONDO_PROD}, rondo_op_t{RONDO_AVG}, kPremulSum})
        if (type_row(type).is_rounded() && (op != RONDO_AVG || averages(kind)))
          made.push_back({kind, type, op});
    }
  return made;
}

/// A rank's operands for the first `count` results. For a reduce-scatter, every rank gets the same results.
Bytes operands(const Reduction& reduction, const Rank& rank, size_t count) {
  const rondo_op_t op = reduction.op < 0 ? RONDO_SUM : reduction.op;
  const Bytes block = random_operands(reduction.type, op, kSeed, rank.rank, count);
  Bytes all;
  for (int i = 0; i < (reduction.kind == Kind::ReduceScatter ? rank.size : 1); ++i)
    all.insert(all.end(), block.begin(), block.end());
  return all;
}

int root_of(const Rank& rank) { return rank.size - 1; }

rondo_status_t make(const Reduction& reduction, const Rank& rank, size_t count, const void* send,
                    void* recv) {
  std::optional<PremulSum> scaled;
  if (reduction.op == kPremulSum)
    scaled.emplace(random_operands(reduction.type, RONDO_SUM, kSeed + 2, rank.rank, 1).data(),
                   reduction.type);
  const rondo_op_t op = scaled ? scaled->get() : reduction.op;
  return make_call({reduction.kind, send, recv, count, reduction.type, op, root_of(rank)}, rank.comm);
}

/// The rank's result; empty if it has none.
Bytes result_of(const Reduction& reduction, const Rank& rank, size_t count, bool in_place = false) {
  Bytes send = operands(reduction, rank, count);
  const size_t bytes = count * type_bytes(reduction.type);
  const size_t own = reduction.kind == Kind::ReduceScatter ? bytes * static_cast<size_t>(rank.rank) : 0;
  Bytes apart(bytes);
  std::byte* recv = in_place ? send.data() + own : apart.data();
  check(make(reduction, rank, count, send.data(), recv), rank.comm);
  return has_result(reduction.kind, rank.size, root_of(rank), rank.rank) ? Bytes(recv, recv + bytes)
                                                                         : Bytes();
}

/// Compares each result with the longest one seen so far, over their common length; shared by all worlds.
class Canon {
 public:
  explicit Canon(std::vector<Reduction> reductions, int nranks)
      : nranks_(nranks), longest_(reductions.size() * static_cast<size_t>(nranks)) {}

  void meet(size_t reduction, const Rank& rank, const Bytes& found, const std::string& how) {
    std::lock_guard lock(mutex_);
    Bytes& known = longest_[reduction * static_cast<size_t>(nranks_) + static_cast<size_t>(rank.rank)];
    const size_t common = std::min(known.size(), found.size());
    require(same_bytes(found.data(), known.data(), common),
            how + ": rank " + std::to_string(rank.rank) + " has different bits");
    if (found.size() > known.size()) known = found;
  }

 private:
  int nranks_;
  std::mutex mutex_;
  std::vector<Bytes> longest_;
};

struct Setup {
  const char* transport = nullptr;
  const char* slot_bytes = "65536";
  const char* exchange_bytes = "16384";
  std::string algorithm = {};

  std::string text() const {
    return std::string(transport) + ", slots of " + slot_bytes + ", exchange of " + exchange_bytes + ", " +
           (algorithm.empty() ? "any algorithm" : algorithm);
  }
};

constexpr std::array<size_t, 5> kCounts{1, 17, 500, 3000, 9001};

void compare(const Rank& parent, const Setup& setup, const std::vector<Reduction>& reductions, Canon& canon) {
  const Child child(parent, setup.algorithm, setup.transport);
  for (size_t i = 0; i < reductions.size(); ++i)
    for (const size_t count : kCounts)
      for (const bool in_place : {false, true})
        canon.meet(i, child.rank, result_of(reductions[i], child.rank, count, in_place),
                   reductions[i].text() + ", " + std::to_string(count) + " elements, " + setup.text() +
                       (in_place ? ", in place" : ""));
}

TEST_CASE("in reproducible mode bits depend on ranks, type and op, not on size, transport or slots") {
  const auto reductions = reductions_that_round();
  const Environment mode("RONDO_REPRODUCIBLE", "1");
  for (const int nranks : {2, 3, 4, 7}) {
    if (kSanitized && nranks % 2 == 0) continue;
    INFO(nranks << " ranks");
    Canon canon(reductions, nranks);
    for (const Setup& setup : {Setup{"local"}, Setup{"local", "4096", "0"}, Setup{"local", "512", "300"},
                               Setup{"sim", "1024", "0"}, Setup{"shm"}, Setup{"tcp", "2048", "0"}}) {
      const Environment slots("RONDO_SLOT_BYTES", setup.slot_bytes);
      const Environment exchange("RONDO_EXCHANGE_BYTES", setup.exchange_bytes);
      INFO(setup.text());
      expect_success(run_world({.nranks = nranks, .transport = setup.transport, .threads = true},
                               [&](Rank& rank) { compare(rank, setup, reductions, canon); }));
    }
  }
}

TEST_CASE("in reproducible mode processes get the same bits by shared memory and by TCP") {
  const auto reductions = reductions_that_round();
  const Environment mode("RONDO_REPRODUCIBLE", "1");
  expect_success(run_world({.nranks = 3}, [&](Rank& rank) {
    Canon canon(reductions, rank.size);
    for (const Setup& setup : {Setup{"shm"}, Setup{"shm", "1024", "0"}, Setup{"tcp"}, Setup{"tcp", "2048"}}) {
      const Environment slots("RONDO_SLOT_BYTES", setup.slot_bytes);
      const Environment exchange("RONDO_EXCHANGE_BYTES", setup.exchange_bytes);
      compare(rank, setup, reductions, canon);
    }
  }));
}

/// Compares the algorithms that may be requested; the others are refused, with both settings named.
void compare_algorithms(const Rank& rank, const Reduction& reduction, size_t index, Canon& canon) {
  int keep = 0;
  for (const std::string& name : algorithms_of(collective_name(reduction.kind), rank.size)) {
    const std::string wish = std::string(collective_name(reduction.kind)) + "=" + name;
    const Child child(rank, wish);
    Bytes send = operands(reduction, child.rank, 1);
    Bytes recv(send.size());
    const rondo_status_t status = make(reduction, child.rank, 1, send.data(), recv.data());
    if (status != RONDO_OK) {
      check_fails(status, RONDO_UNSUPPORTED, {"RONDO_REPRODUCIBLE is 1", "by " + name, "RONDO_ALGORITHM"},
                  child.rank.comm);
      continue;
    }
    ++keep;
    for (const size_t count : kCounts)
      canon.meet(index, child.rank, result_of(reduction, child.rank, count),
                 reduction.text() + " by " + name);
  }
  require(keep != 0, reduction.text() + ": no algorithm may be requested");
}

TEST_CASE("in reproducible mode algorithms give the same bits, or are refused") {
  const auto reductions = reductions_that_round();
  const Environment mode("RONDO_REPRODUCIBLE", "1");
  const Environment slots("RONDO_SLOT_BYTES", "1024");
  for (const int nranks : {3, 4}) {
    const Environment groups = in_groups(nranks);
    INFO(nranks << " ranks");
    Canon canon(reductions, nranks);
    for (const char* exchange_bytes : {"0", "16384"}) {
      const Environment exchange("RONDO_EXCHANGE_BYTES", exchange_bytes);
      expect_success(run_world({.nranks = nranks, .threads = true}, [&](Rank& rank) {
        for (size_t i = 0; i < reductions.size(); ++i) compare_algorithms(rank, reductions[i], i, canon);
      }));
    }
  }
}

TEST_CASE("in reproducible mode any algorithm may do a reduction that does not round") {
  const Environment mode("RONDO_REPRODUCIBLE", "1");
  const Environment groups = in_groups(4);
  expect_success(run_world({.nranks = 4, .threads = true}, [](Rank& rank) {
    for (const std::string& name : algorithms_of("all_reduce", rank.size)) {
      const Child child(rank, "all_reduce=" + name);
      run_trial(child.rank, {.count = 900, .type = RONDO_INT32, .op = RONDO_AVG});
      run_trial(child.rank, {.count = 900, .type = RONDO_BFLOAT16, .op = RONDO_MAX});
    }
  }));
}

TEST_CASE("ranks are told if one of them is not in reproducible mode") {
  for (const char* exchange_bytes : {"0", "16384"}) {
    INFO(exchange_bytes);
    expect_success(
        run_world({.nranks = 2, .environment = {{"RONDO_EXCHANGE_BYTES", exchange_bytes}}}, [](Rank& rank) {
          ::setenv("RONDO_REPRODUCIBLE", rank.rank == 0 ? "1" : "0", 1);
          const Child child(rank);
          const float mine = 1;
          float sum = 0;
          check_fails(rondo_all_reduce(&mine, &sum, 1, RONDO_FLOAT32, RONDO_SUM, child.rank.comm, nullptr),
                      RONDO_MISMATCH, {"ranks disagree", "only one of them in reproducible mode"},
                      child.rank.comm);
          check(rondo_barrier(rank.comm, nullptr), rank.comm);
        }));
  }
}

/// Algorithms that have a short-call form.
std::vector<std::string> exchanged_algorithms(Kind kind) {
  if (kind == Kind::AllReduce) return {"one_shot", "two_shot"};
  return {kind == Kind::ReduceScatter ? "direct" : "flat"};
}

TEST_CASE("a short call has the bits of its Schedule, whether it uses the mailbox or connections") {
  const auto reductions = reductions_that_round();
  for (const int nranks : {2, 5}) {
    Canon canon(reductions, nranks);
    for (const char* exchange_bytes : {"0", "16384"}) {
      const Environment exchange("RONDO_EXCHANGE_BYTES", exchange_bytes);
      expect_success(run_world({.nranks = nranks, .threads = true}, [&](Rank& rank) {
        for (const Kind kind : reducing_kinds())
          for (const std::string& name : exchanged_algorithms(kind)) {
            const Child child(rank, std::string(collective_name(kind)) + "=" + name);
            for (size_t i = 0; i < reductions.size(); ++i)
              for (const size_t count : {1u, 100u, 400u})
                if (reductions[i].kind == kind)
                  canon.meet(i, child.rank, result_of(reductions[i], child.rank, count),
                             reductions[i].text());
          }
      }));
    }
  }
}

TEST_CASE("the same call gives the same bits, in whatever order the ranks arrive") {
  const auto reductions = reductions_that_round();
  const Environment groups = in_groups(4);
  for (const char* exchange_bytes : {"0", "16384"}) {
    const Environment exchange("RONDO_EXCHANGE_BYTES", exchange_bytes);
    INFO(exchange_bytes);
    expect_success(run_world({.nranks = 4, .threads = true}, [&](Rank& rank) {
      std::mt19937 random(test_seed(static_cast<unsigned>(rank.rank)));
      for (const Kind kind : reducing_kinds())
        for (const std::string& name : algorithms_of(collective_name(kind), rank.size)) {
          const Child child(rank, std::string(collective_name(kind)) + "=" + name);
          for (const rondo_type_t type : {RONDO_FLOAT32, RONDO_BFLOAT16}) {
            const Reduction reduction{kind, type, RONDO_SUM};
            const Bytes first = result_of(reduction, child.rank, 200);
            for (int repeat = 0; repeat < 20; ++repeat) {
              std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
              require(
                  result_of(reduction, child.rank, 200) == first,
                  reduction.text() + " by " + name + ": different bits in repeat " + std::to_string(repeat));
            }
          }
        }
    }));
  }
}

}  // namespace
}  // namespace rondo::test
