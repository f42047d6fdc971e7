// SPDX-License-Identifier: Apache-2.0
// The device's fold(), compiled for the host, gives the bits of reduce_reference(), whatever the number of
// lanes, from plain memory and from lines.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <thread>

#include "catch.h"
#include "comparison.h"
#include "line_task.h"
#include "seed.h"

namespace rondo {
namespace {

constexpr uint64_t kSeed = 20261121;

/// The task refers to `scalar`.
device::FoldTask task_of(const ReduceArgs& args, void* const* outs, int nouts, device::Scalar& scalar) {
  device::FoldTask task{.sources = args.sources.data(),
                        .nsources = static_cast<int>(args.sources.size()),
                        .outs = outs,
                        .nouts = nouts,
                        .count = args.count,
                        .type = args.type,
                        .op = args.op,
                        .divisor = args.divisor,
                        .scalars = &scalar,
                        .scalar_step = 0};
  if (args.scaled_source < 0) return task;
  task.scaled = uint64_t{1} << args.scaled_source;
  std::memcpy(scalar.bytes, args.scalar, element_info(args.type).bytes);
  return task;
}

/// Runs the lanes one after another in random order: they are independent.
void run_lanes(const device::FoldTask& task, uint32_t lanes, std::mt19937_64& random) {
  std::vector<uint32_t> order(lanes);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  for (const uint32_t lane : order) device::fold(task, {lane, lanes});
}

void require_equal(ComparedCall call, std::mt19937_64& random) {
  static constexpr std::array<uint32_t, 4> kLanes{1, 3, 32, 130};
  call.alignment = random() % 3 == 0 ? 64 : device_alignment(call.type);
  const uint32_t lanes = kLanes[random() % kLanes.size()];
  const auto fault = compare(call, random, [&](const ReduceArgs& args) {
    void* const out = args.out;
    device::Scalar scalar;
    run_lanes(task_of(args, &out, 1, scalar), lanes, random);
  });
  if (fault) FAIL(*fault << ", by " << lanes << " lanes");
}

int random_alias(int sources, std::mt19937_64& random) {
  return static_cast<int>(random() % static_cast<uint64_t>(sources + 1)) - 1;
}

}  // namespace

TEST_CASE("the device's fold of every type and operation equals the reference at every size and alignment") {
  std::mt19937_64 random(test::test_seed(kSeed));
  CAPTURE(kSeed);
  for (const ElementType type : all_types())
    for (const Reduction op : reductions_of(type))
      for (const size_t count : {0u, 1u, 2u, 7u, 15u, 16u, 17u, 63u, 64u, 65u, 257u, 1009u, 5003u})
        for (int sources = 1; sources <= 5; ++sources)
          require_equal({.type = type,
                         .op = op,
                         .count = count,
                         .sources = sources,
                         .aliased = random_alias(sources, random)},
                        random);
}

TEST_CASE("the device's fold scales and divides like the reference") {
  std::mt19937_64 random(test::test_seed(kSeed + 1));
  CAPTURE(kSeed);
  for (const ElementType type : all_types())
    for (const Reduction op : {Reduction::Sum, Reduction::Avg}) {
      if (!reduction_takes(op, type)) continue;
      for (const int divisor : {1, 2, 3, 7, 8, 127, 128, 255, 1000, 65536, 0x7FFFFFFF})
        for (int sources = 1; sources <= 4; ++sources)
          for (int scaled = -1; scaled < sources; ++scaled)
            require_equal({.type = type,
                           .op = op,
                           .count = random() % 300,
                           .sources = sources,
                           .aliased = random_alias(sources, random),
                           .divisor = divisor,
                           .scaled = scaled},
                          random);
    }
}

TEST_CASE("the device's fold writes one value to several results") {
  std::mt19937_64 random(test::test_seed(kSeed + 2));
  CAPTURE(kSeed);
  for (const ElementType type : all_types()) {
    const size_t bytes = element_info(type).bytes;
    for (const int nouts : {2, 3, 7}) {
      for (const int sources : {1, 2, 3}) {
        const size_t count = random() % 2000;
        std::vector<Bytes> in(static_cast<size_t>(sources), Bytes(count * bytes));
        std::vector<const void*> pointers;
        for (Bytes& source : in) {
          fill_samples(source, type, random);
          pointers.push_back(source.data());
        }
        Bytes expected(count * bytes);
        ReduceArgs args{.out = expected.data(), .sources = pointers, .count = count, .type = type};
        reduce_reference(args);
        std::vector<Bytes> results(static_cast<size_t>(nouts), Bytes(count * bytes));
        std::vector<void*> outs;
        for (Bytes& result : results) outs.push_back(result.data());
        device::Scalar scalar;
        run_lanes(task_of(args, outs.data(), nouts, scalar), 7, random);
        for (const Bytes& result : results) REQUIRE(result == expected);
      }
    }
  }
}

namespace {

/// A fold by one block, with some sources and results in lines.
class LineTrial {
 public:
  LineTrial(device::Protocol protocol, ElementType type, size_t count)
      : protocol_(protocol),
        type_(type),
        count_(count),
        type_bytes_(element_info(type).bytes),
        footprint_(device::piece_footprint(protocol, count * type_bytes_, type_bytes_)) {}

