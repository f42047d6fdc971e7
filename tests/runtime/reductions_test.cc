// SPDX-License-Identifier: Apache-2.0
// User-defined reductions: pre-multiplied sums, user functions, user types; and averages.
#include <cmath>
#include <cstring>

#include "bytes.h"
#include "catch.h"
#include "exchange.h"
#include "oracle.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// A 2x2 matrix modulo a prime: its product is associative but not commutative.
struct Matrix {
  std::array<uint32_t, 4> cells;
  bool operator==(const Matrix&) const = default;
};
constexpr uint64_t kPrime = 1'000'003;

Matrix product(const Matrix& a, const Matrix& b) {
  const auto cell = [&](size_t row, size_t column) {
    const uint64_t sum =
        uint64_t{a.cells[row * 2]} * b.cells[column] + uint64_t{a.cells[row * 2 + 1]} * b.cells[column + 2];
    return static_cast<uint32_t>(sum % kPrime);
  };
  return {{cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)}};
}

void multiply(void* accumulator, const void* operand, size_t count, rondo_type_t, void* user) {
  auto* left = static_cast<Matrix*>(accumulator);
  const auto* right = static_cast<const Matrix*>(operand);
  for (size_t i = 0; i < count; ++i) {
    Matrix a;
    Matrix b;
    std::memcpy(&a, left + i, sizeof a);
    std::memcpy(&b, right + i, sizeof b);
    a = product(a, b);
    std::memcpy(left + i, &a, sizeof a);
  }
  if (user != nullptr) ++*static_cast<int*>(user);
}

std::vector<Matrix> matrices(uint64_t seed, int rank, size_t count) {
  std::vector<Matrix> made(count);
  for (size_t i = 0; i < count; ++i)
    for (size_t cell = 0; cell < 4; ++cell)
      made[i].cells[cell] =
          static_cast<uint32_t>(mix(seed, static_cast<uint64_t>(rank), i * 4 + cell) % kPrime);
  return made;
}

/// The element-wise product of the matrices of the ranks [first, end).
std::vector<Matrix> product_of_ranks(uint64_t seed, int first, int end, size_t count) {
  auto result = matrices(seed, first, count);
  for (int rank = first + 1; rank < end; ++rank) {
    const auto next = matrices(seed, rank, count);
    for (size_t i = 0; i < count; ++i) result[i] = product(result[i], next[i]);
  }
  return result;
}

struct UserReduction {
  rondo_type_t type = 0;
  rondo_op_t op = 0;
  UserReduction(size_t bytes, rondo_reduce_fn fn, bool commutative, void* user = nullptr) {
    check(rondo_type_create(bytes, &type));
    check(rondo_op_create(fn, commutative ? 1 : 0, user, &op));
  }
  ~UserReduction() {
    rondo_op_destroy(op);
    rondo_type_destroy(type);
  }
};

void expect_same(std::span<const Matrix> got, std::span<const Matrix> expected, const std::string& what) {
  for (size_t i = 0; i < expected.size(); ++i)
    require(got[i] == expected[i],
            [&] { return what + ": element " + std::to_string(i) + " is out of order"; });
}

/// Every reduction of the ranks' matrices; in place as well if the matrices are one block.
void multiply_in_order(const Rank& rank, const UserReduction& with, uint64_t seed, size_t count) {
  for (const Kind kind : kAllCollectives) {
    const bool blocks = traits(kind).sends_blocks();
    const size_t all = blocks ? count * static_cast<size_t>(rank.size) : count;
    for (int root = 0; reduces(kind) && root < (has_root(kind) ? rank.size : 1); ++root)
      for (const bool in_place : {false, true}) {
        if (blocks && in_place) continue;
        const auto mine = matrices(seed, rank.rank, all);
        const std::vector<Matrix> before = in_place ? mine : std::vector<Matrix>(count);
        std::vector<Matrix> got = before;
        const void* from = in_place ? got.data() : mine.data();
        check(make_call({kind, from, got.data(), count, with.type, with.op, root}, rank.comm), rank.comm);
        const auto result = block_result(kind, rank.size, root, rank.rank, 0);
        const auto product = result ? product_of_ranks(seed, result->first, result->end, all) : before;
        const size_t first = result ? static_cast<size_t>(result->block) * count : 0;
        expect_same(got, std::span(product).subspan(first, count),
                    std::string(collective_name(kind)) + ", root " + std::to_string(root));
      }
  }
}

