// SPDX-License-Identifier: Apache-2.0
// Which types rondo.hpp deduces, which buffers it takes, and what does not compile.
#include <array>
#include <atomic>
#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#ifdef __STDCPP_FLOAT16_T__
#include <stdfloat>
#endif

#include "ranks.h"

/// A half of another library.
struct Half {
  unsigned short bits;
};
template <>
inline constexpr rondo_type_t rondo::builtin_type<Half> = RONDO_FLOAT16;

// Members of templates are compiled only if something uses them.
template class rondo::BasicCalls<rondo::Throwing>;
template class rondo::BasicCommunicator<rondo::Throwing>;
template class rondo::BasicRequest<rondo::Throwing>;
template class rondo::BasicGroup<rondo::Throwing>;
template class rondo::BasicQueue<rondo::Throwing>;
template class rondo::BasicEvent<rondo::Throwing>;
template class rondo::BasicRegistration<rondo::Throwing>;
template class rondo::BasicMemory<rondo::Throwing, int>;
template class rondo::BasicReduction<rondo::Throwing, int>;

namespace rondo::test {
namespace {

struct Particle {
  double x;
  int charge;
  bool operator==(const Particle&) const = default;
};

static_assert(builtin_type<bool> == RONDO_BOOL);
static_assert(builtin_type<std::byte> == RONDO_UINT8 && builtin_type<unsigned char> == RONDO_UINT8);
static_assert(builtin_type<signed char> == RONDO_INT8 && builtin_type<short> == RONDO_INT16);
static_assert(builtin_type<unsigned short> == RONDO_UINT16 && builtin_type<char32_t> == RONDO_UINT32);
static_assert(builtin_type<int> == RONDO_INT32 && builtin_type<unsigned> == RONDO_UINT32);
static_assert(builtin_type<long> == (sizeof(long) == 8 ? RONDO_INT64 : RONDO_INT32));
static_assert(builtin_type<long long> == RONDO_INT64 && builtin_type<unsigned long long> == RONDO_UINT64);
static_assert(builtin_type<float> == RONDO_FLOAT32 && builtin_type<double> == RONDO_FLOAT64);
static_assert(builtin_type<std::complex<float>> == RONDO_COMPLEX64);
static_assert(builtin_type<std::complex<double>> == RONDO_COMPLEX128);
static_assert(builtin_type<float16> == RONDO_FLOAT16 && builtin_type<bfloat16> == RONDO_BFLOAT16);
static_assert(builtin_type<float8_e4m3> == RONDO_FLOAT8_E4M3 &&
              builtin_type<float8_e5m2> == RONDO_FLOAT8_E5M2);
static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2 && sizeof(float8_e4m3) == 1 &&
              sizeof(float8_e5m2) == 1);
#ifdef __STDCPP_FLOAT16_T__
static_assert(builtin_type<std::float16_t> == RONDO_FLOAT16 &&
              builtin_type<std::bfloat16_t> == RONDO_BFLOAT16);
#endif
static_assert(!BuiltinElement<long double> || sizeof(long double) == sizeof(double));
static_assert(BuiltinElement<Half> && Element<Particle> && !BuiltinElement<Particle>);
static_assert(!Element<std::string> && !Element<int*> && !Element<std::nullptr_t> &&
              !Element<int Particle::*>);

static_assert(Buffer<std::vector<int>&> && Buffer<const std::vector<int>&> && Buffer<std::string&>);
static_assert(Buffer<int (&)[3]> && Buffer<const char (&)[3]> && Buffer<std::array<Particle, 2>&>);
static_assert(Buffer<std::span<int>> && Buffer<std::string_view> && Buffer<const std::span<int>&>);
static_assert(Buffer<int&> && Buffer<const Particle&>);
static_assert(Buffer<std::vector<float, Allocator<float>>&> && Buffer<Memory<float>&>);
static_assert(WritableBuffer<std::vector<int>&> && WritableBuffer<const std::span<int>&> &&
              WritableBuffer<int&>);
static_assert(WritableBuffer<Memory<float>&> && !WritableBuffer<const Memory<float>&>);
static_assert(!WritableBuffer<const std::vector<int>&> && !WritableBuffer<std::span<const int>>);
static_assert(!WritableBuffer<const int&> && !WritableBuffer<std::string_view>);
// What owns its elements must outlive the call.
static_assert(!Buffer<std::vector<int>> && !Buffer<std::array<int, 2>> && !Buffer<int> &&
              !Buffer<Memory<float>>);
// Elements must be contiguous, and mean something to another process.
static_assert(!Buffer<std::list<int>&> && !Buffer<std::vector<bool>&> && !Buffer<std::vector<std::string>&>);
static_assert(!Buffer<std::vector<int*>&> && !Buffer<int*&> && !Buffer<std::vector<std::vector<int>>&>);

template <typename... Args>
concept Reduces = requires(const Communicator& comm, Args&&... args) {
  comm.all_reduce(std::forward<Args>(args)...);
};
static_assert(Reduces<std::vector<int>&, Op> && Reduces<const std::vector<int>&, std::span<int>, Op>);
static_assert(!Reduces<const std::vector<int>&, Op>);                 // in place, and const
static_assert(!Reduces<std::vector<int>&, std::vector<float>&, Op>);  // of two types
static_assert(!Reduces<std::vector<Particle>&, Op>);                  // of a type without such an operation
static_assert(Reduces<std::vector<Particle>&, Reduction<Particle>&>);
static_assert(!Reduces<std::vector<Particle>&, Reduction<int>&>);  // an operation of another type
static_assert(Reduces<std::vector<int>&, nothrow::Reduction<int>&>);

static_assert(std::is_nothrow_move_constructible_v<Communicator> &&
              !std::is_copy_constructible_v<Communicator>);
static_assert(!std::is_copy_constructible_v<Request> && !std::is_copy_assignable_v<Request>);
static_assert(!std::is_copy_constructible_v<Group> && !std::is_copy_constructible_v<Queue>);
static_assert(!std::is_copy_constructible_v<Event> && !std::is_copy_constructible_v<Memory<int>>);
static_assert(!std::is_copy_constructible_v<Registration> && !std::is_copy_constructible_v<Reduction<int>>);

/// The sum over 2 ranks of `one`, and the maximum, where `two` is their sum.
template <typename T>
void check_sum(const Communicator& comm, T one, T two) {
  std::array<T, 5> values;
  values.fill(one);
  comm.all_reduce(values, Op::sum);
  for (const T& value : values)
    require(std::memcmp(&value, &two, sizeof(T)) == 0,
            "type " + std::to_string(builtin_type<T>) + ": wrong sum");
}

TEST_CASE("every built-in type is reduced as itself") {
  as_ranks(2, true, [](const Communicator& comm) {
    check_sum<signed char>(comm, 3, 6);
    check_sum<unsigned char>(comm, 3, 6);
    check_sum<short>(comm, -300, -600);
    check_sum<unsigned short>(comm, 300, 600);
    check_sum<int>(comm, -70'000, -140'000);
    check_sum<unsigned>(comm, 70'000, 140'000);
    check_sum<long long>(comm, -(1LL << 40), -(1LL << 41));
    check_sum<unsigned long long>(comm, 1ULL << 40, 1ULL << 41);
    check_sum<float>(comm, 0.25F, 0.5F);
    check_sum<double>(comm, 0.25, 0.5);
    check_sum<std::complex<float>>(comm, {1.0F, -2.0F}, {2.0F, -4.0F});
    check_sum<std::complex<double>>(comm, {1.0, -2.0}, {2.0, -4.0});
    check_sum<bool>(comm, true, true);
    check_sum<std::byte>(comm, std::byte{3}, std::byte{6});
    check_sum<float16>(comm, {0x3c00}, {0x4000});  // 1.0 and 2.0
    check_sum<Half>(comm, {0x3c00}, {0x4000});
    check_sum<bfloat16>(comm, {0x3f80}, {0x4000});
    check_sum<float8_e4m3>(comm, {0x38}, {0x40});
    check_sum<float8_e5m2>(comm, {0x3c}, {0x40});
  });
}

TEST_CASE("any trivially copyable type travels, between threads and between processes") {
  as_ranks(3, [](const Communicator& comm) {
    std::vector<Particle> all(3);
    const Particle own{0.5 * comm.rank(), comm.rank()};
    comm.all_gather(own, all);
    require(all == std::vector<Particle>{{0.0, 0}, {0.5, 1}, {1.0, 2}}, "wrong particles");
    std::string text = comm.rank() == 2 ? "from rank 2" : std::string(11, '-');
    comm.broadcast(text, 2);
    require(text == "from rank 2", text);
    int row[2][2] = {{comm.rank(), 1}, {2, 3}};
    comm.all_reduce(row[0], Op::sum);
    require(row[0][0] == 3 && row[0][1] == 3 && row[1][0] == 2, "wrong row");
  });
}

TEST_CASE("a user's reduction combines any type, in the order of the ranks if it must") {
  as_ranks(5, [](const Communicator& comm) {
    const auto strongest = Reduction<Particle>::create([](const Particle& left, const Particle& right) {
      return left.charge < right.charge ? right : left;
    });
    std::vector<Particle> particles(7, {1.0 * comm.rank(), (comm.rank() * 2) % 5});
    comm.all_reduce(particles, strongest);
    require(particles == std::vector<Particle>(7, {2.0, 4}), "wrong maximum");

    const int factor =
        10;  // a function with a state: appends digits, which is associative and not commutative
    struct Digits {
      int value, shift;
    };
    const auto append = Reduction<Digits>::create(
        [factor](const Digits& left, const Digits& right) {
          Digits both{left.value, left.shift + right.shift};
          for (int i = 0; i < right.shift; ++i) both.value *= factor;
          both.value += right.value;
          return both;
        },
        Order::rank);
    Digits digits{comm.rank() + 1, 1};
    comm.all_reduce(digits, append);
    require(digits.value == 12345, std::to_string(digits.value));

    const auto weighted = Reduction<double>::premul_sum(comm.rank() + 1.0);
    double sum = 2.0;
    comm.all_reduce(sum, weighted);
    require(sum == 30.0, std::to_string(sum));
  });
}

TEST_CASE("a user's reduction gets elements that are aligned as their type") {
  struct alignas(64) Line {
    int value;
  };
  as_ranks(3, [](const Communicator& comm) {
    std::atomic<bool> is_aligned = true;
    const auto sum = Reduction<Line>::create([&](const Line& left, const Line& right) {
      for (const Line* one : {&left, &right})
        if (std::bit_cast<std::uintptr_t>(one) % alignof(Line) != 0) is_aligned = false;
      return Line{left.value + right.value};
    });
    for (const std::size_t count : {1, 100, 3000}) {
      std::vector<Line> lines(count, Line{comm.rank()});
      comm.all_reduce(lines, sum);
      require(lines.front().value == 3 && lines.back().value == 3, "wrong sum");
    }
    require(is_aligned, "an element is not aligned");
  });
}

}  // namespace
}  // namespace rondo::test