  /// Like `args`, but with the result and the sources (all, or all but the first) in lines.
  void reduce(const ReduceArgs& args, device::Scalar& scalar, bool first_is_plain) {
    std::vector<Lines> lines(args.sources.size());
    std::vector<const void*> sources;
    std::vector<uint64_t> flags;
    for (size_t k = 0; k < lines.size(); ++k) {
      const bool plain = k == 0 && first_is_plain;
      if (!plain) copy(args.sources[k], 0, fresh(lines[k]), 10 + k);
      sources.push_back(plain ? args.sources[k] : lines[k].data());
      flags.push_back(plain ? 0 : 10 + k);
    }
    Lines result;
    void* const outs[] = {fresh(result), args.out};
    const uint64_t out_flags[] = {99, 0};
    device::FoldTask task = task_of(args, outs, 2, scalar);
    task.sources = sources.data();
    run(task, flags.data(), out_flags);
    Bytes read_back(count_ * type_bytes_);
    copy(result.data(), 99, read_back.data(), 0);
    if (!read_back.empty()) REQUIRE(std::memcmp(read_back.data(), args.out, read_back.size()) == 0);
  }

 private:
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  using Lines = std::vector<Line>;

  Line* fresh(Lines& lines) const {
    lines.assign(footprint_ / sizeof(Line) + 1, Line{});
    return lines.data();
  }

  void copy(const void* from, uint64_t from_flag, void* to, uint64_t to_flag) const {
    device::FoldTask task{
        .sources = &from, .nsources = 1, .outs = &to, .nouts = 1, .count = count_, .type = type_};
    run(task, &from_flag, &to_flag);
  }

  void run(device::FoldTask task, const uint64_t* source_flags, const uint64_t* out_flags) const {
    constexpr uint32_t kThreads = device::kLineLanes + 1;  // LL128 leaves one thread over
    device::BlockMeeting meeting(kThreads);
    const device::CallHealth health;
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] {
        device::Block block(meeting, thread);
        device::LineTask lines;
        lines.protocol = protocol_;
        lines.source_flags = source_flags;
        lines.out_flags = out_flags;
        lines.type_bytes = static_cast<uint32_t>(type_bytes_);
        lines.block = &block;
        lines.health = &health;
        device::FoldTask own = task;
        own.lines = &lines;
        device::fold(own, {thread, kThreads});
      });
    for (std::thread& thread : threads) thread.join();
  }

  device::Protocol protocol_;
  ElementType type_;
  size_t count_;
  size_t type_bytes_;
  uint64_t footprint_;
};

}  // namespace

TEST_CASE("the device's fold of lines gives the same bits") {
  std::mt19937_64 random(test::test_seed(kSeed + 4));
  CAPTURE(kSeed);
  for (const auto protocol : {device::Protocol::LL, device::Protocol::LL128})
    for (const ElementType type : all_types())
      for (const Reduction op : reductions_of(type))
        for (int sources = 1; sources <= 6; ++sources) {
          const ComparedCall call{.type = type,
                                  .op = op,
                                  .count = random() % 100,
                                  .sources = sources,
                                  .divisor = op == Reduction::Avg ? sources : 1,
                                  .alignment = device_alignment(type)};
          LineTrial trial(protocol, type, call.count);
          const auto fault = compare(call, random, [&](const ReduceArgs& args) {
            device::Scalar scalar;
            trial.reduce(args, scalar, random() % 2 == 0);
          });
          if (fault) FAIL(*fault << ", by lines of protocol " << static_cast<int>(protocol));
        }
}

TEST_CASE("the device copies bytes of any alignment") {
  std::mt19937_64 random(test::test_seed(kSeed + 3));
  CAPTURE(kSeed);
  for (int i = 0; i < 3000; ++i)
    require_equal({.type = ElementType::UInt8, .count = random() % 5000, .sources = 1}, random);
}

}  // namespace rondo
