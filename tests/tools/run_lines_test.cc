// SPDX-License-Identifier: Apache-2.0
// rondo-run's smaller parts: line prefixes, the environment of a rank, the command line.
#include <map>

#include "catch.h"
#include "environment.h"
#include "lines.h"
#include "options.h"

namespace {

using namespace rondo::run;

ParsedRunOptions parse(std::vector<const char*> words) {
  words.insert(words.begin(), "rondo-run");
  return parse_options(static_cast<int>(words.size()), words.data());
}

}  // namespace

TEST_CASE("Lines get their prefix in whatever pieces the bytes arrive") {
  const std::string text("one\n\ntw\0o\nrest", 14);
  const std::string expected("[1] one\n[1] \n[1] tw\0o\n[1] rest\n", 31);
  for (size_t step = 1; step <= text.size(); ++step) {
    LinePrefixer lines("[1] ");
    std::string out;
    for (size_t at = 0; at < text.size(); at += step)
      out += lines.add(std::string_view(text).substr(at, step));
    out += lines.finish();
    CAPTURE(step);
    REQUIRE(out == expected);
  }
}

TEST_CASE("An endless line is passed on before it fills memory") {
  LinePrefixer lines("[0] ");
  size_t out = 0;
  for (int i = 0; i < 100; ++i) out += lines.add(std::string(65536, 'x')).size();
  REQUIRE(out > 4u << 20);
}

TEST_CASE("A rank's variables identify it") {
  JobInfo job;
  job.ranks = 4;
  job.port = 1234;
  job.secret = "s";
  const auto list = rank_variables(job, 3);
  const std::map<std::string, std::string> variables(list.begin(), list.end());
  REQUIRE(variables == std::map<std::string, std::string>{{"RANK", "3"},
                                                          {"WORLD_SIZE", "4"},
                                                          {"LOCAL_RANK", "3"},
                                                          {"LOCAL_WORLD_SIZE", "4"},
                                                          {"MASTER_ADDR", "127.0.0.1"},
                                                          {"MASTER_PORT", "1234"},
                                                          {"RONDO_SECRET", "s"}});
}

TEST_CASE("Secrets are long and distinct, and ports are valid") {
  REQUIRE(random_secret().size() == 64);
  REQUIRE(random_secret() != random_secret());
  REQUIRE(free_port() > 1023);
}

TEST_CASE("Arguments after the program belong to the program") {
  using Words = std::vector<std::string>;
  REQUIRE(parse({"-n", "2", "ls", "-n", "3"}).options.command == Words{"ls", "-n", "3"});
  REQUIRE(parse({"-n", "2", "--", "ls", "--help"}).options.command == Words{"ls", "--help"});
  REQUIRE(parse({"-n", "2", "ls", "--", "x"}).options.command == Words{"ls", "--", "x"});
  REQUIRE(parse({"-n", "2", "--no-prefix", "ls"}).options.prefix == false);
  REQUIRE(parse({"-n", "2", "--no-tag-output", "ls"}).options.prefix == false);
  REQUIRE(parse({"-n", "2", "--tag-output", "ls"}).options.prefix == true);
}
