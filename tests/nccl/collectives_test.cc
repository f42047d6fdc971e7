// SPDX-License-Identifier: Apache-2.0
// Every collective, in every way that NCCL programs start their ranks: one process each, one thread each, or
// one thread for all of them, which groups its calls. Compared with sums and copies computed here.
#include <algorithm>
#include <array>
#include <memory>

#include "catch.h"
#include "elements.h"
#include "ranks.h"

namespace rondo::test {
namespace {

using Bytes = std::vector<std::byte>;

/// The last count needs several tiles; testing it with one type is enough.
std::vector<size_t> counts_for(const Type& type) {
  if (type.type == ncclFloat32) return {0, 1, 3, 1021, 40'007};
  return {0, 1, 3, 1021};
}

/// Rank r's value at i: small, so that all types represent its sums and products exactly.
double value_at(int rank, size_t i) { return static_cast<double>((i + static_cast<size_t>(rank)) % 2 + 1); }

std::vector<double> values_of(int rank, size_t count, size_t offset = 0) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = value_at(rank, offset + i);
  return values;
}

double combine(ncclRedOp_t op, double a, double b) {
  switch (op) {
    case ncclProd: return a * b;
    case ncclMax: return std::max(a, b);
    case ncclMin: return std::min(a, b);
    case ncclSum:
    case ncclAvg: break;
  }
  return a + b;
}

double reduced_at(ncclRedOp_t op, int size, size_t i) {
  double value = value_at(0, i);
  for (int rank = 1; rank < size; ++rank) value = combine(op, value, value_at(rank, i));
  return value;
}

std::vector<double> reduced(ncclRedOp_t op, int size, size_t count, size_t offset = 0) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = reduced_at(op, size, offset + i);
  return values;
}

/// One rank's part of one call: issued now, checked when all are done.
struct Part {
  Bytes send;
  Bytes recv;
  std::vector<double> expected;
  Type type;
  std::string what;

