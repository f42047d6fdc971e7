// SPDX-License-Identifier: Apache-2.0
// The ways for processes to find one another, as a user would use them: variables, a host and port, a file.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bootstrap/rendezvous.h"
#include "catch.h"
#include "folder.h"
#include "ports.h"
#include "scoped_environment.h"
#include "world.h"

namespace rondo::test {
namespace {

/// The ranks of run_world() start a second communicator by `method` and use it.
void start_second(Rank& rank, const char* method) {
  rondo_comm_t second = nullptr;
  check(rondo_init(&second, method, nullptr));
  int value = rank.rank;
  int sum = -1;
  check(rondo_all_reduce(&value, &sum, 1, RONDO_INT32, RONDO_SUM, second, nullptr), second);
  require(sum == rank.size * (rank.size - 1) / 2, "wrong sum");
  check(rondo_destroy(second));
}

void set_launch(const Rank& rank, int port, bool one_host) {
  ::setenv("RANK", std::to_string(rank.rank).c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(rank.size).c_str(), 1);
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  if (one_host) ::setenv("LOCAL_WORLD_SIZE", std::to_string(rank.size).c_str(), 1);
}

/// As rank 0 of a job writes it.
void write_id(const std::string& path, const UniqueId& id) {
  std::array<std::byte, UniqueId::kBytes> bytes;
  id.write(bytes);
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
  require(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
          "cannot write");
}

std::string file_method(const std::string& path, const Rank& rank) {
  return "file://" + path + "?rank=" + std::to_string(rank.rank) + "&size=" + std::to_string(rank.size);
}

/// Redirects this process's log to a file from now on.
void log_to(const std::string& path) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
  require(::dup2(file.get(), STDERR_FILENO) >= 0, "no log");
}

/// Number of lines of a file that contain `words`.
int lines_with(const std::string& path, const std::string& words) {
  std::ifstream file(path);
  int found = 0;
  for (std::string line; std::getline(file, line);) found += line.find(words) != std::string::npos ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("env:// without a secret lets processes of one user on one host meet") {
  const int port = free_port();
  expect_success(run_world({.nranks = 3}, [&](Rank& rank) {
    set_launch(rank, port, true);
    start_second(rank, "env://");
    start_second(rank, nullptr);  // and again at the same address
  }));
}

TEST_CASE("env:// with a secret also works over TCP") {
  const int port = free_port();
  expect_success(
      run_world({.nranks = 4, .environment = {{"RONDO_SECRET", "correct horse"}}}, [&](Rank& rank) {
        set_launch(rank, port, false);
        start_second(rank, "env://");
      }));
}

/// Rank 0 and the other ranks start with the variable set at rank 0 alone, which refuses it.
void fail_at_rank_0(const Rank& rank, const char* variable, const char* value) {
  rondo_unique_id_t id{};
  if (rank.rank == 0) check(rondo_get_unique_id(&id));
  check(rondo_broadcast(&id, &id, sizeof id, RONDO_UINT8, 0, rank.comm, nullptr), rank.comm);
  rondo_comm_t second = nullptr;
  if (rank.rank == 0) {
    ::usleep(300'000);  // the others have registered by then
    const Environment bad(variable, value);
    return check_fails(rondo_init_rank(&second, rank.size, &id, 0, nullptr), RONDO_INVALID_ARGUMENT, {value});
  }
  rondo_status_t status = rondo_init_rank(&second, rank.size, &id, rank.rank, nullptr);
  if (status == RONDO_OK) status = rondo_barrier(second, nullptr);  // it had the others' connections before
  check_fails(status, RONDO_REMOTE_ERROR, {"rank 0 (process", "failed in init", value, "[R0607]"}, second);
  rondo_destroy(second);
}

TEST_CASE("a rank 0 that fails in init tells the others why") {
  expect_success(run_world({.nranks = 3}, [&](Rank& rank) {
    fail_at_rank_0(rank, "RONDO_UNREACHABLE", "99999999");
    fail_at_rank_0(rank, "RONDO_PIN", "perhaps");
    check(rondo_barrier(rank.comm, nullptr), rank.comm);
  }));
}

TEST_CASE("a rank 0 that ends after a failure tells the ranks that are still starting") {
  expect_success(run_world({.nranks = 16}, [](Rank& rank) {
    for (int time = 0; time < 10; ++time) {
      rondo_unique_id_t id{};
      if (rank.rank == 0) check(rondo_get_unique_id(&id));
      check(rondo_broadcast(&id, &id, sizeof id, RONDO_UINT8, 0, rank.comm, nullptr), rank.comm);
      rondo_comm_t second = nullptr;
      rondo_status_t status = rondo_init_rank(&second, rank.size, &id, rank.rank, nullptr);
      if (rank.rank == 0) check(rondo_abort(second));
      if (status == RONDO_OK) status = rondo_barrier(second, nullptr);
      const std::string why = rondo_last_error(second);
      require(status != RONDO_OK && why.find("called rondo_abort()") != std::string::npos, why);
      rondo_destroy(second);
    }
  }));
}

TEST_CASE("tcp:// takes host and port from its text") {
  const std::string target = "tcp://localhost:" + std::to_string(free_port());
  for (const char* secret : {"", "correct horse"}) {
    expect_success(run_world({.nranks = 3, .environment = {{"RONDO_SECRET", secret}}}, [&](Rank& rank) {
      const std::string method =
          target + "?rank=" + std::to_string(rank.rank) + "&size=" + std::to_string(rank.size);
      start_second(rank, method.c_str());
    }));
  }
}

TEST_CASE("file:// ignores the file of an earlier run") {
  const Folder folder;
  const std::string path = folder / "id";
  // An earlier run's file, whose process is gone.
  expect_success(run_world({.nranks = 1}, [&](Rank&) {
    rondo_unique_id_t id;
    check(rondo_get_unique_id(&id));
    write_id(path, UniqueId::read(std::as_bytes(std::span(id.internal))).take());
  }));
  expect_success(run_world({.nranks = 3}, [&](Rank& rank) {
    if (rank.rank == 0) ::usleep(300'000);  // so that the others find the stale file first
    start_second(rank, file_method(path, rank).c_str());
  }));
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("file:// ignores the file of an earlier run whose port now belongs to a silent process") {
  const Folder folder;
  const std::string path = folder / "id";
  UniqueId stale;
  const auto silent = listen_tcp(stale.tcp_port);
  REQUIRE(silent.ok());
  stale.credentials = {random_u64(), random_secret()};
  stale.process = random_u64();
  stale.addresses = {kLoopback};
  write_id(path, stale);
  expect_success(run_world({.nranks = 3, .environment = {{"RONDO_INIT_TIMEOUT", "20"}}}, [&](Rank& rank) {
    if (rank.rank == 0) ::usleep(300'000);  // so that the others dial the silent process first
    start_second(rank, file_method(path, rank).c_str());
  }));
  CHECK(::access(path.c_str(), F_OK) != 0);
}

TEST_CASE("file:// trusts no file that another user may have created or changed") {
  const Folder folder;
  const std::string good = folder / "good";
  UniqueId id;
  id.credentials.session = 1;
  write_id(good, id);
  std::vector<std::pair<std::string, std::string>> kinds = {
      {"fifo", "a FIFO"}, {"folder", "a directory"}, {"link", "a symbolic link"}, {"open", "(mode 0644)"}};
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  REQUIRE(::mkdir((folder / "folder").c_str(), 0700) == 0);
  REQUIRE(::symlink(good.c_str(), (folder / "link").c_str()) == 0);
  write_id(folder / "open", id);
  REQUIRE(::chmod((folder / "open").c_str(), 0644) == 0);
  write_id(folder / "foreign", id);
  if (::chown((folder / "foreign").c_str(), 4321, 4321) == 0)  // only root can do so
    kinds.emplace_back("foreign", "of user 4321");
  expect_success(run_world({.nranks = 1, .timeout_s = 20}, [&](Rank&) {
    for (const auto& [name, words] : kinds) {
      rondo_comm_t comm = nullptr;
      const std::string path = folder / name;
      const std::string method = "file://" + path + "?rank=1&size=2";
      check_fails(rondo_init(&comm, method.c_str(), nullptr), RONDO_INVALID_ARGUMENT, {path, words, "0600"});
    }
  }));
}

TEST_CASE("a wrong secret is rejected with an error that says so, on both ends and only once") {
  const int port = free_port();
  const Folder logs;
  expect_success(run_world({.nranks = 2, .environment = {{"RONDO_INIT_TIMEOUT", "2"}}}, [&](Rank& rank) {
    ::setenv("RONDO_SECRET", rank.rank == 0 ? "correct horse" : "wrong horse", 1);
    set_launch(rank, port, false);
    log_to(logs / std::to_string(rank.rank));
    rondo_comm_t second = nullptr;
    const rondo_status_t status = rondo_init(&second, "env://", nullptr);
    if (rank.rank == 0)
      check_fails(status, RONDO_TIMEOUT, {"1 of 2 ranks did not join", ": 1"});
    else
      check_fails(status, RONDO_TIMEOUT, {"has a different RONDO_SECRET"});
  }));
  CHECK(lines_with(logs / "0", "rejected a connection: a process that claims to be rank 1 (process ") <=
        2);  // and a count
  CHECK(lines_with(logs / "0", "has a different RONDO_SECRET (from ") >= 1);
  CHECK(lines_with(logs / "1", "has a different RONDO_SECRET") == 1);
}

TEST_CASE("ranks on other hosts are refused without a secret, and told what to set") {
  expect_success(run_world({.nranks = 1}, [&](Rank&) {
    ::setenv("RANK", "1", 1);
    ::setenv("WORLD_SIZE", "2", 1);
    ::setenv("MASTER_ADDR", "192.0.2.1", 1);  // reserved for documentation
    ::setenv("MASTER_PORT", "29500", 1);
    rondo_comm_t comm = nullptr;
    check_fails(rondo_init(&comm, nullptr, nullptr), RONDO_INVALID_USAGE, {"192.0.2.1", "RONDO_SECRET"});
    ::setenv("RANK", "0", 1);
    ::setenv("LOCAL_WORLD_SIZE", "1", 1);
    check_fails(rondo_init(&comm, nullptr, nullptr), RONDO_INVALID_USAGE, {"1 of 2 ranks", "RONDO_SECRET"});
  }));
}

TEST_CASE("a start names the ranks that are missing, and ranks that disagree about its size") {
  const Folder logs;
  expect_success(run_world({.nranks = 1, .environment = {{"RONDO_INIT_TIMEOUT", "0.5"}}}, [&](Rank&) {
    log_to(logs / "log");
    rondo_unique_id_t id;
    check(rondo_get_unique_id(&id));
    rondo_comm_t comm = nullptr;
    check_fails(rondo_init_rank(&comm, 3, &id, 1, nullptr), RONDO_TIMEOUT, {"2 of 3 ranks", "0, 2"});
    require(comm == nullptr, "a failed start left a communicator");
  }));
  // After a quarter of the time, and after three quarters.
  CHECK(lines_with(logs / "log", "2 of 3 ranks did not join within 0.125 s: 0, 2; waiting for them") == 1);
  CHECK(lines_with(logs / "log", "2 of 3 ranks did not join within 0.375 s: 0, 2; waiting for them") == 1);
  CHECK(lines_with(logs / "log", "waiting for them") == 2);
}

TEST_CASE("RONDO_PIN binds each rank's thread to one CPU, and refuses unknown values") {
  expect_success(run_world({.nranks = 3, .environment = {{"RONDO_PIN", "Yes"}}}, [](Rank&) {
    cpu_set_t allowed;
    require(::sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) == 1, "not bound");
  }));
  expect_success(run_world({.nranks = 1}, [](Rank&) {
    ::setenv("RONDO_PIN", "2", 1);
    rondo_comm_t comm = nullptr;
    check_fails(rondo_init(&comm, nullptr, nullptr), RONDO_INVALID_ARGUMENT, {"RONDO_PIN is '2'", "yes"});
  }));
}

}  // namespace rondo::test
