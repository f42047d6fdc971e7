// SPDX-License-Identifier: Apache-2.0
// The file that RONDO_FLIGHT_FILE names: what every process leaves in it when a communicator fails, and on
// demand.
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "captured_log.h"
#include "catch.h"
#include "scoped_environment.h"
#include "worlds.h"

namespace rondo::test {
namespace {

using Json = nlohmann::json;

Json read(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  return Json::parse(file);
}

/// The part of a file about a communicator with this name.
Json comm_of(const Json& file, const std::string& name) {
  for (const Json& comm : file.at("communicators"))
    if (comm.at("name") == name) return comm;
  FAIL("no communicator '" << name << "' in " << file);
  return {};
}

size_t files_in(const Folder& folder) {
  const std::filesystem::directory_iterator files(folder.path());
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

void all_reduce(const Rank& rank, rondo_status_t expected) {
  float value = 1;
  const rondo_status_t status =
      rondo_all_reduce(&value, &value, 1, RONDO_FLOAT32, RONDO_SUM, rank.comm, nullptr);
  require(status == expected, rondo_last_error(rank.comm));
}

void wait_for_failure(const Rank& rank) {
  rondo_status_t status = RONDO_OK;
  while (status == RONDO_OK) check(rondo_async_error(rank.comm, &status));
}

}  // namespace

TEST_CASE("when a call fails, every process leaves its latest calls, also one that never made the call") {
  const Folder folder;
  constexpr int kCalls = 300;
  const int64_t before_s = ::time(nullptr);
  expect_success(
      run_world({.nranks = 3, .environment = {{"RONDO_FLIGHT_FILE", folder / "%h.%r.json"}}}, [](Rank& rank) {
        for (int call = 0; call < kCalls; ++call) all_reduce(rank, RONDO_OK);
        check(rondo_set_timeout(rank.comm, 500), rank.comm);
        if (rank.rank == 2)
          wait_for_failure(rank);
        else
          all_reduce(rank, RONDO_TIMEOUT);
      }));
  CHECK(files_in(folder) == 3);
  char host[256] = {};
  REQUIRE(::gethostname(host, sizeof host - 1) == 0);
  for (int rank = 0; rank < 3; ++rank) {
    const Json file = read(folder / (std::string(host) + "." + std::to_string(rank) + ".json"));
    INFO(file);
    CHECK(file.at("format") == "rondo-flight");
    CHECK(file.at("version") == 1);
    CHECK(file.at("host") == host);
    CHECK(file.at("rank") == rank);
    CHECK(file.at("reason") == "failure");
    CHECK_FALSE(file.at("threads").empty());
    CHECK(comm_of(file, "world").at("thread").is_number());
    CHECK(file.at("pid") != ::getpid());
    CHECK(file.at("written_ns") > before_s * 1'000'000'000);
    const Json comm = comm_of(file, "world");
    const bool is_late = rank == 2;
    CHECK(comm.at("rank") == rank);
    CHECK(comm.at("size") == 3);
    CHECK(comm.at("transports") == "shm to 2 ranks");
    CHECK(comm.at("latest") == kCalls + (is_late ? 0 : 1));
    CHECK(comm.at("activity") == (is_late ? "in no call" : "in a call"));
    CHECK(comm.at("waits_for") == (is_late ? Json() : Json(2)));
    CHECK(comm.at("failure").at("status") == "RONDO_TIMEOUT");
    const Json& calls = comm.at("calls");
    REQUIRE(calls.size() == 256);
    for (size_t at = 0; at < calls.size(); ++at)
      CHECK(calls.at(at).at("number") == comm.at("latest").get<size_t>() - 255 + at);
    const Json& last = calls.back();
    CHECK(last.at("call") == "all_reduce");
    CHECK(last.at("count") == 1);
    CHECK(last.at("bytes") == 4);
    CHECK(last.at("type") == "float32");
    CHECK(last.at("op") == "sum");
    CHECK(last.at("root") == Json());
    CHECK(last.at("on_gpu") == false);
    CHECK(last.at("algorithm") != "");
    CHECK(last.at("began_ns") > before_s * 1'000'000'000);
    CHECK(last.at("began_ns") <= file.at("written_ns"));
    CHECK(last.at("state") == (is_late ? "done" : "failed"));
    CHECK(last.at("ended_ns").is_null() != is_late);
    CHECK(calls.front().at("state") == "done");
  }
}

TEST_CASE("calls with a length for each rank are recorded with the rank's own") {
  const Folder folder;
  expect_success(
      run_world({.nranks = 2, .environment = {{"RONDO_METRICS", folder / "%r.prom"}}}, [&](Rank& rank) {
        const std::vector<size_t> counts{3, 5}, from_each(2, counts[static_cast<size_t>(rank.rank)]);
        std::vector<double> in(16), out(16);
        check(rondo_all_gather_v(in.data(), out.data(), counts.data(), nullptr, RONDO_FLOAT64, rank.comm,
                                 nullptr));
        check(rondo_reduce_scatter_v(in.data(), out.data(), counts.data(), RONDO_FLOAT64, RONDO_SUM,
                                     rank.comm, nullptr));
        check(rondo_all_to_all_v(in.data(), counts.data(), nullptr, out.data(), from_each.data(), nullptr,
                                 RONDO_FLOAT64, rank.comm, nullptr));
        check(rondo_write_flight_file((folder / "%r.json").c_str()));
      }));
  for (int rank = 0; rank < 2; ++rank) {
    const Json calls = read(folder / (std::to_string(rank) + ".json")).at("communicators").at(0).at("calls");
    const int own = rank == 0 ? 3 : 5;
    REQUIRE(calls.size() == 3);
    for (size_t call = 0; call < 3; ++call) {
      INFO(calls[call]);
      CHECK(calls[call].at("count") == (call < 2 ? own : 8));
      CHECK(calls[call].at("bytes") == 8 * (call < 2 ? own : 8));
    }
    std::stringstream metrics;
    metrics << std::ifstream(folder / (std::to_string(rank) + ".prom")).rdbuf();
    CHECK(metrics.str().find("collective=\"all_to_all\"} 64\n") != std::string::npos);
  }
}

TEST_CASE("ranks of a process share its file, and without the variable there is none") {
  const Folder folder;
  const auto fail_together = [] {
    std::barrier all_there(4);
    expect_success(run_world({.nranks = 4, .threads = true}, [&](Rank& rank) {
      all_there.arrive_and_wait();
      if (rank.rank == 3) check(rondo_abort(rank.comm));
      wait_for_failure(rank);
    }));
  };
  {
    const Environment name("RONDO_FLIGHT_FILE", folder / "%p.json");
    fail_together();
  }
  const std::string path = folder / (std::to_string(::getpid()) + ".json");
  const Json file = read(path);
  std::set<int> ranks;
  for (const Json& comm : file.at("communicators"))
    if (!comm.at("failure").is_null()) ranks.insert(comm.at("rank").get<int>());
  CHECK(ranks == std::set<int>{0, 1, 2, 3});
  REQUIRE(std::filesystem::remove(path));
  fail_together();
  CHECK(files_in(folder) == 0);
}

TEST_CASE("the file of a process whose ranks are threads has the lowest rank in its name") {
  const Folder folder;
  for (int time = 0; time < 10; ++time) {  // threads begin in any order
    const auto body = [&] {
      rondo_comm_t comms[8] = {};
      check(rondo_init_all(comms, 8, nullptr));
      check(rondo_write_flight_file((folder / "%r").c_str()));
    };
    CHECK(Process(body).wait().failure() == "");
  }
  CHECK(files_in(folder) == 1);
  CHECK(std::filesystem::exists(folder / "0"));
}

TEST_CASE("a communicator that was destroyed before another one failed is still in the file") {
  const Folder folder;
  expect_success(
      run_world({.nranks = 2, .environment = {{"RONDO_FLIGHT_FILE", folder / "%r"}}}, [](Rank& rank) {
        rondo_config_t config = RONDO_CONFIG_INITIALIZER;
        config.name = "first";
        {
          Owned first;
          check(rondo_split(rank.comm, 0, rank.rank, first.out(), &config), rank.comm);
          check(rondo_barrier(first.get(), nullptr), first.get());
        }
        check(rondo_barrier(rank.comm, nullptr), rank.comm);
        if (rank.rank == 0) check(rondo_abort(rank.comm));
        wait_for_failure(rank);
      }));
  const Json first = comm_of(read(folder / "1"), "first");
  CHECK(first.at("ended") == true);
  CHECK(first.at("activity") == "finalized");
  CHECK(first.at("failure") == Json());
  CHECK(first.at("calls").at(0).at("call") == "barrier");
  CHECK(first.at("calls").at(0).at("type") == Json());
}

TEST_CASE("a file that cannot be written is mentioned once, and the error stays the same") {
  const auto in_process = [](const std::function<void()>& body) { return Process(body).wait().failure(); };
  const std::string log = captured_log(in_process, [] {
    ::setenv("RONDO_FLIGHT_FILE", "/nowhere/%p", 1);
    for (int time = 0; time < 2; ++time) {
      rondo_comm_t comm = nullptr;
      check(rondo_init_all(&comm, 1, nullptr));
      check(rondo_abort(comm));
      check_fails(rondo_barrier(comm, nullptr), RONDO_ABORTED,
                  {"rank 0 (process " + std::to_string(::getpid()) + " on host ", "called rondo_abort()"},
                  comm);
      check(rondo_destroy(comm));
    }
  });
  const std::string expected = "RONDO_FLIGHT_FILE: cannot write /nowhere/";
  const size_t at = log.find(expected);
  REQUIRE(at != std::string::npos);
  CHECK(log.find(expected, at + 1) == std::string::npos);
  CHECK(log.find("No such file or directory") != std::string::npos);
}

TEST_CASE("names that would be one for several processes, or have unknown marks, are refused") {
  const auto refused = [](const char* name, const std::vector<std::string>& words) {
    const Environment variable("RONDO_FLIGHT_FILE", name);
    rondo_comm_t comm = nullptr;
    std::vector<std::string> all = words;
    all.push_back("RONDO_FLIGHT_FILE is '" + std::string(name) + "'");
    check_fails(rondo_init_all(&comm, 1, nullptr), RONDO_INVALID_ARGUMENT, all);
  };
  refused("flight.json", {"%p", "%r", "overwrite"});
  refused("%h", {"%p", "%r", "overwrite"});
  refused("%%p", {"%p", "%r", "overwrite"});
  refused("%p.%d", {"%h, %p, %r, or %%"});
  refused("%p%", {"%h, %p, %r, or %%"});
}

TEST_CASE("a program can write the file at any time, also while a call waits") {
  const Folder folder;
  const std::string name = folder / "100%%.json";
  const std::string path = folder / "100%.json";
  rondo_comm_t alone = nullptr;
  check(rondo_init_all(&alone, 1, nullptr));  // reads that the variable is not set
  check(rondo_destroy(alone));
  check_fails(rondo_write_flight_file(nullptr), RONDO_INVALID_ARGUMENT, {"RONDO_FLIGHT_FILE is not set"});
  check_fails(rondo_write_flight_file(""), RONDO_INVALID_ARGUMENT, {"file is ''"});
  check_fails(rondo_write_flight_file("%s"), RONDO_INVALID_ARGUMENT, {"file is '%s'", "%h, %p, %r, or %%"});
  check_fails(rondo_write_flight_file("/nowhere/x"), RONDO_SYSTEM_ERROR, {"/nowhere/x", "No such file"});
  expect_success(run_world({.nranks = 2, .threads = true}, [&](Rank& rank) {
    rondo_config_t config = RONDO_CONFIG_INITIALIZER;
    config.name = "a \"b\" \\\n\xff\xc3\xa9\xed\xa0\x80";
    Owned odd;
    check(rondo_split(rank.comm, 0, rank.rank, odd.out(), &config), rank.comm);
    if (rank.rank == 0) {
      float value = 1;
      check(rondo_broadcast(&value, &value, 1, RONDO_FLOAT32, 1, odd.get(), nullptr), odd.get());
      return;
    }
    for (;;) {  // until rank 0 is in its call
      check(rondo_write_flight_file(name.c_str()));
      const Json file = Json::parse(std::ifstream(path));
      const auto& comms = file.at("communicators");
      const auto is_there = [](const Json& comm) {
        return comm.at("rank") == 0 && !comm.at("calls").empty() &&
               comm.at("calls").back().at("call") == "broadcast";
      };
      const auto found = std::find_if(comms.begin(), comms.end(), is_there);
      if (found == comms.end()) continue;
      require(file.at("reason") == "request", "reason");
      require(found->at("name") == "a \"b\" \\\n\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
              "name");
      require(found->at("calls").back().at("state") == "running", "state");
      require(found->at("calls").back().at("root") == 1, "root");
      require(found->at("failure").is_null(), "failure");
      break;
    }
    float value = 1;
    check(rondo_broadcast(&value, &value, 1, RONDO_FLOAT32, 1, odd.get(), nullptr), odd.get());
  }));
}

}  // namespace rondo::test