  void look() const {
    const std::vector<double> got = decode(type, recv);
    require(got.size() == expected.size(), what + ": wrong size");
    for (size_t i = 0; i < got.size(); ++i)
      require(got[i] == expected[i], [&] {
        return what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
               std::to_string(expected[i]);
      });
  }
};

struct Member {
  ncclComm_t comm;
  int rank;
  int size;
};

Part part_of(const Type& type, std::string what, const std::vector<double>& send,
             std::vector<double> expected) {
  Part part{encode(type, send), Bytes(expected.size() * type.bytes, std::byte{0x55}), std::move(expected),
            type, std::move(what)};
  return part;
}

std::vector<double> blocks_of_all(int size, size_t count) {
  std::vector<double> all;
  for (int rank = 0; rank < size; ++rank)
    for (const double value : values_of(rank, count)) all.push_back(value);
  return all;
}

/// Keeps alive what the calls use until they have completed.
using Parts = std::vector<std::unique_ptr<Part>>;

Part& keep(Parts& parts, Part part) {
  parts.push_back(std::make_unique<Part>(std::move(part)));
  return *parts.back();
}

void call_reductions(const Member& at, const Type& type, ncclRedOp_t op, size_t count, Parts& parts) {
  const std::string name =
      std::string(type.name) + " op " + std::to_string(op) + " count " + std::to_string(count);
  const int root = at.size - 1;
  Part& all = keep(
      parts, part_of(type, "all_reduce " + name, values_of(at.rank, count), reduced(op, at.size, count)));
  done(ncclAllReduce(all.send.data(), all.recv.data(), count, type.type, op, at.comm, nullptr), at.comm);
  Part& one = keep(parts, part_of(type, "reduce " + name, values_of(at.rank, count),
                                  at.rank == root ? reduced(op, at.size, count) : std::vector<double>{}));
  done(ncclReduce(one.send.data(), at.rank == root ? one.recv.data() : nullptr, count, type.type, op, root,
                  at.comm, nullptr),
       at.comm);
  const size_t n = static_cast<size_t>(at.size);
  Part& mine = keep(parts, part_of(type, "reduce_scatter " + name, values_of(at.rank, n * count),
                                   reduced(op, at.size, count, static_cast<size_t>(at.rank) * count)));
  done(ncclReduceScatter(mine.send.data(), mine.recv.data(), count, type.type, op, at.comm, nullptr),
       at.comm);
}

void call_moves(const Member& at, const Type& type, size_t count, Parts& parts) {
  const std::string name = std::string(type.name) + " count " + std::to_string(count);
  const int root = at.size / 2;
  const bool is_root = at.rank == root;
  const std::vector<double> own = values_of(at.rank, count);
  Part& cast = keep(parts, part_of(type, "broadcast " + name, own, values_of(root, count)));
  done(ncclBroadcast(is_root ? cast.send.data() : nullptr, cast.recv.data(), count, type.type, root, at.comm,
                     nullptr),
       at.comm);
  Part& in_place = keep(parts, part_of(type, "bcast " + name, {}, values_of(root, count)));
  in_place.recv = encode(type, own);
  done(ncclBcast(in_place.recv.data(), count, type.type, root, at.comm, nullptr), at.comm);
  Part& gathered = keep(parts, part_of(type, "all_gather " + name, own, blocks_of_all(at.size, count)));
  done(ncclAllGather(gathered.send.data(), gathered.recv.data(), count, type.type, at.comm, nullptr),
       at.comm);
  Part& at_root = keep(parts, part_of(type, "gather " + name, own,
                                      is_root ? blocks_of_all(at.size, count) : std::vector<double>{}));
  done(ncclGather(at_root.send.data(), is_root ? at_root.recv.data() : nullptr, count, type.type, root,
                  at.comm, nullptr),
       at.comm);
  Part& dealt = keep(parts, part_of(type, "scatter " + name, blocks_of_all(at.size, count), own));
  done(ncclScatter(is_root ? dealt.send.data() : nullptr, dealt.recv.data(), count, type.type, root, at.comm,
                   nullptr),
       at.comm);
}

/// Rank r sends block k of its vector, which differs by rank, to rank k; also in place.
void call_all_to_all(const Member& at, const Type& type, size_t count, Parts& parts) {
  const size_t n = static_cast<size_t>(at.size);
  std::vector<double> expected;
  for (int rank = 0; rank < at.size; ++rank)
    for (const double value : values_of(rank, count, static_cast<size_t>(at.rank) * count))
      expected.push_back(value);
  Part& part = keep(parts, part_of(type, "all_to_all", values_of(at.rank, n * count), expected));
  done(ncclAlltoAll(part.send.data(), part.recv.data(), count, type.type, at.comm, nullptr), at.comm);
  Part& in_place = keep(parts, part_of(type, "all_to_all in place", {}, expected));
  in_place.recv = part.send;
  done(ncclAlltoAll(in_place.recv.data(), in_place.recv.data(), count, type.type, at.comm, nullptr), at.comm);
}

/// Sends to the right and receives from the left, within a group, as NCCL requires.
void call_ring(const Member& at, const Type& type, size_t count, Parts& parts) {
  const int right = (at.rank + 1) % at.size;
  const int left = (at.rank + at.size - 1) % at.size;
  Part& part = keep(parts, part_of(type, "ring", values_of(at.rank, count), values_of(left, count)));
  done(ncclGroupStart());
  done(ncclSend(part.send.data(), count, type.type, right, at.comm, nullptr), at.comm);
  done(ncclRecv(part.recv.data(), count, type.type, left, at.comm, nullptr), at.comm);
  done(ncclGroupEnd(), at.comm);
}

void call_everything(const Member& at, const Type& type, size_t count, Parts& parts) {
  for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin}) {
    if (reduced_at(op, at.size, 0) <= type.most && reduced_at(op, at.size, 1) <= type.most)
      call_reductions(at, type, op, count, parts);
  }
  call_moves(at, type, count, parts);
  call_all_to_all(at, type, count, parts);
  call_ring(at, type, count, parts);
}

void look_at(const Parts& parts) {
  for (const auto& part : parts) part->look();
}

void be_rank(const Start& start) {
  const Comm comm(start);
  for (const Type& type : all_types())
    for (const size_t count : counts_for(type)) {
      Parts parts;
      call_everything({comm.get(), start.rank, start.size}, type, count, parts);
      look_at(parts);
    }
}

}  // namespace

TEST_CASE("every collective, type and operation, one process per rank") {
  for (const int size : {1, 3}) CHECK(run_processes(size, be_rank) == "");
}

TEST_CASE("every collective, type and operation, one thread per rank") {
  CHECK(run_threads(4, be_rank) == "");
}

TEST_CASE("every collective, type and operation, one thread for all ranks") {
  CHECK(run_alone([] {
          constexpr int kSize = 3;
          std::array<ncclComm_t, kSize> comms{};
          done(ncclCommInitAll(comms.data(), kSize, nullptr));
          for (const Type& type : all_types()) {
            Parts parts;
            done(ncclGroupStart());
            for (int rank = 0; rank < kSize; ++rank)
              call_everything({comms[static_cast<size_t>(rank)], rank, kSize}, type, 1021, parts);
            done(ncclGroupEnd());
            look_at(parts);
          }
          for (ncclComm_t comm : comms) done(ncclCommDestroy(comm));
        }) == "");
}

