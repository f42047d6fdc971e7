// SPDX-License-Identifier: Apache-2.0
// Links that fail, or blink, while nothing is sent: with the usual time-outs only events tell.
#include <cstdlib>

#include "../../transports/ends.h"
#include "base/clock.h"
#include "in_process.h"
#include "process.h"

namespace rondo::verbs_test {
namespace {

class IdlePair {
 public:
  /// `of_dialler`: the ports that it uses; empty: all.
  explicit IdlePair(const std::string& of_dialler = "") {
    const Transport& row = *transport_by_name("verbs").value();
    ::setenv("RONDO_IB_PORTS", of_dialler.c_str(), 1);
    ends_.dialler = ends_.connect(row, test::small_params(), true).take();
    ::unsetenv("RONDO_IB_PORTS");
    ends_.acceptor = ends_.connect(row, test::small_params(), false).take();
    const bool connected = test::eventually(
        [&] { return ends_.dialler->acquire() != nullptr && ends_.acceptor->acquire() != nullptr; });
    test::require(connected, "not connected");
  }

  std::string path() {
    look();
    return ends_.dialler->describe();
  }
  void await_path(const std::string& text) {
    test::require(test::eventually([&] { return path().find("verbs, " + text) == 0; }),
                  "still over " + path());
  }
  void look_for_ms(int64_t ms) {
    for (const Deadline deadline = Deadline::in_ms(ms); !deadline.passed();) look();
  }
  /// The path is the same after something has happened and, soon, been undone.
  void stay_after(const std::string& event, const std::string& undone) {
    const std::string before = path();
    command(event);
    look_for_ms(100);
    command(undone);
    look_for_ms(100);
    talk();
    test::require(path() == before, path());
  }
  /// A message goes either way.
  void talk() {
    for (auto [from, to] :
         {std::pair(&*ends_.dialler, &*ends_.acceptor), {&*ends_.acceptor, &*ends_.dialler}}) {
      test::require(test::eventually([&, from = from] { return look(), from->acquire() != nullptr; }),
                    "no slot");
      test::send_one(*from, 100, 1, 0);
      test::require(test::eventually([&, to = to] { return look(), to->peek() != nullptr; }), "no message");
      to->release();
    }
  }

 private:
  void look() {
    for (auto* end : {&ends_.dialler, &ends_.acceptor}) {
      const Status status = (*end)->status();
      test::require(status.ok(), status.message());
    }
  }
  test::Ends ends_;
};

}  // namespace

TEST_CASE("an idle connection leaves a port that goes down, whichever of its queue pairs uses it") {
  for (const auto& [gone, other] : {std::pair("rondo_0:1", "rondo_0:2"), {"rondo_0:2", "rondo_0:1"}}) {
    const std::string log = log_of({{"_DEVICES", "roce:2"}}, [gone = gone, other = other] {
      IdlePair pair;
      test::require(pair.path().find("verbs, rondo_0:1 ") == 0, pair.path());
      test::require(pair.path().find(", 2 queue pairs, ") != std::string::npos, pair.path());
      command(std::string("port_down 0/") + gone);
      const auto has_left = [&] { return pair.path().find(", 1 queue pair, ") != std::string::npos; };
      test::require(test::eventually(has_left), "still over " + pair.path());
      pair.await_path(std::string(other) + " ");
      pair.talk();
    });
    INFO(log);
    CHECK(log.find(std::string("rank 1 is reached by ") + other + " ") != std::string::npos);
    CHECK(log.find(std::string(gone) + " is down") != std::string::npos);
  }
}

TEST_CASE("an idle connection leaves a GID that has moved") {
  CHECK(in_process({{"_GIDS", "v2 10.9.%p.%h lo;v2 10.8.%p.%h lo"}}, [] {
          ::setenv("RONDO_IB_TIMEOUT", "12", 1);  // a queue pair has 50 ms
          ::setenv("RONDO_IB_RETRY", "2", 1);
          IdlePair pair;
          const std::string before = pair.path();
          command("gid_move 0/rondo_0:1 0 1");
          const auto has_left = [&] { return pair.path() != before && !pair.path().empty(); };
          test::require(test::eventually(has_left), "still over " + before);
          pair.talk();
        }) == "");
}

TEST_CASE("a GID that comes back soon disturbs nothing") {
  CHECK(log_of({{"_GIDS", "v2 10.9.%p.%h lo;v2 10.8.%p.%h lo"}},
               [] { IdlePair().stay_after("gid_move 0/rondo_0:1 0 1", "gid_move 0/rondo_0:1 1 0"); }) == "");
}

TEST_CASE("a port that blinks disturbs nothing if the other one does not reach the peer") {
  CHECK(log_of({{"_DEVICES", "roce,ib"}}, [] {
          IdlePair("rondo_0:1").stay_after("port_down 0/rondo_0:1", "port_up 0/rondo_0:1");
        }) == "");
}

TEST_CASE("a GID that moves elsewhere in the table disturbs nothing") {
  CHECK(log_of({{"_GIDS", "v2 10.9.%p.%h lo;v2 10.8.%p.%h lo;v2 10.7.%p.%h lo"}}, [] {
          IdlePair pair;
          const std::string before = pair.path();
          command("gid_move 0/rondo_0:1 1 2");
          pair.look_for_ms(20);
          test::require(pair.path() == before, pair.path());
          pair.talk();
        }) == "");
}

TEST_CASE("a port that blinks disturbs nothing if there is no other one") {
  CHECK(log_of({}, [] {
          IdlePair pair;
          for (const int64_t ms : {0, 100}) {
            command("port_down 0/rondo_0:1");
            pair.look_for_ms(ms);
            command("port_up 0/rondo_0:1");
            pair.talk();
          }
        }) == "");
}

TEST_CASE("a port that blinks beside another one fails nothing") {
  for (const int64_t ms : {0, 5})
    CHECK(in_process({{"_DEVICES", "roce:2"}}, [ms] {
            IdlePair pair;
            command("port_down 0/rondo_0:1");
            pair.look_for_ms(ms);
            command("port_up 0/rondo_0:1");
            pair.look_for_ms(ms);
            pair.talk();
          }) == "");
}

}  // namespace rondo::verbs_test
