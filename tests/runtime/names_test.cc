// SPDX-License-Identifier: Apache-2.0
// A communicator's name appears in every message about it, with the sequence number of the call, on every
// path to the reader.
#include <chrono>
#include <cstring>
#include <thread>

#include "catch.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// Makes a communicator of all ranks with the given name; NULL leaves it unnamed.
void name(const Rank& rank, const char* name, Owned& comm) {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.name = name;
  config.timeout_ms = 30'000;
  check(rondo_split(rank.comm, 0, rank.rank, comm.out(), &config), rank.comm);
}

rondo_status_t sum(rondo_comm_t comm, size_t count) {
  std::array<int32_t, 16> values{};
  return rondo_all_reduce(values.data(), values.data(), count, RONDO_INT32, RONDO_SUM, comm, nullptr);
}

void require_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    require(text.find(word) != std::string::npos, "'" + word + "' is not in '" + text + "'");
}

TEST_CASE("a refusal has the name of its communicator, exactly once") {
  expect_success(run_world({.nranks = 1}, [](Rank& rank) {
    Owned comm;
    name(rank, "grads", comm);
    require(rondo_send(nullptr, 1, RONDO_INT32, 7, 0, comm.get(), nullptr) == RONDO_INVALID_ARGUMENT, "sent");
    require_words(rondo_last_error(nullptr), {"rondo_send: communicator 'grads': peer is 7"});
    require_words(rondo_last_error(comm.get()), {"rank 0: rondo_send: communicator 'grads': peer is 7"});
  }));
}

TEST_CASE("a name with control characters is escaped in messages, which stay one line") {
  expect_success(run_world({.nranks = 1}, [](Rank& rank) {
    Owned comm;
    name(rank, "gra\nds\x1b[1m\xff\u00e9", comm);
    require(rondo_send(nullptr, 1, RONDO_INT32, 7, 0, comm.get(), nullptr) == RONDO_INVALID_ARGUMENT, "sent");
    require_words(rondo_last_error(nullptr),
                  {"communicator 'gra\\u000ads\\u001b[1m\\ufffd\u00e9': peer is 7"});
  }));
}

TEST_CASE("a mismatch has the communicator's name and each rank's call, and later calls repeat them") {
  for (const Way& way : kWays) {
    INFO(way.transport);
    expect_success(run_world(world_of(way, 2), [](Rank& rank) {
      Owned comm;
      name(rank, "grads", comm);
      check(sum(comm.get(), 1), comm.get());
      const std::vector<std::string> words{": communicator 'grads': ranks disagree: rank ", ", call 2"};
      check_fails(sum(comm.get(), rank.rank == 0 ? 3 : 4), RONDO_MISMATCH, words, comm.get());
      check_fails(rondo_barrier(comm.get(), nullptr), RONDO_MISMATCH, words, comm.get());
      check(rondo_barrier(rank.comm, nullptr), rank.comm);
    }));
  }
}

TEST_CASE("a deadline, an abort and a death have the name and the call's number") {
  expect_success(run_world({.nranks = 3, .transport = "shm"}, [](Rank& rank) {
    Owned late;
    name(rank, "late", late);
    check(rondo_set_timeout(late.get(), 300), late.get());
    if (rank.rank == 0)
      check_fails(sum(late.get(), 1), RONDO_TIMEOUT, {"communicator 'late', call 1: "}, late.get());
    for (rondo_status_t heard = RONDO_OK; heard == RONDO_OK; std::this_thread::yield())
      check(rondo_async_error(late.get(), &heard));
    require_words(rondo_last_error(late.get()),
                  {"communicator 'late', call 1: all_reduce(count=1, int32, sum), call 1 "});
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    Owned aborted;
    name(rank, "aborted", aborted);
    if (rank.rank == 2)
      check(rondo_abort(aborted.get()));
    else
      check_fails(sum(aborted.get(), 1), RONDO_ABORTED, {"communicator 'aborted'", "rank 2"}, aborted.get());
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
    if (rank.rank == 2) {  // once the others' calls have begun, which otherwise have no number yet
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      std::_Exit(0);
    }
    check_fails(sum(rank.comm, 2), RONDO_REMOTE_ERROR, {"communicator 'world', call ", ": rank 2 ("},
                rank.comm);
  }));
}

TEST_CASE("errors of a group, a queue and a request have the name") {
  expect_success(run_world({.nranks = 2, .transport = "shm"}, [](Rank& rank) {
    Owned comms[3];
    for (Owned& comm : comms) name(rank, "parts", comm);
    const size_t count = rank.rank == 0 ? 3 : 4;
    std::array<int32_t, 4> values{};
    check(rondo_group_start());
    check(rondo_all_reduce(values.data(), values.data(), count, RONDO_INT32, RONDO_SUM, comms[0].get(),
                           nullptr));
    check_fails(rondo_group_end(), RONDO_MISMATCH, {"rondo_group_end: communicator 'parts': ranks disagree"});

    const OwnedQueue queue;
    check(rondo_all_reduce(values.data(), values.data(), count, RONDO_INT32, RONDO_SUM, comms[1].get(),
                           queue.get()));
    check_fails(rondo_queue_synchronize(queue.get()), RONDO_MISMATCH,
                {"communicator 'parts': ranks disagree"});

    check(rondo_set_timeout(comms[2].get(), 300), comms[2].get());
    rondo_request_t request = nullptr;
    check(rondo_irecv(values.data(), 1, RONDO_INT32, 1 - rank.rank, 0, comms[2].get(), nullptr, &request));
    check_fails(rondo_request_wait(request, 0), RONDO_TIMEOUT,
                {"rondo_request_wait: communicator 'parts': "});
    std::string told;
    check(rondo_request_tell(
        request,
        [](rondo_status_t, const char* text, void* user) { *static_cast<std::string*>(user) = text; },
        &told));
    require_words(told, {"communicator 'parts': "});
    check(rondo_request_free(request));
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  }));
}

/// The name that a refusal of the communicator gives.
std::string name_of(rondo_comm_t comm) {
  require(rondo_send(nullptr, 0, RONDO_INT32, -5, 0, comm, nullptr) == RONDO_INVALID_ARGUMENT, "sent");
  const std::string text = rondo_last_error(comm);
  const size_t at = text.find('\'');
  return at == std::string::npos ? text : text.substr(at + 1, text.find('\'', at + 1) - at - 1);
}

TEST_CASE("a communicator without a name gets one that tells its origin") {
  expect_success(run_world({.nranks = 2}, [](Rank& rank) {
    Owned first;
    Owned second;
    Owned of_second;
    Owned shrunk;
    require(name_of(rank.comm) == "world", name_of(rank.comm));
    check(rondo_duplicate(rank.comm, first.out()), rank.comm);
    require(name_of(first.get()) == "world/1.0", name_of(first.get()));
    check(rondo_split(rank.comm, 7, 0, second.out(), nullptr), rank.comm);
    require(name_of(second.get()) == "world/2.7", name_of(second.get()));
    name(Rank{second.get(), rank.rank, 2}, nullptr, of_second);
    require(name_of(of_second.get()) == "world/2.7/1.0", name_of(of_second.get()));
    check(rondo_shrink(rank.comm, nullptr, 0, shrunk.out(), nullptr), rank.comm);
    require(name_of(shrunk.get()) == "world/shrunk", name_of(shrunk.get()));
  }));
}

}  // namespace
}  // namespace rondo::test
