// All-gather by recursive doubling: partners at distance 1, 2, 4 ... exchange all the blocks that they have.
//
//     round 1:  0 ◄─► 1   2 ◄─► 3        each has 2 blocks, then
//     round 2:  0 ◄─► 2   1 ◄─► 3        each has 4
//
// log2 n rounds and the least volume possible, where n is a power of two (bruck is for all others). (Thakur,
// Rabenseifner, Gropp, IJHPCA 2005.)
#include <algorithm>

#include "parts.h"
#include "rows.h"

namespace rondo {
namespace {

bool supports(const Shape& shape) {
  return fits(shape, 2 * ceil_log2(shape.nranks)) && (shape.nranks & (shape.nranks - 1)) == 0;
}

Cost cost(const Shape& shape) {
  const double n = shape.nranks;
  return {static_cast<double>(ceil_log2(shape.nranks)), (n - 1) / n};
}

int most_count(const Shape& shape) { return std::max(1, shape.nranks / 2); }

Schedule build(const Shape& shape, int rank) {
  Schedule schedule(shape, rank);
  schedule.slot_chunks = most_count(shape);
  schedule.add({.src = input(0), .dst = output(rank)});
  for (int distance = 1; distance < shape.nranks; distance *= 2) {
    const int partner = rank ^ distance;
    const int own_first = rank & ~(distance - 1);
    const int partner_first = partner & ~(distance - 1);
    schedule.add({.src = output(own_first), .send = {partner}, .count = distance});
    schedule.add({.recv = {partner}, .dst = output(partner_first), .count = distance});
  }
  return schedule;
}

}  // namespace

Algorithm all_gather_recursive_doubling() {
  return {.name = "recursive_doubling",
          .kind = CollectiveKind::AllGather,
          .summary =
              "partners at distance 1, 2, 4 exchange what they have; 2^k ranks (Thakur, Rabenseifner, Gropp)",
          .supports = supports,
          .cost = cost,
          .build = build,
          .most_count = most_count};
}

}  // namespace rondo
