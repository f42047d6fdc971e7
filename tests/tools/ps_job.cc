// SPDX-License-Identifier: Apache-2.0
// ps_job WHAT LATE [NAME]: ranks that all_reduce a few times, after which rank LATE does something else, as
// WHAT says: "loop" and "sleep" forever, "run": all ranks go on; "split": halves of the ranks go on, but not
// LATE; "threads": as "sleep", with 3 ranks that are threads; "groups": as "sleep", with 11 communicators
// more, for each of which the ranks start anew. NAME: of the second communicator, of "split".
#include <rondo/rondo.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kCalls = 1000;

void check(rondo_status_t status) {
  if (status == RONDO_OK) return;
  std::printf("%s\n", rondo_last_error(nullptr));
  std::exit(1);
}

void all_reduce(rondo_comm_t comm) {
  double values[100] = {};
  check(rondo_all_reduce(values, values, 100, RONDO_FLOAT64, RONDO_SUM, comm, nullptr));
}

[[noreturn]] void idle(bool busy) {
  std::atomic<int> turns{0};
  for (;;)
    if (busy)
      ++turns;
    else
      ::pause();
}

/// With an id that rank 0 gives to the others, as PyTorch's groups do.
void start_anew(rondo_comm_t world) {
  int rank = 0;
  int size = 0;
  check(rondo_rank(world, &rank));
  check(rondo_size(world, &size));
  rondo_unique_id_t id;
  if (rank == 0) check(rondo_get_unique_id(&id));
  check(rondo_broadcast(&id, &id, sizeof id, RONDO_UINT8, 0, world, nullptr));
  rondo_comm_t comm = nullptr;
  check(rondo_init_rank(&comm, size, &id, rank, nullptr));
}

void run(const std::string& what, rondo_comm_t world, int late, const char* name) {
  int rank = 0;
  check(rondo_rank(world, &rank));
  for (int call = 0; call < kCalls; ++call) all_reduce(world);
  std::printf("ready\n");
  std::fflush(stdout);
  rondo_comm_t comm = world;
  if (what == "split") {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.name = name;
    check(rondo_split(world, rank % 2, rank, &comm, &config));
  }
  while (what == "run") all_reduce(world);
  if (rank == late) idle(what == "loop");
  all_reduce(comm);
  idle(false);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string what = argv[1];
  const int late = std::atoi(argv[2]);
  const char* name = argc > 3 ? argv[3] : "half";
  if (what == "threads") {
    rondo_comm_t comms[3];
    check(rondo_init_all(comms, 3, nullptr));
    std::vector<std::thread> threads;
    for (rondo_comm_t comm : comms) threads.emplace_back([=] { run(what, comm, late, name); });
    threads.front().join();
  }
  rondo_comm_t world = nullptr;
  check(rondo_init(&world, nullptr, nullptr));
  for (int more = 0; what == "groups" && more < 11; ++more) start_anew(world);
  run(what, world, late, name);
  return 0;
}
