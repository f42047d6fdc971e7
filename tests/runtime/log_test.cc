// SPDX-License-Identifier: Apache-2.0
// What is logged, and which variables control it.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/log.h"
#include "catch.h"
#include "folder.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

using Variables = std::vector<std::pair<const char*, const char*>>;

/// Standard error of a new process with these variables that does `work`.
std::string heard(const Variables& variables, const std::function<void()>& work) {
  const int file = ::memfd_create("heard", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  const Outcome outcome = Process([&] {
                            ::dup2(file, STDERR_FILENO);
                            for (const auto& [name, value] : variables) ::setenv(name, value, 1);
                            work();
                          }).wait();
  std::string text(static_cast<size_t>(::lseek(file, 0, SEEK_END)), '\0');
  REQUIRE(::pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  ::close(file);
  INFO(text);
  CHECK(outcome.failure() == "");
  return text;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string host_name() {
  char name[256] = {};
  REQUIRE(::gethostname(name, sizeof name - 1) == 0);
  return name;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Makes two communicators of two ranks each, one after the other.
void start_twice() {
  for (int time = 0; time < 2; ++time) {
    rondo_comm_t comms[2];
    check(rondo_init_all(comms, 2, nullptr));
    for (rondo_comm_t comm : comms) check(rondo_destroy(comm));
  }
}

std::string version_text() {
  return std::to_string(RONDO_VERSION / 10000) + "." + std::to_string(RONDO_VERSION / 100 % 100) + "." +
         std::to_string(RONDO_VERSION % 100);
}

}  // namespace

TEST_CASE("level info, in any case, logs one line per communicator and rank") {
  for (const auto& level : Variables{
           {"RONDO_LOG", "info"}, {"RONDO_LOG", "INFO"}, {"NCCL_DEBUG", "Info"}, {"NCCL_DEBUG", "ABORT"}}) {
    const std::string text = heard({level}, start_twice);
    CAPTURE(level.first, level.second, text);
    CHECK(count_of(text, "communicator world: rank ") == 4);
    for (const std::string& part : std::vector<std::string>{
             "rank 0 of 2 on host ", "rank 1 of 2 on host ", ", Rondo " + version_text() + "; ",
             "; transports: local to 1 rank; interfaces: ", "; GPU: ", "; made in ", " ms\n"}) {
      CAPTURE(part);
      CHECK(count_of(text, part) >= 2);
    }
  }
}

TEST_CASE("an unknown level is refused, and a later start with a valid one succeeds") {
  const std::string text = heard({{"RONDO_LOG", "inof"}, {"RONDO_TIMEOUTS", "5"}}, [] {
    rondo_comm_t comm = nullptr;
    check_fails(rondo_init_all(&comm, 1, nullptr), RONDO_INVALID_ARGUMENT,
                {"RONDO_LOG is 'inof'", "trace, debug, info, warn, error, off", "did you mean info?"});
    ::setenv("RONDO_LOG", "Warn", 1);
    start_twice();
  });
  CAPTURE(text);
  CHECK(count_of(text, "RONDO_TIMEOUTS is not a variable of Rondo; did you mean RONDO_TIMEOUT?\n") == 1);
  CHECK(count_of(text, "\n") == 1);
}

TEST_CASE("an unknown NCCL level is ignored with a warning, as in NCCL") {
  const std::string text = heard({{"NCCL_DEBUG", "loud"}}, start_twice);
  CAPTURE(text);
  CHECK(
      count_of(text,
               "NCCL_DEBUG is 'loud', which is not a log level; expected one of NONE, VERSION, WARN, INFO") ==
      1);
  CHECK(count_of(text, "\n") == 1);
}

TEST_CASE("the log is added to the file that RONDO_LOG_FILE names, and standard error stays empty") {
  const Folder folder;
  const std::string name = folder / "%h.%%";
  const std::string path = folder / (host_name() + ".%");
  const Variables variables = {{"RONDO_LOG", "info"}, {"RONDO_LOG_FILE", name.c_str()}};
  for (size_t processes = 1; processes <= 2; ++processes) {
    CHECK(heard(variables, start_twice) == "");
    const std::string text = contents(path);
    CAPTURE(text);
    CHECK(count_of(text, "communicator world: rank ") == 4 * processes);
    CHECK(count_of(text, "\n[") + 1 == count_of(text, "\n"));  // each line has a time
  }
  REQUIRE(std::filesystem::remove(path));
  const std::string with_process = folder / "%p";
  const Shared<pid_t> process;
  heard({{"RONDO_LOG", "info"}, {"RONDO_LOG_FILE", with_process.c_str()}}, [&] {
    *process = ::getpid();
    start_twice();
  });
  CHECK(count_of(contents(folder / std::to_string(*process)), "communicator world: rank ") == 4);
}

TEST_CASE("a log file that cannot be written is mentioned once, and standard error has the log") {
  for (const auto& [file, why] : Variables{{"/nowhere/log", "No such file or directory"},
                                           {"/", "Is a directory"},
                                           {"/dev/full", "No space left on device"}}) {
    const std::string text = heard({{"RONDO_LOG", "info"}, {"RONDO_LOG_FILE", file}}, start_twice);
    CAPTURE(file, text);
    CHECK(count_of(text, std::string("rondo: RONDO_LOG_FILE: cannot write ") + file + ": " + why +
                             "; the log goes to standard error\n") == 1);
    CHECK(count_of(text, "RONDO_LOG_FILE") == 1);
    CHECK(count_of(text, "communicator world: rank ") == 4);
  }
}

TEST_CASE("a log file's name with an unknown mark is refused") {
  for (const char* name : {"/tmp/%r", "/tmp/%", "%d"})
    heard({{"RONDO_LOG_FILE", name}}, [&] {
      rondo_comm_t comm = nullptr;
      check_fails(rondo_init_all(&comm, 1, nullptr), RONDO_INVALID_ARGUMENT,
                  {"RONDO_LOG_FILE is '" + std::string(name) + "'", "%h, %p, or %% for a percent sign"});
    });
}

TEST_CASE("unknown variables are reported once, those of tools and empty ones never") {
  const Variables variables = {{"RONDO_ALGO", "ring"},      {"RONDO_LOG_LEVEL", "1"},   {"RONDO_QUUX", "1"},
                               {"RONDO_WERROR", "1"},       {"RONDO_NCCL_BANNER", "1"}, {"RONDO_EMPTY", ""},
                               {"RONDO_TORCH_PYTHON", "/"}, {"RONDO_TEST_DATA", "/"}};
  const std::string text = heard(variables, start_twice);
  CAPTURE(text);
  CHECK(count_of(text, "RONDO_ALGO is not a variable of Rondo; did you mean RONDO_ALGORITHM?\n") == 1);
  CHECK(count_of(text, "RONDO_LOG_LEVEL is not a variable of Rondo; did you mean RONDO_LOG?\n") == 1);
  CHECK(count_of(text, "RONDO_QUUX is not a variable of Rondo\n") == 1);
  CHECK(count_of(text, "\n") == 3);
  CHECK(heard({{"RONDO_QUUX", "1"}, {"RONDO_LOG", "OFF"}}, start_twice).empty());
}

TEST_CASE("a child that is forked while another thread logs can log too") {
  if (kSanitized) return;  // a fork may leave the sanitizer's allocator locked
  const Folder folder;
  const std::string path = folder / "log";
  heard({{"RONDO_LOG_FILE", path.c_str()}}, [] {
    log().warn("the first");  // the C library reads the time zone, and must not be forked meanwhile
    std::atomic<bool> is_over{false};
    std::thread other([&] {
      while (!is_over) log().warn("the parent's");
    });
    std::string failure;
    for (int time = 0; time < 20 && failure.empty(); ++time)
      failure = Process([] { log().warn("a child's"); }).wait(5).failure();
    is_over = true;
    other.join();
    require(failure.empty(), failure);
  });
  CHECK(count_of(contents(path), "a child's\n") == 20);
}

}  // namespace rondo::test
