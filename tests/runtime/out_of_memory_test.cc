// SPDX-License-Identifier: Apache-2.0
// An allocation that fails anywhere in a call: the call and its communicators fail, and nothing waits for it.
#include <cstdlib>
#include <new>

#include "catch.h"
#include "worlds.h"

namespace {

/// Of this thread: the number of allocations until one fails; negative: none does.
thread_local int until_failure = -1;
thread_local bool has_failed = false;

}  // namespace

// The library's own calls of these come here, since the linker looks into the program first.

void* operator new(size_t bytes) {
  has_failed = has_failed || until_failure == 0;
  if (until_failure >= 0 && until_failure-- == 0) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace rondo::test {
namespace {

constexpr int kMaxAllocations = 1000;

/// The result of `call`, in which the allocation after `allocations` others fails, if the call makes that
/// one.
template <typename Call>
rondo_status_t limited(int allocations, Call&& call) {
  has_failed = false;
  until_failure = allocations;
  const rondo_status_t status = call();
  until_failure = -1;
  return status;
}

rondo_status_t sum(rondo_comm_t comm, rondo_stream_t queue = nullptr) {
  static thread_local float value = 1;
  return rondo_all_reduce(&value, &value, 1, RONDO_FLOAT32, RONDO_SUM, comm, queue);
}

/// Two communicators of this rank alone, and two queues.
struct Alone {
  std::array<Owned, 2> comms;
  std::array<OwnedQueue, 2> queues;
  rondo_comm_t comm(size_t i) const { return comms[i].get(); }
  rondo_stream_t queue(size_t i) const { return queues[i].get(); }
  Alone() {
    for (Owned& comm : comms) check(rondo_init_all(comm.out(), 1, nullptr));
  }
  /// Opens a group with a call on each communicator.
  void collect(rondo_stream_t first, rondo_stream_t second) const {
    check(rondo_group_start());
    check(sum(comm(0), first));
    check(sum(comm(1), second));
  }
};

/// Makes `call` once for each of its allocations, which fails. At least one of the communicators fails with
/// it, and only of the first `comms`.
template <typename Prepare, typename Call>
void fail_each_allocation(size_t comms, Prepare&& prepare, Call&& call) {
  expect_success(run_world({.nranks = 1, .timeout_s = 30}, [&](Rank&) {
    int allocations = 0;
    for (bool has_more = true; has_more; ++allocations) {
      require(allocations < kMaxAllocations, "it allocates without end");
      const Alone alone;
      prepare(alone);
      const rondo_status_t status = limited(allocations, [&] { return call(alone); });
      has_more = has_failed;  // even of one that the call can do without
      require(status == RONDO_OK || (has_more && status == RONDO_OUT_OF_MEMORY),
              "allocation " + std::to_string(allocations) + ": " + rondo_status_string(status));
      size_t failed = 0;
      for (size_t i = 0; i < 2; ++i) {
        check(rondo_queue_synchronize(alone.queue(i)));
        const rondo_status_t later = sum(alone.comm(i));
        if (later == RONDO_OUT_OF_MEMORY && i < comms)
          ++failed;
        else
          check(later);
      }
      require((failed != 0) == (status != RONDO_OK && comms != 0), "the wrong communicators failed");
    }
    require(allocations > 1, "nothing was allocated");
  }));
}

TEST_CASE("a group that runs out of memory holds up no later call") {
  fail_each_allocation(
      2, [](const Alone& alone) { alone.collect(nullptr, nullptr); },
      [](const Alone&) { return rondo_group_end(); });
}

TEST_CASE("a group for several queues runs on all of them or fails") {
  fail_each_allocation(
      2, [](const Alone& alone) { alone.collect(alone.queue(0), alone.queue(1)); },
      [](const Alone&) { return rondo_group_end(); });
}

TEST_CASE("a group for a queue and the caller's thread runs in both or fails") {
  fail_each_allocation(
      2, [](const Alone& alone) { alone.collect(alone.queue(0), nullptr); },
      [](const Alone&) { return rondo_group_end(); });
}

TEST_CASE("a call for a queue that runs out of memory holds up no later one") {
  fail_each_allocation(
      1, [](const Alone&) {}, [](const Alone& alone) { return sum(alone.comm(0), alone.queue(0)); });
}

/// Opens a group with a call, and a message to the rank itself.
void collect_call_and_message(const Alone& alone) {
  static int sent = 1, got = 0;
  check(rondo_group_start());
  check(sum(alone.comm(0)));
  check(rondo_send(&sent, 1, RONDO_INT32, 0, 0, alone.comm(0), nullptr));
  check(rondo_recv(&got, 1, RONDO_INT32, 0, 0, alone.comm(0), nullptr, nullptr));
}

TEST_CASE("calls that run out of memory while they are prepared hold up no later one") {
  fail_each_allocation(0, collect_call_and_message, [](const Alone&) {
    rondo_request_t request = nullptr;
    const rondo_status_t status = rondo_group_prepare(&request);
    until_failure = -1;
    check(rondo_request_free(request));
    return status;
  });
}

TEST_CASE("prepared calls that run out of memory hold up no later one, started or run") {
  const bool starts = GENERATE(true, false);
  fail_each_allocation(
      1, [](const Alone&) {},
      [starts](const Alone& alone) {
        const int failing = std::exchange(until_failure, -1);
        rondo_request_t request = nullptr;
        collect_call_and_message(alone);
        check(rondo_group_prepare(&request));
        until_failure = failing;
        rondo_status_t status = starts ? rondo_request_start(request) : rondo_request_run(request);
        if (status == RONDO_OK) status = rondo_request_wait(request, 0);
        until_failure = -1;
        check(rondo_request_free(request));
        return status;
      });
}

TEST_CASE("a duplicate that runs out of memory holds up no later call") {
  fail_each_allocation(
      1, [](const Alone&) {},
      [](const Alone& alone) {
        Owned made;
        const rondo_status_t status = rondo_duplicate(alone.comm(0), made.out());
        until_failure = -1;  // not while it is destroyed
        return status;
      });
}

TEST_CASE("a unique id that runs out of memory leaves nothing that a later one waits for") {
  expect_success(run_world({.nranks = 1, .timeout_s = 30}, [](Rank&) {
    int allocations = 0;
    for (bool has_more = true; has_more; ++allocations) {
      require(allocations < kMaxAllocations, "it allocates without end");
      rondo_unique_id_t id{};
      const rondo_status_t status = limited(allocations, [&] { return rondo_get_unique_id(&id); });
      has_more = has_failed;
      Owned alone;  // ends what the id is for, so that the next one starts from nothing
      if (status == RONDO_OK) check(rondo_init_rank(alone.out(), 1, &id, 0, nullptr));
      require(status == RONDO_OK || (has_more && status == RONDO_OUT_OF_MEMORY),
              "allocation " + std::to_string(allocations) + ": " + rondo_status_string(status));
    }
    require(allocations > 1, "nothing was allocated");
  }));
}

TEST_CASE("an event that could not be recorded is not waited for") {
  fail_each_allocation(
      0, [](const Alone&) {},
      [](const Alone& alone) {
        rondo_event_t event = nullptr;
        const int failing = std::exchange(until_failure, -1);
        check(rondo_event_create(&event));
        until_failure = failing;
        const rondo_status_t recorded = rondo_event_record(event, alone.queue(0));
        until_failure = -1;
        check(rondo_event_synchronize(event));
        check(rondo_event_destroy(event));
        return recorded;
      });
}

TEST_CASE("the other ranks learn that a rank's group ran out of memory") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    int allocations = 0;
    for (int goes_on = 1; goes_on != 0; ++allocations) {
      require(allocations < kMaxAllocations, "it allocates without end");
      Owned comm;
      check(rondo_duplicate(rank.comm, comm.out()), rank.comm);
      check(sum(comm.get()), comm.get());
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
      check(rondo_group_start());
      rondo_status_t status = sum(comm.get());  // fails at rank 0 if rank 1 has failed already
      const rondo_status_t ended =
          rank.rank == 1 ? limited(allocations, [] { return rondo_group_end(); }) : rondo_group_end();
      if (status == RONDO_OK) status = ended;
      goes_on = status != RONDO_OK ? 1 : 0;
      check(rondo_broadcast(&goes_on, &goes_on, 1, RONDO_INT32, 1, rank.comm, nullptr), rank.comm);
      if (status == RONDO_OK) status = rondo_barrier(comm.get(), nullptr);  // its part may have been done
      if (goes_on == 0)
        check(status);
      else
        check_fails(status, RONDO_OUT_OF_MEMORY, {"rank 1 (", "out of memory"});
    }
    require(allocations > 1, "nothing was allocated");
  }));
}

}  // namespace
}  // namespace rondo::test