/// Forces each algorithm in turn; those that need a commutative operation must say so.
void every_algorithm_keeps_the_order(const Rank& rank, const UserReduction& with) {
  const auto names = algorithms_of("all_reduce", rank.size);
  for (const std::string& name : names) {
    const std::string wish = "all_reduce=" + name;
    const Child child(rank, wish);
    const rondo_comm_t comm = child.rank.comm;
    const auto mine = matrices(5, rank.rank, 50);
    std::vector<Matrix> got(50);
    const rondo_status_t status =
        rondo_all_reduce(mine.data(), got.data(), 50, with.type, with.op, comm, nullptr);
    if (name.ends_with("ring") || name == "halving_doubling" || name == "hierarchical_halving") {
      check_fails(status, RONDO_UNSUPPORTED, {"not commutative", name}, comm);
      continue;
    }
    check(status, comm);
    expect_same(got, product_of_ranks(5, 0, rank.size, 50), wish);
  }
}

TEST_CASE("an operation that does not commute is applied in rank order") {
  for (const Way& way : kWays) {
    for (const int nranks : {1, 2, 3, 5, 6, 8}) {
      const Environment slots("RONDO_SLOT_BYTES", "512");
      INFO(way.transport << ", " << nranks << " ranks");
      expect_success(run_world(world_of(way, nranks), [](Rank& rank) {
        const UserReduction with(sizeof(Matrix), multiply, false);
        for (const size_t count : {0u, 1u, 2u, 33u, 200u}) multiply_in_order(rank, with, 100 + count, count);
      }));
    }
  }
}

TEST_CASE("every algorithm keeps the order, or says that it cannot") {
  for (const int nranks : {2, 3, 4, 7}) {
    const Environment groups = in_groups(nranks);
    INFO(nranks << " ranks");
    expect_success(run_world({.nranks = nranks, .threads = true}, [](Rank& rank) {
      const UserReduction with(sizeof(Matrix), multiply, false);
      every_algorithm_keeps_the_order(rank, with);
    }));
  }
}

TEST_CASE("every algorithm of a scan keeps the order, in and out of place, in one tile and in several") {
  for (const int nranks : {4, 6, 8, 12}) {
    const Environment groups = in_groups(nranks), slots("RONDO_SLOT_BYTES", "512");
    INFO(nranks << " ranks");
    expect_success(run_world({.nranks = nranks, .threads = true}, [](Rank& rank) {
      const UserReduction with(sizeof(Matrix), multiply, false);
      const auto names = algorithms_of("scan", rank.size);
      require(std::ranges::count(names, "hierarchical_doubling") == 1, [] { return "no groups"; });
      for (const std::string& name : names) {
        const Child child(rank, "scan=" + name + ";exscan=" + name);
        for (const size_t count : {1u, 200u}) multiply_in_order(child.rank, with, 40 + count, count);
      }
    }));
  }
}

/// Adds bytes; counts its calls in `user`.
template <size_t Bytes>
void add_bytes(void* accumulator, const void* operand, size_t count, rondo_type_t, void* user) {
  auto* left = static_cast<uint8_t*>(accumulator);
  const auto* right = static_cast<const uint8_t*>(operand);
  for (size_t i = 0; i < count * Bytes; ++i) left[i] = static_cast<uint8_t>(left[i] + right[i]);
  ++*static_cast<int*>(user);
}

