// SPDX-License-Identifier: Apache-2.0
#include "halving.h"

#include <algorithm>

#include "parts.h"

namespace rondo {
namespace {

Halves face(const Branch& whole, int rank) {
  const std::vector<Branch> cut = cut_run(whole, kBinomial);
  const bool low = cut[0].holds(rank);
  Halves halves{.leader = whole.rank, .own = cut[low ? 0 : 1], .other = cut[low ? 1 : 0]};
  const int place = rank - halves.own.first;
  halves.across = halves.other.first + std::min(place, halves.other.count - 1);
  if (place < halves.other.count) halves.opposite.push_back(halves.other.first + place);
  if (place == halves.own.count - 1 && halves.other.count > halves.own.count)
    halves.opposite.push_back(halves.other.first + place + 1);
  return halves;
}

}  // namespace

std::vector<Halves> halves_of(const Shape& shape, int rank) {
  std::vector<Halves> rounds;
  for (Branch whole{shape.root, 0, shape.nranks}; whole.count > 1; whole = rounds.back().own)
    rounds.push_back(face(whole, rank));
  return rounds;
}

void add_halving(Schedule& schedule, const Shape& shape, Buffer hold, Ref result) {
  if (shape.nranks == 1) schedule.add({.src = input(0), .dst = result, .finish = true});
  Buffer folds = Buffer::Input;
  for (const Halves& halves : halves_of(shape, schedule.rank)) {
    const Branch& own = halves.own;
    schedule.add({.src = {folds, halves.other.first}, .send = {halves.across}, .count = halves.other.count});
    if (halves.opposite.empty()) continue;
    Move fold{
        .recv = {schedule.rank}, .src = {folds, own.first}, .dst = {hold, own.first}, .count = own.count};
    fold.recv.insert(fold.recv.end(), halves.opposite.begin(), halves.opposite.end());
    if (own.count == 1) {
      fold.dst = result;
      fold.finish = true;
    }
    schedule.add(fold);
    folds = hold;
  }
}

void add_doubling(Schedule& schedule, const Shape& shape, Held held) {
  std::vector<Halves> rounds = halves_of(shape, schedule.rank);
  std::reverse(rounds.begin(), rounds.end());
  for (Halves& halves : rounds) {
    const bool leader_has_all = held == Held::SubtreeChunks;
    if (leader_has_all) std::erase(halves.opposite, halves.leader);
    if (!halves.opposite.empty())
      schedule.add({.src = output(halves.own.first), .send = halves.opposite, .count = halves.own.count});
    if (leader_has_all && schedule.rank == halves.leader) continue;
    const Branch& other = halves.other;
    schedule.add({.recv = {halves.across}, .dst = output(other.first), .count = other.count});
  }
}

double halving_rounds(const Shape& shape) { return floor_log2(3 * shape.nranks / 2); }

double exchanged_vectors(const Shape& shape) {
  int by_first = 0;  // always in the longer half
  for (int count = shape.nranks; count > 1; count = (count + 1) / 2) by_first += (count + 1) / 2;
  int by_last = 0;  // always the last of the shorter half
  for (int count = shape.nranks; count > 1; count /= 2) by_last += count / 2 * (count % 2 + 1);
  return static_cast<double>(std::max(by_first, by_last)) / shape.nranks;
}

double mean_exchanges(const Shape& shape) {
  const int deepest = ceil_log2(shape.nranks);
  return deepest + 1 - static_cast<double>(1 << deepest) / shape.nranks;
}

int max_exchanged(const Shape& shape) { return std::max(1, (shape.nranks + 1) / 2); }

int halving_steps(const Shape& shape) { return 2 * ceil_log2(shape.nranks) + 1; }

}  // namespace rondo
