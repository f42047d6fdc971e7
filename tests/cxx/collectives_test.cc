// SPDX-License-Identifier: Apache-2.0
// Every collective of rondo.hpp, in place and not, with 1 to 5 ranks and lengths of 0, 1 and a prime.
#include <complex>
#include <numeric>
#include <span>

#include "ranks.h"

namespace rondo::test {
namespace {

constexpr size_t kCounts[] = {0, 1, 13};
constexpr int kUntouched = 99;

/// A small number, so that no sum rounds.
template <typename T>
T element(int rank, size_t i) {
  return static_cast<T>((rank * 5 + static_cast<int>(i % 64) * 3) % 7);
}

/// Elements first to first + count - 1 of a rank.
template <typename T>
std::vector<T> elements(int rank, size_t count, size_t first = 0) {
  std::vector<T> made(count);
  for (size_t i = 0; i < count; ++i) made[i] = element<T>(rank, first + i);
  return made;
}

/// Their sums over ranks 0 to nranks - 1.
template <typename T>
std::vector<T> sums(int nranks, size_t count, size_t first = 0) {
  std::vector<T> made(count);
  for (size_t i = 0; i < count; ++i)
    for (int rank = 0; rank < nranks; ++rank) made[i] = static_cast<T>(made[i] + element<T>(rank, first + i));
  return made;
}

template <typename T>
std::vector<T> untouched(size_t count) {
  return std::vector<T>(count, static_cast<T>(kUntouched));
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

template <typename T>
void expect(const std::vector<T>& got, const std::vector<T>& wanted, const char* call) {
  require(got == wanted, std::string(call) + " of " + std::to_string(wanted.size()) + " elements is wrong");
}

/// How long the parts of ranks are: rank r has `count` + r elements.
std::vector<size_t> lengths(int nranks, size_t count) {
  std::vector<size_t> made(static_cast<size_t>(nranks));
  std::iota(made.begin(), made.end(), count);
  return made;
}

size_t total(const std::vector<size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), size_t{0});
}

/// This many elements of every rank, one after another.
template <typename T>
std::vector<T> of_all_ranks(const std::vector<size_t>& counts) {
  std::vector<T> made;
  for (size_t rank = 0; rank < counts.size(); ++rank)
    append(made, elements<T>(static_cast<int>(rank), counts[rank]));
  return made;
}

template <typename T>
void check_reductions(const Calls& comm, size_t count) {
  const int rank = comm.rank(), size = comm.size(), root = size - 1;
  const std::vector<T> in = elements<T>(rank, count);
  std::vector<T> out(count), inout = in;

  comm.all_reduce(in, out, Op::sum);
  expect(out, sums<T>(size, count), "all_reduce");
  comm.all_reduce(inout, Op::sum);
  expect(inout, out, "all_reduce in place");

  comm.scan(in, out, Op::sum);
  expect(out, sums<T>(rank + 1, count), "scan");
  comm.scan(inout = in, Op::sum);
  expect(inout, out, "scan in place");

  comm.exscan(in, out = untouched<T>(count), Op::sum);
  expect(out, rank == 0 ? untouched<T>(count) : sums<T>(rank, count), "exscan");
  comm.exscan(inout = in, Op::sum);
  expect(inout, rank == 0 ? in : out, "exscan in place");

  comm.reduce(in, rank == root ? std::span(out) : std::span<T>(), Op::sum, root);
  if (rank == root) expect(out, sums<T>(size, count), "reduce");
  comm.reduce(inout = in, Op::sum, root);
  expect(inout, rank == root ? sums<T>(size, count) : in, "reduce in place");
}

template <typename T>
void check_reduce_scatter(const Calls& comm, size_t count) {
  const auto ranks = static_cast<size_t>(comm.size()), rank = static_cast<size_t>(comm.rank());
  const std::vector<T> in = elements<T>(comm.rank(), ranks * count);
  std::vector<T> out(count), inout = in;
  comm.reduce_scatter(in, out, Op::sum);
  expect(out, sums<T>(comm.size(), count, rank * count), "reduce_scatter");
  comm.reduce_scatter(inout, Op::sum);
  const auto block = std::span(inout).subspan(rank * count, count);
  expect(std::vector<T>(block.begin(), block.end()), out, "reduce_scatter in place");

  const std::vector<size_t> counts = lengths(comm.size(), count);
  const size_t first = total({counts.begin(), counts.begin() + comm.rank()});
  const std::vector<T> in_v = elements<T>(comm.rank(), total(counts));
  std::vector<T> out_v(counts[rank]), inout_v = in_v;
  comm.reduce_scatter_v(in_v, out_v, counts, Op::sum);
  expect(out_v, sums<T>(comm.size(), counts[rank], first), "reduce_scatter_v");
  comm.reduce_scatter_v(inout_v, counts, Op::sum);
  const auto part = std::span(inout_v).subspan(first, counts[rank]);
  expect(std::vector<T>(part.begin(), part.end()), out_v, "reduce_scatter_v in place");
}

template <typename T>
void check_broadcast(const Calls& comm, size_t count) {
  const int root = comm.size() / 2;
  const std::vector<T> in = elements<T>(root, count);
  std::vector<T> out(count), inout = elements<T>(comm.rank(), count);
  comm.broadcast(comm.rank() == root ? std::span(in) : std::span<const T>(), out, root);
  expect(out, in, "broadcast");
  comm.broadcast(inout, root);
  expect(inout, in, "broadcast in place");
}

template <typename T>
void check_gathers(const Calls& comm, size_t count) {
  const int rank = comm.rank(), root = comm.size() / 2;
  const auto at = static_cast<size_t>(rank);
  const std::vector<size_t> equal(static_cast<size_t>(comm.size()), count),
      counts = lengths(comm.size(), count);
  const std::vector<T> all = of_all_ranks<T>(equal), all_v = of_all_ranks<T>(counts);
  const std::vector<T> in = elements<T>(rank, count), in_v = elements<T>(rank, counts[at]);

  std::vector<T> out(all.size()), out_v(all_v.size());
  comm.all_gather(in, out);
  expect(out, all, "all_gather");
  comm.all_gather_v(in_v, out_v, counts);
  expect(out_v, all_v, "all_gather_v");

  std::vector<T> inout(all.size()), inout_v(all_v.size());
  std::copy(in.begin(), in.end(), inout.begin() + static_cast<ptrdiff_t>(at * count));
  std::copy(in_v.begin(), in_v.end(),
            inout_v.begin() + static_cast<ptrdiff_t>(total({counts.begin(), counts.begin() + rank})));
  std::vector<T> rooted = rank == root ? inout : in, rooted_v = rank == root ? inout_v : in_v;
  comm.all_gather(inout);
  expect(inout, all, "all_gather in place");
  comm.all_gather_v(inout_v, counts);
  expect(inout_v, all_v, "all_gather_v in place");

  const std::span<T> nothing;
  comm.gather(in, rank == root ? std::span(out = untouched<T>(all.size())) : nothing, root);
  expect(out, all, "gather");
  comm.gather(rooted, root);
  expect(rooted, rank == root ? all : in, "gather in place");
  comm.gather_v(in_v, rank == root ? std::span(out_v = untouched<T>(all_v.size())) : nothing, counts, root);
  expect(out_v, all_v, "gather_v");
  comm.gather_v(rooted_v, counts, root);
  expect(rooted_v, rank == root ? all_v : in_v, "gather_v in place");
}

template <typename T>
void check_scatters(const Calls& comm, size_t count) {
  const int rank = comm.rank(), root = comm.size() - 1;
  const std::vector<size_t> equal(static_cast<size_t>(comm.size()), count),
      counts = lengths(comm.size(), count);
  const std::vector<T> all = of_all_ranks<T>(equal), all_v = of_all_ranks<T>(counts);
  const std::span<const T> nothing;

  std::vector<T> out(count), inout = rank == root ? all : untouched<T>(count);
  comm.scatter(rank == root ? std::span(all) : nothing, out, root);
  expect(out, elements<T>(rank, count), "scatter");
  comm.scatter(inout, root);
  expect(inout, rank == root ? all : out, "scatter in place");

  std::vector<T> out_v(counts[static_cast<size_t>(rank)]);
  std::vector<T> inout_v = rank == root ? all_v : untouched<T>(out_v.size());
  const Parts parts = rank == root ? Parts(counts) : Parts(std::span<const size_t>());
  comm.scatter_v(rank == root ? std::span(all_v) : nothing, parts, out_v, root);
  expect(out_v, elements<T>(rank, out_v.size()), "scatter_v");
  comm.scatter_v(inout_v, parts, root);
  expect(inout_v, rank == root ? all_v : out_v, "scatter_v in place");
}

template <typename T>
void check_all_to_all(const Calls& comm, size_t count) {
  const auto ranks = static_cast<size_t>(comm.size()), rank = static_cast<size_t>(comm.rank());
  const std::vector<T> in = elements<T>(comm.rank(), ranks * count);
  std::vector<T> out(in.size()), inout = in, wanted;
  for (int from = 0; from < comm.size(); ++from) append(wanted, elements<T>(from, count, rank * count));
  comm.all_to_all(in, out);
  expect(out, wanted, "all_to_all");
  comm.all_to_all(inout);
  expect(inout, wanted, "all_to_all in place");

  // Rank r sends r + count elements to each, and leaves one out between them.
  const std::vector<size_t> sent(ranks, rank + count), got = lengths(comm.size(), count);
  std::vector<size_t> begins(ranks);
  for (size_t to = 0; to < ranks; ++to) begins[to] = to * (rank + count + 1);
  const std::vector<T> in_v = elements<T>(comm.rank(), ranks * (rank + count + 1));
  std::vector<T> out_v(total(got)), wanted_v;
  for (size_t from = 0; from < ranks; ++from)
    append(wanted_v, elements<T>(static_cast<int>(from), from + count, rank * (from + count + 1)));
  comm.all_to_all_v(in_v, {sent, begins}, out_v, got);
  expect(out_v, wanted_v, "all_to_all_v");
  comm.all_to_all_v(inout = in, std::vector<size_t>(ranks, count));
  expect(inout, wanted, "all_to_all_v in place");
}

template <typename T>
void check_all(const Calls& comm, size_t count) {
  check_reductions<T>(comm, count);
  check_reduce_scatter<T>(comm, count);
  check_broadcast<T>(comm, count);
  check_gathers<T>(comm, count);
  check_scatters<T>(comm, count);
  check_all_to_all<T>(comm, count);
}

TEST_CASE("every collective gives what it should, in place and not, on threads and on processes") {
  const int nranks = GENERATE(1, 2, 3, 4, 5);
  as_ranks(nranks, [](const Communicator& comm) {
    for (const size_t count : kCounts) {
      check_all<int>(comm, count);
      check_all<double>(comm, count);
    }
    comm.barrier();
  });
}

TEST_CASE("a queue makes the same calls in its order") {
  as_ranks(3, [](const Communicator& comm) {
    Queue queue = Queue::create();
    std::vector<int> sum = elements<int>(comm.rank(), 13), all(39);
    comm.on(queue).all_reduce(sum, Op::sum);
    comm.on(queue).all_gather(sum, all);
    queue.synchronize();
    std::vector<int> wanted;
    for (int i = 0; i < 3; ++i) append(wanted, sums<int>(3, 13));
    expect(all, wanted, "all_gather after all_reduce");
    require(queue.is_done(), "the queue is not done");
    queue.close();
    require(!queue, "a closed queue is not null");
  });
}

}  // namespace
}  // namespace rondo::test