template <size_t Bytes>
void add_elements_of(const Rank& rank, size_t count) {
  int calls = 0;
  const UserReduction with(Bytes, add_bytes<Bytes>, true, &calls);
  const auto mine = random_bytes(9, rank.rank, Bytes * count);
  std::vector<std::byte> expected(mine.size());
  for (int r = 0; r < rank.size; ++r) {
    const auto other = random_bytes(9, r, mine.size());
    for (size_t i = 0; i < other.size(); ++i)
      expected[i] = static_cast<std::byte>(static_cast<int>(expected[i]) + static_cast<int>(other[i]));
  }
  Guarded got(mine.size(), 1);
  check(rondo_all_reduce(mine.data(), got.data(), count, with.type, with.op, rank.comm, nullptr), rank.comm);
  require(same_bytes(expected.data(), got.data(), expected.size()),
          std::to_string(Bytes) + " bytes: wrong sum");
  require(got.guards_intact(), std::to_string(Bytes) + " bytes: memory beside the buffer was written");
  for (const Kind kind : kAllCollectives)
    if (!reduces(kind))
      run_trial(rank, {.kind = kind,
                       .count = count,
                       .type = with.type,
                       .type_bytes = Bytes,
                       .root = rank.size - 1,
                       .seed = Bytes});
}

TEST_CASE("types of any size are moved, and reduced by user functions") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      for (const size_t count : {1u, 50u}) {
        add_elements_of<1>(rank, count);
        add_elements_of<3>(rank, count);
        add_elements_of<24>(rank, count);
        add_elements_of<4096>(rank, count);
      }
    }));
  }
}

void move_elements_of(const Rank& rank, size_t bytes) {
  rondo_type_t type = 0;
  check(rondo_type_create(bytes, &type));
  for (const Kind kind : kAllCollectives) {
    if (reduces(kind) || kind == Kind::Barrier) continue;
    Trial trial{.kind = kind, .count = 3, .type = type, .type_bytes = bytes, .root = rank.size - 1};
    run_trial(rank, trial);
    trial.varying = traits(kind).has_blocks();
    for (trial.seed = 2; trial.varying && trial.seed < 5; ++trial.seed) run_trial(rank, trial);
  }
  check(rondo_type_destroy(type));
}

