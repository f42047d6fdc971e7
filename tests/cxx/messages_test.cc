// SPDX-License-Identifier: Apache-2.0
// Messages of rondo.hpp: blocking, in groups, and started ones, whose requests are moved, left and given up.
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "ranks.h"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

std::vector<double> numbers(size_t count, double first) {
  std::vector<double> made(count);
  std::iota(made.begin(), made.end(), first);
  return made;
}

void require_equal(const std::vector<double>& got, const std::vector<double>& wanted) {
  require(got == wanted, "wrong numbers");
}

TEST_CASE("a message of any length arrives with its source, tag and count") {
  as_ranks(2, [](const Communicator& comm) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{13}, size_t{100'003}}) {
      const std::vector<double> sent = numbers(count, 1.0);
      if (comm.rank() == 0) {
        comm.send(sent, 1, 7);
        continue;
      }
      std::vector<double> got(count + 1, -1.0);
      Receipt receipt{};
      comm.recv(got, any_source, any_tag, receipt);
      require(receipt.source == 0 && receipt.tag == 7 && receipt.count == count, "wrong receipt");
      require(got.back() == -1.0, "written past the message");
      got.pop_back();
      require_equal(got, sent);
    }
  });
}

TEST_CASE("crossing messages of a group complete, between 1 to 5 ranks") {
  as_ranks(GENERATE(1, 2, 3, 4, 5), [](const Communicator& comm) {
    const int right = (comm.rank() + 1) % comm.size(), left = (comm.rank() + comm.size() - 1) % comm.size();
    const std::vector<double> sent = numbers(10'007, comm.rank());
    std::vector<double> got(sent.size());
    Group::run([&] {
      comm.send(sent, right);
      comm.recv(got, left);
    });
    require_equal(got, numbers(sent.size(), left));
  });
}

TEST_CASE("none of a group's calls is made if it throws, is cancelled, or is left") {
  as_ranks(2, [](const Communicator& comm) {
    int value = comm.rank();
    const auto exchange = [&] { comm.all_reduce(value, Op::sum); };
    try {
      Group::run([&] {
        exchange();
        throw std::logic_error("on purpose");
      });
    } catch (const std::logic_error&) {
    }
    {
      const Group left = (Group::start());
      exchange();
    }
    Group cancelled = Group::start();
    exchange();
    cancelled.cancel();
    require(!cancelled, "a cancelled group is not null");
    require_error(Code::invalid_usage, {"rondo_group_end"}, [&] { cancelled.end(); });
    require(value == comm.rank(), "a call was made");

    Group group = Group::start();
    Group moved = std::move(group);
    exchange();
    require(!group && moved, "a group is in the wrong object");
    moved.end();
    require(value == 1, "the call was not made");
  });
}

TEST_CASE("started messages complete in any order, also in moved requests") {
  as_ranks(GENERATE(1, 2, 3, 5), [](const Communicator& comm) {
    const std::vector<double> sent = numbers(50'021, comm.rank());
    std::vector<std::vector<double>> got(static_cast<size_t>(comm.size()),
                                         std::vector<double>(sent.size() + 1));
    std::vector<Request> requests;
    for (int peer = 0; peer < comm.size(); ++peer) {
      requests.push_back(comm.irecv(got[static_cast<size_t>(peer)], peer, 3));
      requests.push_back(comm.isend(sent, peer, 3));
    }
    wait_all(requests);
    for (int peer = 0; peer < comm.size(); ++peer) {
      const Receipt receipt = requests[static_cast<size_t>(2 * peer)].receipt();
      require(receipt.source == peer && receipt.tag == 3 && receipt.count == sent.size(), "wrong receipt");
      got[static_cast<size_t>(peer)].pop_back();
      require_equal(got[static_cast<size_t>(peer)], numbers(sent.size(), peer));
    }
    require(requests[1].receipt().count == 0, "a send has a receipt");
  });
}

TEST_CASE("a request can be polled, waited for within a time, and tells when it is complete") {
  as_ranks(2, [](const Communicator& comm) {
    double value = 2.5, got = 0.0;
    if (comm.rank() == 0) {
      comm.barrier();
      comm.send(value, 1);
      return;
    }
    std::atomic<Code> told{Code::in_progress};
    const Request request = comm.irecv(got);
    require(!request.is_done() && !request.wait_for(1us) && !request.wait_for(0s),
            "it is complete too early");
    request.on_completion(
        [&](Code code, std::string_view text) { told = text.empty() ? code : Code::internal_error; });
    comm.barrier();
    require(request.wait_for(20s) && request.is_done(), "it is not complete");
    request.wait();
    require(got == 2.5, "wrong value");
    while (told == Code::in_progress)
      std::this_thread::sleep_for(1ms);  // the call has a deadline: the test's
    require(told == Code::ok, "told something else");
    int calls = 0;
    request.on_completion([&](Code, std::string_view) { ++calls; });
    require(calls == 1, "a complete request tells nothing");
  });
}

TEST_CASE("a request that is left or assigned to waits for its message, so that buffers may end after it") {
  as_ranks(2, [](const Communicator& comm) {
    const std::vector<double> sent = numbers(100'003, 4.0);
    if (comm.rank() == 0) {
      for (int i = 0; i < 2; ++i) {
        std::this_thread::sleep_for(20ms);
        comm.send(sent, 1);
      }
      return;
    }
    std::vector<double> first(sent.size()), second(sent.size());
    {
      Request request = comm.irecv(first, 0);
      request = comm.irecv(second, 0);
      require_equal(first, sent);
    }
    require_equal(second, sent);
  });
}

TEST_CASE("detached messages arrive") {
  as_ranks(2, [](const Communicator& comm) {
    // ThreadSanitizer does not see that the barrier orders its end after the send: that is by the other rank.
    static const std::vector<double> sent = numbers(100'003, 4.0);
    std::vector<double> got(sent.size());
    std::atomic<bool> is_there{false};
    if (comm.rank() == 0) {
      comm.isend(sent, 1).detach();
    } else {
      Request request = comm.irecv(got);
      request.on_completion([&](Code, std::string_view) { is_there = true; });
      std::move(request).detach();
      require(!request, "a detached request is not null");  // NOLINT(bugprone-use-after-move): what is tested
      while (!is_there) std::this_thread::sleep_for(1ms);
      require_equal(got, sent);
    }
    comm.barrier();  // the send's buffer lasts until the message has been received
  });
}

TEST_CASE("started messages on any thread") {
  as_ranks(2, [](const Communicator& comm) {
    std::array<double, 3> value{1.0, 2.0, 3.0};
    Request request = comm.rank() == 0 ? comm.isend(value, 1) : comm.irecv(value, 0);
    std::thread([request = std::move(request)] { request.wait(); }).join();
    require(!request, "a moved request is not null");  // NOLINT(bugprone-use-after-move): what is tested
  });
}

TEST_CASE("a null request is refused, and ends without effect") {
  as_ranks(1, [](const Communicator& comm) {
    int value = 1, got = 0;
    Request request = comm.isend(value, 0);
    const Request moved = std::move(request);
    require_error(Code::invalid_argument, {"request is NULL"}, [&] { request.wait(); });
    require_error(Code::invalid_argument, {"request is NULL"}, [&] { static_cast<void>(request.is_done()); });
    require_error(Code::invalid_argument, {"request is NULL"},
                  [&] { request.on_completion([](Code, std::string_view) {}); });
    std::move(request).detach();
    comm.recv(got);
    moved.wait();
    require(got == 1, "wrong value");
  });
}

TEST_CASE("a message that is longer than its buffer is an error of both forms") {
  as_ranks(1, [](const Communicator& comm) {
    const std::vector<double> sent = numbers(5, 0.0);
    std::vector<double> got(3);
    const auto started = comm.isend(sent, 0);
    require_error(Code::mismatch, {"5", "3"}, [&] { comm.irecv(got, 0).wait(); });
  });
}

}  // namespace
}  // namespace rondo::test
