// SPDX-License-Identifier: Apache-2.0
// Sizes, tables, JSON and plots, as read by people and other programs.
#include <nlohmann/json.hpp>

#include "algorithms.h"
#include "axis.h"
#include "catch.h"
#include "json.h"
#include "plot.h"
#include "sizes.h"
#include "table.h"

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
  row.setup = {"managed", "graph", "events", 7, "Some GPU", "13.0", 2000.5, 34.5};
  row.in_place->limit_us = 1.5;
  const auto gpu = nlohmann::json::parse(row_to_json(row));
  REQUIRE((gpu["gpu"] == "Some GPU" && gpu["driver"] == "13.0" && gpu["graph_launches"] == 7));
  REQUIRE((gpu["copy_gbs"] == 2000.5 && gpu["handoff_ns"] == 34.5 && gpu["in_place_limit_us"] == 1.5));
  REQUIRE(row_to_json(*row_from_json(row_to_json(row))) == row_to_json(row));
}

TEST_CASE("Rows survive conversion to JSON and back, and the file is an array of them") {
  const Row row = example_row(4096);
  const auto copy = row_from_json(row_to_json(row));
  REQUIRE(copy);
  REQUIRE(row_to_json(*copy) == row_to_json(row));
  REQUIRE(!row_from_json("nonsense"));
  REQUIRE(!row_from_json("{}"));
  const auto array = nlohmann::json::parse(rows_to_json({row, row}));
  REQUIRE(array.size() == 2);
  REQUIRE(array[0]["out_of_place_us"] == 12.5);
  REQUIRE(array[0]["in_place_us"] == 10.0);
  REQUIRE(array[0]["wrong"] == 3);
  for (const char* field : {"collective", "algorithm", "transport", "ranks", "bytes", "count", "type", "op",
                            "root", "algbw", "busbw"})
    REQUIRE(array[0].contains(field));
  REQUIRE(nlohmann::json::parse(rows_to_json({})).empty());
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

TEST_CASE("A plot of no sizes, of one size or of a barrier is still a picture") {
  Row barrier = example_row(0);
  for (const std::vector<Row>& rows : {std::vector<Row>{}, {example_row(64)}, {barrier}}) {
    const std::string svg = plot_svg(rows);
    REQUIRE(svg.find("</svg>") != std::string::npos);
    REQUIRE(svg.find("nan") == std::string::npos);
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