TEST_CASE("elements longer than a slot are moved in pieces, but reduced only if they fit") {
  const Environment slots("RONDO_SLOT_BYTES", "4096");
  const Environment exchange("RONDO_EXCHANGE_BYTES", "0");
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 3), [](Rank& rank) {
      move_elements_of(rank, 4097);
      move_elements_of(rank, 100'003);
      const UserReduction with(4097, add_bytes<4097>, true);
      const std::vector<std::byte> mine(4097);
      std::vector<std::byte> got(4097);
      check_fails(rondo_all_reduce(mine.data(), got.data(), 1, with.type, with.op, rank.comm, nullptr),
                  RONDO_UNSUPPORTED, {"elements of 4097 bytes", "a slot has 4096 bytes", "RONDO_SLOT_BYTES"},
                  rank.comm);
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("a user's function may work on a built-in type") {
  expect_success(run_world({.nranks = 4, .threads = true}, [](Rank& rank) {
    rondo_op_t op = 0;
    const auto greatest_common_divisor = [](void* a, const void* b, size_t count, rondo_type_t type, void*) {
      require(type == RONDO_INT32, "the function got a different type");
      for (size_t i = 0; i < count; ++i) {
        int x = static_cast<int*>(a)[i];
        int y = static_cast<const int*>(b)[i];
        while (y != 0) x = std::exchange(y, x % y);
        static_cast<int*>(a)[i] = x;
      }
    };
    check(rondo_op_create(greatest_common_divisor, 1, nullptr, &op));
    const std::array<int, 2> mine{12 * (rank.rank + 1), 35 * (rank.rank + 2)};
    std::array<int, 2> got{};
    check(rondo_all_reduce(mine.data(), got.data(), 2, RONDO_INT32, op, rank.comm, nullptr), rank.comm);
    require(got == std::array<int, 2>{12, 35}, "wrong divisors");
    check(rondo_op_destroy(op));
  }));
}

/// Every rank has its own scalar.
template <typename T>
void premultiplied(const Rank& rank, rondo_type_t type, const std::string& algorithms, size_t count) {
  const Child child(rank, algorithms);
  const rondo_comm_t comm = child.rank.comm;
  const T scalar = static_cast<T>(rank.rank + 2);
  const PremulSum sum(&scalar, type);
  std::vector<T> mine(count);
  std::vector<T> expected(count);
  std::vector<T> got(count);
  for (size_t i = 0; i < count; ++i) {
    mine[i] = static_cast<T>(static_cast<T>(i % 5) + static_cast<T>(rank.rank));
    for (int r = 0; r < rank.size; ++r)
      expected[i] =
          static_cast<T>(expected[i] + static_cast<T>(r + 2) * (static_cast<T>(i % 5) + static_cast<T>(r)));
  }
  check(rondo_all_reduce(mine.data(), got.data(), count, type, sum.get(), comm, nullptr), comm);
  require(got == expected, "all_reduce by " + algorithms + " of type " + type_name(type) + " is wrong");
  check(rondo_reduce(mine.data(), got.data(), count, type, sum.get(), 0, comm, nullptr), comm);
  require(rank.rank != 0 || got == expected, std::string("reduce of type ") + type_name(type) + " is wrong");
  const size_t part = count / static_cast<size_t>(rank.size);
  check(rondo_reduce_scatter(mine.data(), got.data(), part, type, sum.get(), comm, nullptr), comm);
  require(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(part),
                     expected.begin() + static_cast<std::ptrdiff_t>(part * static_cast<size_t>(rank.rank))),
          std::string("reduce_scatter of type ") + type_name(type) + " is wrong");
}

/// Runs the test by every algorithm.
void premultiplied_by_all(const Rank& rank, size_t count) {
  for (const std::string& name : algorithms_of("all_reduce", rank.size)) {
    premultiplied<float>(rank, RONDO_FLOAT32, "all_reduce=" + name, count);
    premultiplied<int32_t>(rank, RONDO_INT32, "all_reduce=" + name, count);
  }
  for (const std::string& name : algorithms_of("reduce", rank.size))
    premultiplied<double>(rank, RONDO_FLOAT64, "reduce=" + name, count);
  for (const std::string& name : algorithms_of("reduce_scatter", rank.size))
    premultiplied<uint8_t>(rank, RONDO_UINT8, "reduce_scatter=" + name, count);
}

TEST_CASE("a pre-multiplied sum is scaled once if peers read long messages in place") {
  const Environment reads("RONDO_READ_PEER", "1");
  const Environment exchange("RONDO_EXCHANGE_BYTES", "0");
  const bool threads = GENERATE(true, false);
  for (const int nranks : {2, 3}) {
    INFO(nranks << " ranks");
    expect_success(run_world({.nranks = nranks, .transport = threads ? "local" : "shm", .threads = threads},
                             [](Rank& rank) { premultiplied_by_all(rank, 60'000); }));
  }
}

TEST_CASE("a pre-multiplied sum scales each rank's input by that rank's scalar, once") {
  for (const int nranks : {1, 2, 3, 6}) {
    const Environment slots("RONDO_SLOT_BYTES", "256");
    const Environment groups = in_groups(nranks);
    INFO(nranks << " ranks");
    expect_success(
        run_world({.nranks = nranks, .threads = true}, [](Rank& rank) { premultiplied_by_all(rank, 300); }));
  }
}

TEST_CASE("an average divides the sum once, integers toward zero, in every algorithm") {
  expect_success(run_world({.nranks = 3, .threads = true}, [](Rank& rank) {
    for (const std::string& name : algorithms_of("all_reduce", rank.size)) {
      const std::string wish = "all_reduce=" + name;
      const Child child(rank, wish);
      const rondo_comm_t comm = child.rank.comm;
      const std::array<int32_t, 4> mine{rank.rank - 3, rank.rank + 2, -1, rank.rank == 0 ? -2 : 0};
      std::array<int32_t, 4> got{};
      check(rondo_all_reduce(mine.data(), got.data(), 4, RONDO_INT32, RONDO_AVG, comm, nullptr), comm);
      require(got == std::array<int32_t, 4>{-2, 3, -1, 0}, wish + ": wrong average");
      for (uint64_t seed = 1; seed < 5; ++seed)
        for (const rondo_type_t type :
             {RONDO_FLOAT16, RONDO_FLOAT32, RONDO_INT8, RONDO_UINT64, RONDO_COMPLEX64})
          run_trial(child.rank, {.count = 700, .type = type, .op = RONDO_AVG, .seed = seed});
    }
  }));
}

TEST_CASE("types and operations are refused before their creation and after their destruction") {
  rondo_type_t type = 0;
  check_fails(rondo_type_create(0, &type), RONDO_INVALID_ARGUMENT, {"rondo_type_create", "bytes is 0"});
  check_fails(rondo_type_create((1u << 30) + 1, &type), RONDO_INVALID_ARGUMENT, {"bytes is 1073741825"});
  check_fails(rondo_type_create(8, nullptr), RONDO_INVALID_ARGUMENT, {"type is NULL"});
  check(rondo_type_create(65'536, &type));
  size_t bytes = 0;
  check(rondo_type_size(type, &bytes));
  CHECK(bytes == 65'536);
  check(rondo_type_destroy(type));
  check_fails(rondo_type_destroy(type), RONDO_INVALID_ARGUMENT, {"type is " + std::to_string(type)});
  check_fails(rondo_type_size(type, &bytes), RONDO_INVALID_ARGUMENT, {"type is " + std::to_string(type)});
  check_fails(rondo_type_destroy(RONDO_INT8), RONDO_INVALID_ARGUMENT, {"type is 0"});
  rondo_op_t op = 0;
  const float two = 2;
  check_fails(rondo_op_create(nullptr, 1, nullptr, &op), RONDO_INVALID_ARGUMENT, {"fn is NULL"});
  check_fails(rondo_op_create(multiply, 1, nullptr, nullptr), RONDO_INVALID_ARGUMENT, {"op is NULL"});
  check_fails(rondo_op_create_premul_sum(nullptr, RONDO_FLOAT32, &op), RONDO_INVALID_ARGUMENT,
              {"scalar is NULL"});
  check_fails(rondo_op_create_premul_sum(&two, RONDO_BOOL, &op), RONDO_INVALID_ARGUMENT, {"type is 16"});
  check(rondo_op_create_premul_sum(&two, RONDO_FLOAT32, &op));
  check(rondo_op_destroy(op));
  check_fails(rondo_op_destroy(op), RONDO_INVALID_ARGUMENT, {"op is " + std::to_string(op)});
  check_fails(rondo_op_destroy(RONDO_SUM), RONDO_INVALID_ARGUMENT, {"op is 0"});
}

TEST_CASE("a type and an operation destroyed during a call stay valid for it") {
  expect_success(run_world({.nranks = 2, .threads = true}, [](Rank& rank) {
    OwnedQueue queue;
    const auto mine = matrices(3, rank.rank, 100);
    std::vector<Matrix> got(100);
    {
      const UserReduction with(sizeof(Matrix), multiply, false);
      check(rondo_all_reduce(mine.data(), got.data(), 100, with.type, with.op, rank.comm, queue.get()),
            rank.comm);
    }
    check(rondo_queue_synchronize(queue.get()));
    expect_same(got, product_of_ranks(3, 0, 2, 100), "all_reduce");
  }));
}

}  // namespace
}  // namespace rondo::test
