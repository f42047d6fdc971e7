// SPDX-License-Identifier: Apache-2.0
// A computation that goes on after a rank has died. The ranks add up numbers in rounds; one of them kills
// itself in the middle of it. The others get an error that names it, make a communicator without it, share
// its numbers out among themselves, and go on.
//
// A rank may get the error while it is still in a round that others have completed. So every rank keeps the
// total after each round, and after a death all go back to the last round that each of them has completed.
//
//     rondo-run --keep-going -n 4 survive 2        rank 2 dies
#include <signal.h>

#include <rondo/rondo.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr int kRounds = 20, kRoundOfDeath = 7;
constexpr std::int64_t kNumbers = 1'000;

/// What this rank has to add in a round: every size-th of the numbers.
std::int64_t share(int round, const rondo::Communicator& comm) {
  std::int64_t sum = 0;
  for (std::int64_t i = comm.rank(); i < kNumbers; i += comm.size()) sum += i * (round + 1);
  return sum;
}

/// Adds rounds to the totals until there are all.
void add_rounds(std::vector<std::int64_t>& totals, const rondo::Communicator& comm, int victim) {
  while (totals.size() <= kRounds) {
    const auto round = static_cast<int>(totals.size()) - 1;
    if (round == kRoundOfDeath && comm.rank() == victim) ::raise(SIGKILL);
    std::int64_t sum = share(round, comm);
    comm.all_reduce(sum, rondo::Op::sum);
    totals.push_back(totals.back() + sum);
  }
}

/// Forgets the rounds that not all ranks have completed.
void go_back(std::vector<std::int64_t>& totals, const rondo::Communicator& comm) {
  std::size_t kept = totals.size();
  comm.all_reduce(kept, rondo::Op::min);
  totals.resize(kept);
}

bool run(rondo::Communicator comm, int victim) {
  std::vector<std::int64_t> totals{0};  // after 0, 1, 2, ... rounds
  try {
    add_rounds(totals, comm, victim);
  } catch (const rondo::Error& error) {
    if (error.code() != rondo::Code::remote_error) throw;
    std::printf("after %zu rounds: %s\n", totals.size() - 1, error.what());
    comm = comm.shrink();
    go_back(totals, comm);
    add_rounds(totals, comm, -1);
  }
  const std::int64_t wanted = kNumbers * (kNumbers - 1) / 2 * (kRounds * (kRounds + 1) / 2);
  std::printf("rank %d of %d: the total is %s\n", comm.rank(), comm.size(),
              totals.back() == wanted ? "right" : "wrong");
  comm.close();
  return totals.back() == wanted;
}

}  // namespace

int main(int argc, char** argv) try {
  auto world = rondo::Communicator::init();
  char* end = nullptr;
  const long victim = argc == 2 ? std::strtol(argv[1], &end, 10) : -1;
  if (end == nullptr || end == argv[1] || *end != '\0' || victim < 0 || victim >= world.size()) {
    std::fprintf(stderr, "usage: survive RANK\nRANK is the one that dies: from 0 to %d\n", world.size() - 1);
    return 2;
  }
  return run(std::move(world), static_cast<int>(victim)) ? 0 : 1;
} catch (const rondo::Error& error) {
  std::fprintf(stderr, "survive: %s\n", error.what());
  return 1;
}
