// SPDX-License-Identifier: Apache-2.0
// rondo-perf compare: rows that two documents have in common.
#include "catch.h"
#include "comparison.h"

namespace {

using namespace rondo::perf;

MeasuredRun run_of(const std::string& name, std::vector<MeasuredRow> rows) {
  return {name, "facts", std::move(rows)};
}

MeasuredRow row(const std::string& collective, long long bytes, double out_us, double in_us,
                const std::string& state = "near", const std::string& algorithm = "ring") {
  return {{collective, "float", "sum", "host", -1, 4, bytes}, out_us, in_us, state, algorithm};
}

MeasuredRun parsed(const std::string& text) {
  std::string error;
  const auto run = measured_run("x.json", text, error);
  INFO(error);
  REQUIRE(run);
  return *run;
}

std::string refused(const std::string& text) {
  std::string error;
  REQUIRE_FALSE(measured_run("x.json", text, error));
  return error;
}

}  // namespace

TEST_CASE("rows in common are compared, and each collective has a mean") {
  const auto a =
      run_of("a", {row("all_reduce", 8, 2, 4), row("all_reduce", 65536, 10, 10), row("scan", 8, 1, 1)});
  const auto b =
      run_of("b", {row("all_reduce", 65536, 20, 10), row("all_reduce", 8, 1, 1), row("scan", 16, 1, 1)});
  const std::string text = comparison_text(a, b);
  CAPTURE(text);
  REQUIRE(text.starts_with("# A: a (facts)\n# B: b (facts)\n"));
  // The fourth root of 2 * 4 * 0.5 * 1.
  REQUIRE(text.find("# all_reduce: 1.41 as the geometric mean of 4, least 0.50 at 64 KiB\n") !=
          std::string::npos);
  REQUIRE(text.find("scan") == std::string::npos);
  REQUIRE(comparison_text(a, run_of("b", {row("scan", 9, 1, 1)})).empty());
}

TEST_CASE("rows of different states of the machine are shown and not counted") {
  const auto a = run_of("a", {row("all_reduce", 8, 2, 2), row("all_reduce", 16, 9, 9, "far")});
  const auto b = run_of("b", {row("all_reduce", 8, 1, 1), row("all_reduce", 16, 1, 1)});
  const std::string text = comparison_text(a, b);
  CAPTURE(text);
  REQUIRE(text.find("  far, near\n") != std::string::npos);
  REQUIRE(text.find("# all_reduce: 2.00 as the geometric mean of 2,") != std::string::npos);
  REQUIRE(text.find("# 1 row was measured in different states") != std::string::npos);
}

TEST_CASE("where a call has more than one row, those of the same algorithm are compared in order") {
  const auto one = [](const std::string& algorithm, double us) {
    return row("all_reduce", 8, us, us, "near", algorithm);
  };
  const auto a = run_of("a", {one("ring", 2), one("tree", 50), one("ring", 4)});
  const std::string same = comparison_text(a, a);
  CAPTURE(same);
  REQUIRE(same.find("# all_reduce: 1.00 as the geometric mean of 6, least 1.00") != std::string::npos);
  REQUIRE(same.find("  ring\n") < same.find("  tree\n"));
  const auto b = run_of("b", {one("new", 9), one("tree", 25), one("ring", 1), one("ring", 2)});
  REQUIRE(comparison_text(a, b).find("2.00 as the geometric mean of 6, least 2.00") != std::string::npos);
  const std::string single = comparison_text(a, run_of("b", {one("star", 1)}));
  CAPTURE(single);
  REQUIRE(single.find("  ring, star\n") != std::string::npos);
  REQUIRE(single.find("7.37 as the geometric mean of 6,") != std::string::npos);
  REQUIRE(comparison_text(run_of("a", {one("ring", 2)}), run_of("b", {one("star", 1)})).find("ring") ==
          std::string::npos);
}

TEST_CASE("a form that a collective lacks is not compared") {
  MeasuredRow lacking = row("all_to_all", 8, 2, 2);
  lacking.in_place_us.reset();
  const std::string text = comparison_text(run_of("a", {lacking}), run_of("b", {row("all_to_all", 8, 2, 2)}));
  REQUIRE(text.find("N/A") != std::string::npos);
  REQUIRE(text.find("geometric mean of 1,") != std::string::npos);
}

TEST_CASE("documents of nccl-tests name the collective by their program") {
  const MeasuredRun run =
      parsed(R"({"args": ["/opt/all_reduce_perf", "-g", "8"], "start_time": "2026-01-02 03:04:05",
    "config": {"nthreads": 2, "ngpus": 4}, "results": [{"size": 1024, "count": 256, "type": "float", "redop": "sum",
    "root": -1, "out_of_place": {"time": 12.5}, "in_place": {"cpu_time": 11.5}}]})");
  REQUIRE(run.facts == "nccl-tests, 2026-01-02 03:04:05");
  REQUIRE(run.rows.size() == 1);
  const ComparedCall expected{"all_reduce", "float", "sum", "cuda", -1, 8, 1024};
  REQUIRE(run.rows[0].call == expected);
  REQUIRE(run.rows[0].out_of_place_us == 12.5);
  REQUIRE(run.rows[0].in_place_us == 11.5);
}

TEST_CASE("names do not reach the terminal as control characters") {
  const MeasuredRun run = parsed(R"({"date": "\u001b[31m", "rondo_version": "9",
    "results": [{"collective": "a\nb", "size": 8, "ranks": 2, "out_of_place": {"time": 1e300}}]})");
  const std::string text = comparison_text(run, run);
  CAPTURE(text);
  REQUIRE(text.find('\x1b') == std::string::npos);
  REQUIRE(text.find("a\\u000ab") != std::string::npos);
  REQUIRE(text.find("  1.0e+300  1.0e+300    1.00") != std::string::npos);
}

TEST_CASE("what is no such document is refused with its name and the reason") {
  REQUIRE(refused("{\"results\": [").find("x.json: it is not a JSON document of rondo-perf") == 0);
  REQUIRE(refused("{}").find("results") != std::string::npos);
  REQUIRE(refused("{\"results\": [{}]}").find("size") != std::string::npos);
  REQUIRE_FALSE(refused("{\"results\": [{\"size\": \"8\"}]}").empty());
  REQUIRE_FALSE(refused("{\"results\": 7, \"config\": []}").empty());
  REQUIRE_FALSE(refused("[1, 2]").empty());
  REQUIRE_FALSE(refused("").empty());
}
