// SPDX-License-Identifier: Apache-2.0
// Sizes, tables, JSON and plots, as read by people and other programs.
#include <nlohmann/json.hpp>

#include "algorithms.h"
#include "axis.h"
#include "catch.h"
#include "document.h"
#include "json.h"
#include "laps.h"
#include "page.h"
#include "plot.h"
#include "sizes.h"
#include "table.h"
#include "terminal_plot.h"

namespace {

using namespace rondo::perf;

Row example_row(size_t bytes) {
  Row row;
  row.collective = "all_reduce";
  row.algorithm = "ring";
  row.automatic = false;
  row.transport = "shm";
  row.ranks = 4;
  row.bytes = bytes;
  row.count = bytes / 4;
  row.type = "float";
  row.op = "sum";
  row.out_of_place = Timing{12.5, 1.25, 1.875, 0};
  row.in_place = Timing{10, 2, 3, 3};
  return row;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("Sweeps by factor and by step end where they should") {
  REQUIRE(sweep_sizes({8, 64, 1, 2}) == std::vector<size_t>{8, 16, 32, 64});
  REQUIRE(sweep_sizes({8, 63, 1, 2}) == std::vector<size_t>{8, 16, 32});
  REQUIRE(sweep_sizes({8, 24, 8, 0}) == std::vector<size_t>{8, 16, 24});
  REQUIRE(sweep_sizes({0, 4, 1, 2}) == std::vector<size_t>{0, 1, 2, 4});
  REQUIRE(sweep_sizes({5, 5, 1, 0}) == std::vector<size_t>{5});
}

TEST_CASE("Table columns are aligned with their titles") {
  const std::string header = table_header({});
  const std::string row = table_row(example_row(1048576), {}, "");
  const std::string last_title = header.substr(0, header.find('\n', header.find("#wrong")));
  const size_t width = last_title.size() - last_title.rfind('\n') - 1;
  REQUIRE(row.size() == width + 1);  // and its newline
  for (size_t from = 0; from < header.size(); from = header.find('\n', from) + 1)
    REQUIRE(header.find('\n', from) - from == width);
  REQUIRE(row.find("12.50    1.25    1.88       0") != std::string::npos);
  REQUIRE(row.find("10.00    2.00    3.00       3\n") != std::string::npos);
}

TEST_CASE("Numbers of any magnitude fit their columns") {
  for (const double value : {0.0, 0.004, 9.999, 123.456, 99999.99, 1234567.8, 12345678.9, 1e12, 1e100}) {
    CAPTURE(value);
    REQUIRE(fitted(value, 7).size() <= 7);
    REQUIRE(fitted(value, 6).size() <= 6);
  }
  REQUIRE(fitted(1234.5678, 7) == "1234.57");
  REQUIRE(fitted(123456.7, 7) == "123457");
}

TEST_CASE("The footer reports wrong values and the mean bus bandwidth") {
  const std::string text = table_footer({example_row(8), example_row(16)});
  REQUIRE(text.find("# Out of bounds values : 6 FAILED\n") == 0);
  REQUIRE(text.find("# Avg bus bandwidth    : 2.4375\n") != std::string::npos);
  REQUIRE(table_footer({}).find("# Out of bounds values : 0 OK\n") == 0);
}

TEST_CASE("A form that a collective lacks has no numbers") {
  Row row = example_row(8);
  row.in_place.reset();
  row.out_of_place->wrong.reset();
  REQUIRE(count_of(table_row(row, {}, ""), "N/A") == 5);
  const auto object = nlohmann::json::parse(row_to_json(row));
  REQUIRE(object["in_place_us"].is_null());
  REQUIRE(object["wrong"].is_null());
}

TEST_CASE("Limits have separate columns, aligned with their titles") {
  TableStyle style;
  style.limits = true;
  Row row = example_row(1048576);
  row.out_of_place->limit_us = 2.5;
  const std::string header = table_header(style);
  const std::string text = table_row(row, style, "");
  REQUIRE(text.size() == header.find('\n') + 1);
  REQUIRE(text.find("2.50    20.00") != std::string::npos);  // a fifth of the time
  REQUIRE(count_of(text, "N/A") == 2);
  REQUIRE(count_of(header, "reached") == 2);
  REQUIRE(table_header({}).find("reached") == std::string::npos);
}

TEST_CASE("The environment besides the library is part of a row") {
  Row row = example_row(8);
  const auto host = nlohmann::json::parse(row_to_json(row));
  REQUIRE((host["memory"] == "host" && host["calls"] == "calls" && host["clock"] == "host"));
  REQUIRE((host["gpu"].is_null() && host["driver"].is_null() && host["copy_gbs"].is_null()));
  REQUIRE((host["out_of_place_limit_us"].is_null() && host["in_place_limit_us"].is_null()));
  row.setup = {"managed", "graph", "events", 7, "Some GPU", "13.0", 2000.5, 34.5, false, 21.5};
  row.in_place->limit_us = 1.5;
  const auto gpu = nlohmann::json::parse(row_to_json(row));
  REQUIRE((gpu["gpu"] == "Some GPU" && gpu["driver"] == "13.0" && gpu["graph_launches"] == 7));
  REQUIRE((gpu["copy_gbs"] == 2000.5 && gpu["handoff_ns"] == 34.5 && gpu["in_place_limit_us"] == 1.5));
  REQUIRE((gpu["clock_read_ns"] == 21.5 && host["clock_read_ns"].is_null()));
  REQUIRE(row_to_json(*row_from_json(row_to_json(row))) == row_to_json(row));
}

TEST_CASE("Rows survive conversion to JSON and back, and so does the end of a table") {
  Row row = example_row(4096);
  row.in_place->iterations = IterationTimes{1, {9, 4, 2.5, 3}};
  row.handoff_after_ns = 33.5;
  const auto copy = row_from_json(row_to_json(row));
  REQUIRE(copy);
  REQUIRE(copy->in_place->iterations->times_us == row.in_place->iterations->times_us);
  REQUIRE(row_to_json(*copy) == row_to_json(row));
  REQUIRE(!row_from_json("nonsense"));
  REQUIRE(!row_from_json("{}"));
  REQUIRE(table_end_from_json(table_end_to_json({33.5}))->handoff_ns == 33.5);
  REQUIRE(!table_end_from_json(table_end_to_json({}))->handoff_ns);
  REQUIRE(!table_end_from_json(row_to_json(row)));
  REQUIRE(!table_end_from_json("nonsense"));
}

TEST_CASE("The state during a table is that before it, unless another one followed") {
  const auto state_of = [](std::optional<double> before, std::optional<double> after) {
    Row row = example_row(8);
    row.setup.handoff_ns = before;
    row.handoff_after_ns = after;
    return nlohmann::json::parse(row_to_json(row))["state"];
  };
  REQUIRE(state_of(30, 40) == "near");
  REQUIRE(state_of(200, 170) == "far");
  REQUIRE(state_of(30, 200) == "changed");
  REQUIRE(state_of(200, 30) == "changed");
  REQUIRE(state_of(30, {}).is_null());
  REQUIRE(state_of({}, 30).is_null());
}

TEST_CASE("The document has what nccl-tests writes, and where and when it was measured") {
  PerfOptions options;
  options.per_iteration = true;
  options.sweep.factor = 2;
  RunFacts facts;
  facts.arguments = {"rondo-perf", "all_reduce", "\xff"};  // no UTF-8
  facts.processor = "Some CPU";
  facts.cpus = 2;
  Row row = example_row(4096);
  row.out_of_place->iterations = IterationTimes{1, {9, 4, 2, 3}};
  const auto object = nlohmann::json::parse(document_json(options, facts, {row, example_row(8)}));
  REQUIRE((object["version"] == 3 && object["args"].size() == 3 && object["machine"]["cpus"] == 2));
  REQUIRE((object["config"]["step_factor"] == 2 && object["config"]["per_iter_timing"] == "true"));
  REQUIRE((object["out_of_bounds"]["count"] == 6 && object["out_of_bounds"]["okay"] == "false"));
  REQUIRE(object["average_bus_bandwidth"]["bandwidth"] == 2.4375);
  REQUIRE(object["results"].size() == 2);
  const auto first = object["results"][0];
  REQUIRE((first["size"] == 4096 && first["redop"] == "sum" && first["type"] == "float"));
  REQUIRE((first["out_of_place"]["time"] == 12.5 && first["in_place"]["bus_bw"] == 3.0));
  REQUIRE((first["out_of_place"]["nwrong"] == 0 && first["in_place"]["nwrong"] == 3 && first["wrong"] == 3));
  const auto times = first["out_of_place_per_iter"];
  REQUIRE((times["min_us"] == 2.0 && times["max_us"] == 4.0 && times["avg_us"] == 3.0));
  REQUIRE((times["times_us"].size() == 4 && times["skipped_iterations"] == 1));
  REQUIRE(!first.contains("in_place_per_iter"));
  REQUIRE(nlohmann::json::parse(document_json(options, facts, {}))["results"].empty());
}

TEST_CASE("Percentiles are those of nccl-tests") {
  IterationTimes times{0, {}};
  for (int us = 200; us >= 1; --us) times.times_us.push_back(us);
  const IterationStatistics of = statistics_of(times);
  REQUIRE(
      (of.least_us == 1 && of.p50_us == 101 && of.p95_us == 190 && of.p99_us == 198 && of.most_us == 200));
  REQUIRE(of.mean_us == 100.5);
  times.skipped = 100;
  REQUIRE(statistics_of(times).most_us == 100);
  for (size_t count = 1; count < 120; ++count) {
    times = {0, std::vector<double>(count, 3)};
    times.times_us[0] = 7;
    const IterationStatistics few = statistics_of(times);
    CAPTURE(count);
    REQUIRE((few.least_us <= few.p50_us && few.p50_us <= few.p95_us && few.p95_us <= few.p99_us));
    REQUIRE((few.p99_us <= few.most_us && few.most_us == 7));
  }
  REQUIRE(statistics_of({0, {5, 5, 5}}).variation_percent() == 0);
}

TEST_CASE("Percentiles have columns of their own, aligned with their titles") {
  TableStyle style;
  style.iterations = true;
  Row row = example_row(1048576);
  row.out_of_place->iterations = IterationTimes{0, {10, 10, 15}};
  const std::string header = table_header(style);
  const std::string text = table_row(row, style, "");
  REQUIRE(text.size() == header.find('\n') + 1);
  REQUIRE(text.find("10.00    10.00    15.00    15.00    15.00") != std::string::npos);
  REQUIRE(count_of(text, "N/A") == 6);
  for (const char* title : {"i_min", "i_p50", "i_p95", "i_p99", "i_max", "i_cv%"})
    REQUIRE(count_of(header, title) == 2);
  REQUIRE(table_header({}).find("i_") == std::string::npos);
}

TEST_CASE("One reading of the clock ends a lap and starts the next") {
  Laps laps(true, 3, 10);
  laps.end(12);
  laps.end(15, 20);  // what lies between is in no lap
  laps.end(21);
  REQUIRE(laps.take() == std::vector<double>{2, 3, 1});
  Laps unwanted(false, 3, 10);
  unwanted.end(12);
  REQUIRE(unwanted.take().empty());
}

TEST_CASE("A plot has one line per series and only numeric coordinates") {
  std::vector<Row> rows;
  for (const int ranks : {2, 4}) {
    for (size_t bytes = 8; bytes <= (1u << 20); bytes *= 2) {
      rows.push_back(example_row(bytes));
      rows.back().ranks = ranks;
    }
  }
  const std::string svg = plot_svg(rows);
  REQUIRE(count_of(svg, "<polyline") == 4);
  REQUIRE(svg.find("all_reduce, ring, shm, float sum") != std::string::npos);
  REQUIRE(svg.find("2 ranks") != std::string::npos);
  REQUIRE(svg.find("nan") == std::string::npos);
  REQUIRE(svg.find("inf") == std::string::npos);
}

TEST_CASE("A plot is UTF-8, whatever the names of files are") {
  Row row = example_row(8);
  row.algorithm = "file:\xff\x1b<.xml";
  REQUIRE(plot_svg({row}).find("file:\\ufffd\\u001b&lt;.xml") != std::string::npos);
}

TEST_CASE("A plot of no sizes, of one size or of a barrier is still a picture") {
  Row barrier = example_row(0);
  for (const std::vector<Row>& rows : {std::vector<Row>{}, {example_row(64)}, {barrier}}) {
    const std::string svg = plot_svg(rows);
    REQUIRE(svg.find("</svg>") != std::string::npos);
    REQUIRE(svg.find("nan") == std::string::npos);
  }
}

TEST_CASE("A plot for a terminal is plain, no wider than it, and has a mark for every point") {
  std::vector<Row> rows;
  for (const char* type : {"float", "half"}) {
    for (size_t bytes = 8; bytes <= (1u << 30); bytes *= 8) {
      rows.push_back(example_row(bytes));
      rows.back().type = type;
      rows.back().out_of_place->time_us = static_cast<double>(bytes) * (rows.size() > 10 ? 0.5 : 1e-3);
      rows.back().out_of_place->busbw = rows.size() > 10 ? 0.02 : 40;
      rows.back().algorithm = "f\xC3\xBC\x1b";
    }
  }
  for (const int columns : {40, 80, 111, 112, 240}) {
    const std::string text = terminal_plot(rows, columns);
    CAPTURE(text);
    for (size_t from = 0; from < text.size(); from = text.find('\n', from) + 1) {
      REQUIRE(text[from] == '#');
      REQUIRE(text.find('\n', from) - from <= static_cast<size_t>(columns));
    }
    REQUIRE(
        std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    REQUIRE(text.find("# all_reduce, 4 ranks, f???, shm\n") == 0);
    REQUIRE(text.find("# a: float sum\n# b: half sum\n") != std::string::npos);
    const std::string drawn = text.substr(0, text.find("# a: "));
    REQUIRE(count_of(drawn, "Time of a call, microseconds") == 1);
    REQUIRE(count_of(drawn, " 8 B") == 2);
    if (columns >= 80) REQUIRE((count_of(drawn, "b") == 20 + 1 && count_of(drawn, "+-") == 2));
  }
  for (Row& row : rows) row.type = "float";
  REQUIRE(terminal_plot({rows[0]}, 80).find('*') != std::string::npos);
  REQUIRE(terminal_plot({example_row(0)}, 80).empty());
}

TEST_CASE("Curves for a terminal have letters of their own") {
  std::vector<Row> rows;
  for (int ranks = 1; ranks <= 62; ++ranks) {
    rows.push_back(example_row(8));
    rows.back().ranks = ranks;
  }
  const std::string text = terminal_plot(rows, 80);
  for (const char* name : {"# a: 1 rank\n", "# z: 26 ranks\n", "# A: 27 ranks\n", "# 9: 62 ranks\n"})
    REQUIRE(text.find(name) != std::string::npos);
}

TEST_CASE("A page has counts in full") {
  Row row = example_row(123456788);
  row.out_of_place->wrong = 30864197;
  const std::string page = page_html({row}, {{"", "", "{}"}});
  for (const char* cell : {"<td>123456788</td>", "<td>30864197</td>"})
    REQUIRE(page.find(cell) != std::string::npos);
}

TEST_CASE("A page of a barrier, of no rows or of times that no axis holds is still a page") {
  Row wild = example_row(64);
  wild.out_of_place = Timing{1e-300, 1e300, 1e300, 0};
  wild.out_of_place->iterations = IterationTimes{0, {1e-320, 1e300}};
  wild.algorithm = "<b>\x01";
  for (const std::vector<Row>& rows : {std::vector<Row>{}, {example_row(0)}, {wild, example_row(64)}}) {
    const std::string nested = std::string(500000, '[') + std::string(500000, ']');
    const std::string page =
        page_html(rows, {{"A", "", "no JSON"}, {"B", "", "{\"config\": {\"x\": " + nested + "}}"}});
    REQUIRE(page.ends_with("</html>\n"));
    REQUIRE(count_of(page, "=\"nan") + count_of(page, "=\"inf") + count_of(page, "<b>") == 0);
  }
}

TEST_CASE("Axes contain their values and label few of them") {
  for (const double most : {9.0, 64.0, 1e3, 1e6, 1.3e8}) {
    const Axis size = size_axis(8, most, 0, 100, 6);
    REQUIRE(size.ticks.size() <= 7);
    REQUIRE(size.at(most) <= 100.0001);
    const Axis value = decimal_axis(0.003, most, 100, 0);
    CAPTURE(most);
    REQUIRE(value.at(0.003) <= 100.0001);
    REQUIRE(value.at(most) >= -0.0001);
    REQUIRE(value.ticks.size() >= 2);
    REQUIRE(value.ticks.size() <= 14);
  }
}

TEST_CASE("Algorithms are chosen by name, for one collective or for all that have it") {
  using Names = std::vector<std::string>;
  const Names names{"ring", "tree"};
  const auto chosen = [&](const Names& words, Collective collective = Collective::AllReduce) {
    return chosen_algorithms(words, collective, names);
  };
  REQUIRE(chosen({}) == Names{""});
  REQUIRE(chosen({"all"}) == names);
  REQUIRE(chosen({"tree"}) == Names{"tree"});
  REQUIRE(chosen({"tree", "all"}) == Names{"tree", "ring"});
  REQUIRE(chosen({"file:a.xml", "ring"}) == Names{"file:a.xml", "ring"});
  REQUIRE(chosen({"all_reduce=ring"}) == Names{"ring"});
  REQUIRE(chosen({"all_reduce=ring"}, Collective::Broadcast) == Names{""});
  REQUIRE(chosen_algorithms({"all"}, Collective::SendRecv, {}) == Names{""});
}
