// SPDX-License-Identifier: Apache-2.0
// The objects of rondo.hpp: how they are made and end, what is left of them after a move, and how they fail.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <thread>

#include "ranks.h"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

int sum_of_ranks(const Calls& comm) {
  int sum = comm.rank();
  comm.all_reduce(sum, Op::sum);
  return sum;
}

/// `body` with each of the ranks of one process, on threads of their own.
template <typename Body>
void on_threads(std::vector<Communicator> comms, Body body) {
  std::vector<std::thread> threads;
  std::vector<std::string> errors(comms.size());
  for (Communicator& comm : comms)
    threads.emplace_back([&errors, &body, comm = std::move(comm)]() mutable {
      const auto rank = static_cast<size_t>(comm.rank());
      try {
        body(std::move(comm));
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) CHECK(error == "");
}

/// The signal that ends a process which runs `body`.
template <typename Body>
int signal_of(Body body) {
  return Process([&] {
           ::signal(SIGABRT, SIG_DFL);  // not Catch's handler
           body();
         })
      .wait()
      .signal;
}

TEST_CASE("communicators start by a method, by an id, and all at once") {
  const Communicator alone = Communicator::init({.timeout = 5s, .name = "alone"});
  CHECK((alone.rank() == 0 && alone.size() == 1 && alone.transport(0) == "self"));
  CHECK(Communicator::init_by("env://").size() == 1);

  const UniqueId id = Communicator::unique_id();
  std::vector<std::thread> threads;
  std::vector<int> sums(3);
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      sums[static_cast<size_t>(rank)] =
          sum_of_ranks(Communicator::init_rank(id, rank, 3, {.transport = "local"}));
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(sums == std::vector<int>{3, 3, 3});

  on_threads(Communicator::init_all(4), [](Communicator comm) {
    require(sum_of_ranks(comm) == 6 && comm.transport((comm.rank() + 1) % 4) == "local", "wrong ranks");
    comm.close();
    require(!comm && comm.size() == 0 && comm.rank() == -1, "a closed communicator is not null");
    comm.close();  // without effect
  });
}

TEST_CASE("a configuration's settings have their effect") {
  require_error(Code::invalid_argument, {"carrier"}, [] { Communicator::init({.transport = "carrier"}); });
  require_error(Code::invalid_argument, {"one_hand"},
                [] { Communicator::init({.algorithm = "all_reduce=one_hand"}); });
  require_error(Code::invalid_argument, {"pigeon"}, [] { Communicator::init({.device = "pigeon"}); });
  require_error(Code::invalid_argument, {"smoke", "[R0608]"},
                [] { Communicator::init({.protocol = "smoke"}); });
  require_error(Code::invalid_argument, {"channels"}, [] { Communicator::init({.channels = -1}); });
  require_error(Code::invalid_argument, {"traffic_class"},
                [] { Communicator::init({.traffic_class = 256}); });
  require_error(Code::invalid_argument, {"timeout"}, [] { Communicator::init({.timeout = -1ms}); });
  require_error(Code::invalid_argument, {"init_timeout"}, [] { Communicator::init({.init_timeout = -1ms}); });
  const std::string long_name(200, 'n');
  const Communicator named = Communicator::init({.name = long_name});
  require_error(Code::invalid_argument, {long_name}, [&] { named.broadcast(*std::make_unique<int>(1), 1); });
}

TEST_CASE("communicators split, duplicate and shrink, and answer queries") {
  as_ranks(4, [](const Communicator& comm) {
    const Communicator half = comm.split(comm.rank() % 2, -comm.rank(), {.name = "half"});
    require(half.size() == 2 && half.rank() == (comm.rank() < 2 ? 1 : 0), "wrong half");
    require(sum_of_ranks(half) == 1, "wrong sum of a half");
    const Communicator none = comm.split(comm.rank() == 0 ? no_color : 0, 0);
    require(none ? none.size() == 3 : comm.rank() == 0, "wrong members");
    const Communicator copy = comm.duplicate();
    require(sum_of_ranks(copy) == 6, "wrong sum of a duplicate");
    if (comm.rank() != 2) {
      const Communicator rest = comm.shrink({2}), again = comm.shrink({2}, {.name = "again"});
      require(rest.size() == 3 && rest.gone_ranks().empty() && sum_of_ranks(rest) == 3 &&
                  sum_of_ranks(again) == 3,
              "wrong sum of the rest");
    }
    require(comm.last_algorithm().empty() || !comm.last_algorithm().starts_with("?"), "no name");
    require(!copy.last_algorithm().empty(), "no algorithm");
    require(comm.device() == -1 && comm.async_error() == Code::ok, "wrong answers");
    require(comm.explain<float>("all_reduce", 1000, Op::max).find("max") != std::string::npos,
            "wrong explanation");
    require_error(Code::invalid_argument, {"peer is 4"}, [&] { static_cast<void>(comm.transport(4)); });
  });
}

TEST_CASE("a moved-from communicator is null and refuses every call; one that is assigned to has ended") {
  as_ranks(2, [](Communicator comm) {
    Communicator moved = std::move(comm);
    require(!comm && comm.rank() == -1 && comm.size() == 0, "not null");  // NOLINT(bugprone-use-after-move)
    require(moved && sum_of_ranks(moved) == 1, "the new one does not work");
    int value = 0;
    std::vector<int> some(3);
    const std::vector<size_t> counts(2);
    const auto refused = [](auto&& call) { require_error(Code::invalid_argument, {"comm is NULL"}, call); };
    refused([&] { comm.barrier(); });
    refused([&] { comm.all_reduce(value, Op::sum); });
    refused([&] { comm.scan(value, Op::sum); });
    refused([&] { comm.reduce(value, Op::sum, 0); });
    refused([&] { comm.broadcast(value, 0); });
    refused([&] { comm.all_gather(some); });
    refused([&] { comm.all_gather_v(some, counts); });
    refused([&] { comm.reduce_scatter(some, Op::sum); });
    refused([&] { comm.reduce_scatter_v(some, counts, Op::sum); });
    refused([&] { comm.all_to_all(some); });
    refused([&] { comm.all_to_all_v(some, counts); });
    refused([&] { comm.gather(some, 0); });
    refused([&] { comm.gather_v(some, counts, -1); });
    refused([&] { comm.scatter(some, 0); });
    refused([&] { comm.scatter_v(some, counts, -1); });
    refused([&] { comm.send(value, 0); });
    refused([&] { comm.recv(value); });
    refused([&] { comm.isend(value, 0).wait(); });
    refused([&] { comm.irecv(value).wait(); });
    refused([&] { comm.finalize(); });
    refused([&] { comm.abort(); });
    refused([&] { comm.set_timeout(1s); });
    refused([&] { static_cast<void>(comm.duplicate()); });
    refused([&] { static_cast<void>(comm.register_memory(some)); });

    comm = moved.duplicate();
    require(comm && sum_of_ranks(comm) == 1, "a null one cannot be assigned to");
    comm = std::move(moved);
    require(comm && !moved && sum_of_ranks(comm) == 1, "the other was not moved");
    rondo_comm_t raw = comm.release();
    require(!comm && raw != nullptr, "not released");
    require(Communicator::adopt(raw).size() == 2 && !Communicator::adopt(nullptr), "not adopted");
  });
}

TEST_CASE("lengths that do not fit are refused before anything is sent") {
  as_ranks(2, true, [](const Communicator& comm) {
    std::vector<int> three(3), four(4);
    const std::vector<size_t> counts{1, 2}, one{3}, too_many{3, 3};
    const std::vector<size_t> begins{SIZE_MAX, 0};
    const auto refused = [](const std::vector<std::string>& words, auto&& call) {
      require_error(Code::invalid_argument, words, call);
    };
    refused({"all_reduce", "out has 4", "must have 3"}, [&] { comm.all_reduce(three, four, Op::sum); });
    refused({"exscan", "out has 4"}, [&] { comm.exscan(three, four, Op::sum); });
    refused({"all_gather", "out has 4", "2 times the 3 of in"}, [&] { comm.all_gather(three, four); });
    refused({"all_gather", "out has 3", "2 times the 1"}, [&] { comm.all_gather(three); });
    refused({"reduce_scatter", "in has 3"}, [&] { comm.reduce_scatter(three, Op::sum); });
    refused({"all_to_all", "out has 4"}, [&] { comm.all_to_all(three, four); });
    refused({"all_to_all", "in has 3", "2 times the 1 of each block"}, [&] { comm.all_to_all(three); });
    refused({"all_gather_v", "counts has 1 numbers", "2, one a rank"},
            [&] { comm.all_gather_v(three, one); });
    refused({"rank 1 has 3 elements from 3 on", "within 4"}, [&] { comm.all_gather_v(four, too_many); });
    refused({"rank 0 has 1 elements from 18446744073709551615 on"}, [&] {
      comm.all_gather_v(three, {counts, begins});
    });
    refused({"displs has 1 numbers"}, [&] { comm.all_gather_v(three, {counts, one}); });
    refused({"in has 4", "as counts has for this rank"}, [&] { comm.all_gather_v(four, three, counts); });
    refused({"reduce_scatter_v", "displacements"}, [&] {
      comm.reduce_scatter_v(three, {counts, counts}, Op::sum);
    });
    refused({"all_to_all_v", "in: counts"}, [&] { comm.all_to_all_v(three, one, four, counts); });
    refused({"all_to_all_v", "out: counts"}, [&] { comm.all_to_all_v(three, counts, four, one); });
    if (comm.rank() == 0) {
      refused({"reduce", "out has 4"}, [&] { comm.reduce(three, four, Op::sum, 0); });
      refused({"broadcast", "out has 4"}, [&] { comm.broadcast(three, four, 0); });
      refused({"gather", "out has 4"}, [&] { comm.gather(three, four, 0); });
      refused({"gather_v", "in has 4"}, [&] { comm.gather_v(four, three, counts, 0); });
      refused({"scatter", "in has 4"}, [&] { comm.scatter(four, three, 0); });
      refused({"scatter_v", "out has 4"}, [&] { comm.scatter_v(three, counts, four, 0); });
    }
    require(sum_of_ranks(comm) == 1, "the communicator is broken");
  });
}

TEST_CASE("errors are thrown or returned, with the same code and sentence") {
  as_ranks(2, [](const Communicator& comm) {
    std::vector<int> values(comm.rank() == 0 ? 3 : 4);
    const Result<void> result = comm.nothrow().all_reduce(values, Op::sum);
    require(!result && result.error().code() == Code::mismatch, "no mismatch");
    const std::string sentence = result.error().what();
    require(sentence.find("count") != std::string::npos && sentence.find("rank 1") != std::string::npos,
            sentence);
    require_error(Code::mismatch, {"rank " + std::to_string(comm.rank()) + ": rondo_barrier"},
                  [&] { comm.barrier(); });
    require(comm.async_error() == Code::mismatch, "no error is kept");
    require_error(Code::mismatch, {}, [&] { result.value(); });
  });
}

TEST_CASE("a result holds a value or an error") {
  Result<std::string> text(std::string("value"));
  CHECK((text && *text == "value" && text->size() == 5));
  CHECK((std::as_const(text)->size() == 5 && *std::as_const(text) == "value"));
  CHECK(std::move(text).value_or("other") == "value");
  Result<std::string> error(Error(Code::timeout, "late"));
  CHECK((!error && error.error().code() == Code::timeout && error.error().what() == std::string("late")));
  CHECK(std::string(name_of(error.error().code())) == "RONDO_TIMEOUT");
  CHECK(Result<std::string>(error).value_or("other") == "other");
  CHECK_THROWS_AS(std::move(error).value(), Error);
  CHECK(signal_of([] { static_cast<void>(*Result<int>(Error(Code::aborted, "why"))); }) == SIGABRT);
  CHECK(signal_of([] { static_cast<void>(Result<int>(1).error()); }) == SIGABRT);
  CHECK(signal_of([] { static_cast<void>(Result<void>().error()); }) == SIGABRT);
}

TEST_CASE("an abort ends the calls of other ranks, from any thread") {
  as_ranks(2, [](const Communicator& comm) {
    if (comm.rank() == 0) std::thread([&] { comm.abort(); }).join();
    require_error(Code::aborted, {"rank 0"}, [&] {
      for (;;) comm.barrier();
    });
  });
}

TEST_CASE(
    "a rank that is unwound by an exception leaves, and the others' calls fail long before their deadline") {
  const auto began = std::chrono::steady_clock::now();
  on_threads(Communicator::init_all(2, {.timeout = 60s}), [](Communicator comm) {
    if (comm.rank() == 0) {
      try {
        const Communicator leaving = std::move(comm);
        throw std::logic_error("on purpose");
      } catch (const std::logic_error&) {
      }
      return;
    }
    const Result<void> result = comm.nothrow().barrier();
    require(!result && result.error().code() != Code::timeout, "no error, or a late one");
    require(std::string(result.error().what()).find("rank 0") != std::string::npos, result.error().what());
  });
  CHECK(std::chrono::steady_clock::now() - began < 50s);
}

TEST_CASE("a call that takes too long fails at the deadline") {
  as_ranks(2, [](const Communicator& comm) {
    comm.set_timeout(100ms);
    if (comm.rank() == 0)
      require_error(Code::timeout, {"rank 1"}, [&] { comm.barrier(); });
    else
      while (comm.async_error() == Code::ok) std::this_thread::sleep_for(1ms);
  });
}

TEST_CASE("ranks leave one by one, and quiesce before") {
  as_ranks(3, [](Communicator comm) {
    require(sum_of_ranks(comm) == 3, "wrong sum");
    comm.quiesce();
    comm.leave();
    require(!comm, "a communicator that was left is not null");
  });
}

TEST_CASE("queues wait for events, and report the first error") {
  as_ranks(2, [](const Communicator& comm) {
    Queue first = Queue::create(), second = Queue::create();
    Event event = Event::create();
    require(event.is_done(), "a new event is not complete");
    int value = comm.rank(), all[2] = {};
    comm.on(first).all_reduce(value, Op::sum);
    event.record(first);
    second.wait(event);
    comm.on(second).all_gather(value, all);
    second.synchronize();
    event.wait();
    require(event.is_done() && all[0] == 1 && all[1] == 1, "wrong values");
    Event moved_event = std::move(event);
    Queue moved = std::move(first);
    require(!first && moved && !event && moved_event, "a move left something behind");  // NOLINT
    require_error(Code::invalid_argument, {"queue is NULL"}, [&] { first.synchronize(); });
    require_error(Code::invalid_argument, {"event is NULL"}, [&] { event.wait(); });
    first.close();  // without effect
    std::vector<int> values(comm.rank() == 0 ? 3 : 4);
    comm.on(moved).all_reduce(values, Op::sum);
    require_error(Code::mismatch, {"count"}, [&] { moved.synchronize(); });
  });
}

TEST_CASE("memory is a buffer, moves, and can be registered") {
  as_ranks(2, [](const Communicator& comm) {
    Memory<double> memory = Memory<double>::allocate(100'003);
    std::fill(memory.begin(), memory.end(), comm.rank() + 1.0);
    Registration registration = comm.register_memory(memory);
    comm.all_reduce(memory, Op::sum);
    require(std::ranges::count(std::as_const(memory), 3.0) == 100'003 && memory[7] == 3.0, "wrong sum");
    Registration moved_registration = std::move(registration);
    require(!registration && moved_registration, "the registration was not moved");  // NOLINT
    registration.close();                                                            // without effect
    moved_registration.close();
    require(!moved_registration, "a closed registration is not null");

    Memory<double> moved = std::move(memory);
    require(!memory && memory.size() == 0 && moved.size() == 100'003, "the memory was not moved");  // NOLINT
    require(!Memory<int>::allocate(0) && Memory<int>::allocate(0).size() == 0, "0 elements have memory");
    require_error(Code::invalid_argument, {"18446744073709551615"}, [] { Memory<int>::allocate(SIZE_MAX); });

    std::vector<int, Allocator<int>> values(5, comm.rank());
    comm.all_reduce(values, Op::sum);
    values.resize(100'000, 1);
    require(values[4] == 1 && values == std::vector<int, Allocator<int>>(100'000, 1), "wrong values");
  });
}

TEST_CASE("a moved-from reduction is null") {
  const auto make = [] {
    return Reduction<int>::create([](int left, int right) { return left < right ? right : left; });
  };
  Reduction<int> first = make(), second = std::move(first);
  CHECK((!first && second));  // NOLINT(bugprone-use-after-move)
  first = std::move(second);
  const Communicator alone = Communicator::init();
  int value = 3;
  alone.all_reduce(value, first);
  CHECK(value == 3);
  require_error(Code::invalid_argument, {"op is -1"}, [&] { alone.all_reduce(value, second); });
}

TEST_CASE("the latest calls are written to a file, or it is said why not") {
  std::vector<Communicator> comms = Communicator::init_all(1);
  sum_of_ranks(comms[0]);
  const std::string file = "/tmp/rondo-cxx-" + std::to_string(::getpid()) + ".json";
  write_flight_file(file.c_str());
  std::ifstream written(file);
  const std::string text{std::istreambuf_iterator<char>(written), {}};
  std::filesystem::remove(file);
  CHECK(text.find(R"("call":"all_reduce")") != std::string::npos);
  const auto refused = nothrow::write_flight_file((file + "/below").c_str());
  REQUIRE(!refused);
  CHECK(std::string(refused.error().what()).find(file + "/below") != std::string::npos);
  CHECK_THROWS_AS(write_flight_file(""), Error);
}

TEST_CASE("the library has the version of its headers") { CHECK(library_version() == RONDO_VERSION); }

}  // namespace
}  // namespace rondo::test
