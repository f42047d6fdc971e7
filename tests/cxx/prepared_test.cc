// SPDX-License-Identifier: Apache-2.0
// Prepared calls of rondo.hpp: made again and again, moved, left, and used wrongly.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <vector>

#include "ranks.h"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a ring of messages and a sum are made again and again, between 1 to 5 ranks") {
  as_ranks(GENERATE(1, 2, 3, 4, 5), [](const Communicator& comm) {
    const int right = (comm.rank() + 1) % comm.size(), left = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<int> edge(1'000), halo(1'001);
    double sum = 0;
    Receipt receipt{};
    const Prepared ring = Group::prepare([&] {
      comm.send(edge, right, 3);
      comm.recv(halo, left, 3, receipt);
    });
    const Prepared total = Group::prepare([&] { comm.all_reduce(sum, Op::sum); });
    for (int step = 0; step < 20; ++step) {
      edge.assign(edge.size(), comm.rank() + step);
      sum = step;
      if (step % 2 == 0) {
        ring.start();
        total.run();
        ring.wait();
      } else {
        total.start();
        ring.run();
        require(total.wait_for(20s) && total.is_done(), "not complete");
      }
      require(halo[0] == left + step && halo[999] == halo[0] && sum == step * comm.size(), "wrong result");
      require(receipt.source == left && receipt.tag == 3 && receipt.count == 1'000, "wrong receipt");
    }
  });
}

TEST_CASE("a group object is prepared too, and what it holds moves") {
  as_ranks(2, [](const Communicator& comm) {
    int value = 1;
    Group group = Group::start();
    comm.all_reduce(value, Op::sum);
    Prepared first = group.prepare();
    require(!group, "a group that was prepared is not null");
    const Prepared moved = std::move(first);
    require(!first && moved, "the calls are in the wrong object");
    for (int n = 0; n < 3; ++n) moved.run();
    require(value == 8, "wrong sum");
    require_error(Code::invalid_argument, {"request is NULL"}, [&] { first.run(); });
  });
}

TEST_CASE("what was started is complete once its object is gone") {
  as_ranks(2, [](const Communicator& comm) {
    std::vector<int> values(100'000, 1);
    {
      const Prepared sum = Group::prepare([&] { comm.all_reduce(values, Op::sum); });
      sum.start();
    }
    require(values.front() == 2 && values.back() == 2, "not complete");
  });
}

TEST_CASE("nothing is prepared if the calls throw or are refused, or in another group; errors are reported") {
  as_ranks(2, [](const Communicator& comm) {
    int value = 1;
    const auto sum = [&] { comm.all_reduce(value, Op::sum); };
    try {
      static_cast<void>(Group::prepare([&] {
        sum();
        throw std::logic_error("on purpose");
      }));
      require(false, "no exception");
    } catch (const std::logic_error&) {
    }
    require_error(Code::invalid_argument, {"peer is 2"},
                  [&] { static_cast<void>(Group::prepare([&] { comm.nothrow().send(value, 2).value(); })); });
    require_error(Code::invalid_usage, {"within a group"}, [&] {
      Group::run([&] {
        sum();
        static_cast<void>(Group::prepare(sum));
      });
    });
    std::optional<Group> group(Group::start());
    require_error(Code::invalid_argument, {"peer is 2"}, [&] {
      static_cast<void>(comm.nothrow().send(value, 2));
      static_cast<void>(group->prepare());
    });
    require(!*group, "a group that was not prepared is not null");
    Group other = Group::start();
    group.reset();
    sum();
    require(value == 1, "a call was made");
    other.cancel();
    const Prepared prepared = Group::prepare(sum);
    prepared.start();
    require_error(Code::invalid_usage, {"have not been waited for"}, [&] { prepared.start(); });
    prepared.wait();
    require(value == 2, "wrong sum");
  });
}

TEST_CASE("a null communicator's and a closed one's calls are refused") {
  as_ranks(2, [](Communicator comm) {
    int value = 1;
    std::optional<Prepared> prepared(Group::prepare([&] { comm.all_reduce(value, Op::sum); }));
    prepared->run();
    comm.close();
    require_error(Code::invalid_usage, {"was finalized"}, [&] { prepared->start(); });
    require_error(Code::invalid_usage, {"was finalized"}, [&] { prepared->run(); });
    prepared.reset();
    require(value == 2, "wrong sum");
  });
}

}  // namespace
}  // namespace rondo::test