/// As nccl-tests does with several GPUs per process: one group starts this process's ranks, and groups make
/// the calls, in place and with several in flight.
void be_two_ranks(const Start& start) {
  constexpr size_t kEach = 2;
  constexpr size_t kCount = 1000;
  const int size = start.size * static_cast<int>(kEach);
  std::array<ncclComm_t, kEach> comms{};
  std::array<std::vector<int>, kEach> sums;
  std::array<std::vector<int>, kEach> blocks;
  const auto rank_of = [&](size_t i) { return start.rank * static_cast<int>(kEach) + static_cast<int>(i); };
  done(ncclGroupStart());
  for (size_t i = 0; i < kEach; ++i) done(ncclCommInitRank(&comms[i], size, start.id, rank_of(i)));
  done(ncclGroupEnd());
  for (size_t i = 0; i < kEach; ++i) {
    sums[i].assign(kCount, rank_of(i));
    blocks[i].assign(kCount * static_cast<size_t>(size), rank_of(i));
  }
  done(ncclGroupStart());
  for (size_t i = 0; i < kEach; ++i) {
    int* own = blocks[i].data() + static_cast<size_t>(rank_of(i)) * kCount;
    done(ncclAllReduce(sums[i].data(), sums[i].data(), kCount, ncclInt32, ncclSum, comms[i], nullptr),
         comms[i]);
    done(ncclAllGather(own, blocks[i].data(), kCount, ncclInt32, comms[i], nullptr), comms[i]);
    done(ncclReduceScatter(blocks[i].data(), own, kCount, ncclInt32, ncclSum, comms[i], nullptr), comms[i]);
  }
  done(ncclGroupEnd());
  for (size_t i = 0; i < kEach; ++i) {
    REQUIRED(sums[i] == std::vector<int>(kCount, size * (size - 1) / 2));
    for (size_t at = 0; at < blocks[i].size(); ++at) {
      const int block = static_cast<int>(at / kCount);
      REQUIRED(blocks[i][at] == (block == rank_of(i) ? size * block : block));
    }
  }
  for (ncclComm_t comm : comms) done(ncclCommDestroy(comm));
}

TEST_CASE("processes with several ranks each, as nccl-tests starts them, in place") {
  CHECK(run_processes(2, be_two_ranks) == "");
}

TEST_CASE("averages and pre-multiplied sums, with scalars in host or device residence") {
  CHECK(run_threads(2, [](const Start& start) {
          const Comm comm(start);
          std::array<float, 3> values{2, 4, 8};
          done(ncclAllReduce(values.data(), values.data(), 3, ncclFloat32, ncclAvg, comm.get(), nullptr));
          require(values == std::array<float, 3>{2, 4, 8}, "wrong average");
          for (const auto residence : {ncclScalarHostImmediate, ncclScalarDevice}) {
            float scalar = 0.5F;
            ncclRedOp_t op{};
            done(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, residence, comm.get()));
            scalar = 7;  // the scalar has been read
            std::array<float, 3> sums{};
            done(ncclAllReduce(values.data(), sums.data(), 3, ncclFloat32, op, comm.get(), nullptr));
            require(sums == values, "wrong sum");
            done(ncclRedOpDestroy(op, comm.get()));
            fails(ncclRedOpDestroy(op, comm.get()), ncclInvalidArgument, {"op is"}, comm.get());
          }
        }) == "");
}

TEST_CASE("communicators of one thread, used in different orders by different ranks of a group") {
  CHECK(run_processes(2, [](const Start& start) {
          const Comm first(start);
          Comm second;
          done(ncclCommSplit(first.get(), 0, 0, second.out(), nullptr));
          std::array<int, 2> values{1, 10};
          std::array<ncclComm_t, 2> comms{first.get(), second.get()};
          const size_t one = start.rank == 0 ? 0 : 1;
          done(ncclGroupStart());
          for (const size_t i : {one, 1 - one})
            done(ncclAllReduce(&values[i], &values[i], 1, ncclInt32, ncclSum, comms[i], nullptr));
          done(ncclGroupEnd());
          require(values == std::array<int, 2>{2, 20}, "wrong sums");
        }) == "");
}

TEST_CASE("memory from ncclMemAlloc(), registered, and windows, which are NULL") {
  CHECK(run_processes(2, [](const Start& start) {
          const Comm comm(start);
          void* memory = nullptr;
          done(ncclMemAlloc(&memory, 4096));
          void* handle = nullptr;
          done(ncclCommRegister(comm.get(), memory, 4096, &handle));
          auto* values = static_cast<int*>(memory);
          values[0] = 5;
          done(ncclAllReduce(values, values, 1, ncclInt32, ncclSum, comm.get(), nullptr));
          require(values[0] == 10, "wrong sum");
          done(ncclCommDeregister(comm.get(), handle));
          fails(ncclCommDeregister(comm.get(), handle), ncclInvalidArgument, {"not registered"}, comm.get());
          auto* window = reinterpret_cast<ncclWindow_t>(memory);
          done(ncclCommWindowRegister(comm.get(), memory, 4096, &window, 0));
          require(window == nullptr, "a window");
          done(ncclCommWindowDeregister(comm.get(), window));
          done(ncclMemFree(memory));
          fails(ncclMemFree(memory), ncclInvalidArgument, {"ptr is"});
        }) == "");
}

}  // namespace rondo::test
