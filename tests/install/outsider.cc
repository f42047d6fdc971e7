// SPDX-License-Identifier: Apache-2.0
// A program outside the source tree, in C++20, with a single rank.
#include <rondo/plan.hpp>
#include <rondo/rondo.hpp>

#include <cstdio>
#include <vector>

int main() try {
  auto alone = rondo::Communicator::init();
  std::vector<double> values(3, 2.5);
  alone.all_reduce(values, rondo::Op::sum);
  std::printf("sum %g\n", values[2]);
  alone.close();
  return rondo::library_version() == RONDO_VERSION && rondo::Plan::named({}, "ring").proof().verifies ? 0 : 1;
} catch (const rondo::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
