// SPDX-License-Identifier: Apache-2.0
#include "json.h"

#include <nlohmann/json.hpp>

#include "handoff.h"

namespace rondo::perf {
namespace {

using Json = nlohmann::ordered_json;

// Names of files may be anything but UTF-8.
std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

void add_setup(const Setup& setup, Json& object) {
  object["memory"] = setup.memory;
  object["calls"] = setup.calls;
  object["graph_launches"] = setup.graph_launches;
  object["clock"] = setup.clock;
  object["fresh"] = setup.fresh;
  object["gpu"] = text_or_null(setup.gpu);
  object["driver"] = text_or_null(setup.driver);
  object["copy_gbs"] = or_null(setup.copy_gbs);
  object["handoff_ns"] = or_null(setup.handoff_ns);
  object["clock_read_ns"] = or_null(setup.clock_read_ns);
}

// A form as nccl-tests writes it.
Json form_object(const std::optional<Timing>& timing, bool cpu_time) {
  if (!timing) return nullptr;
  Json object;
  object[cpu_time ? "cpu_time" : "time"] = timing->time_us;
  object["alg_bw"] = timing->algbw;
  object["bus_bw"] = timing->busbw;
  object["nwrong"] = or_null(timing->wrong);
  return object;
}

// The statistics of -I as nccl-tests writes them.
void add_iterations(const std::optional<Timing>& timing, const char* key, Json& object) {
  if (!timing || !timing->iterations) return;
  const IterationStatistics of = statistics_of(*timing->iterations);
  object[key] = {{"skipped_iterations", timing->iterations->skipped},
                 {"min_us", of.least_us},
                 {"max_us", of.most_us},
                 {"avg_us", of.mean_us},
                 {"p50_us", of.p50_us},
                 {"p95_us", of.p95_us},
                 {"p99_us", of.p99_us},
                 {"stdev_us", of.deviation_us},
                 {"cv_pct", of.variation_percent()},
                 {"times_us", timing->iterations->times_us}};
}

// The fields of nccl-tests that are not among ours.
void add_foreign_names(const Row& row, Json& object) {
  object["size"] = row.bytes;
  object["redop"] = row.op;
  object["out_of_place"] = form_object(row.out_of_place, row.setup.clock == "cpu");
  object["in_place"] = form_object(row.in_place, row.setup.clock == "cpu");
  add_iterations(row.out_of_place, "out_of_place_per_iter", object);
  add_iterations(row.in_place, "in_place_per_iter", object);
}

// Times of a form that does not exist are null, as is #wrong if nothing was checked.
Json to_object(const Row& row) {
  Json object;
  object["collective"] = row.collective;
  object["algorithm"] = row.algorithm;
  object["automatic"] = row.automatic;
  object["transport"] = row.transport;
  object["ranks"] = row.ranks;
  object["bytes"] = row.bytes;
  object["count"] = row.count;
  object["type"] = row.type;
  object["op"] = row.op;
  object["root"] = row.root;
  const Timing none;
  const Timing& out = row.out_of_place ? *row.out_of_place : none;
  const Timing& in = row.in_place ? *row.in_place : none;
  object["out_of_place_us"] = row.out_of_place ? Json(out.time_us) : Json(nullptr);
  object["in_place_us"] = row.in_place ? Json(in.time_us) : Json(nullptr);
  object["algbw"] = out.algbw;
  object["busbw"] = out.busbw;
  object["in_place_algbw"] = row.in_place ? Json(in.algbw) : Json(nullptr);
  object["in_place_busbw"] = row.in_place ? Json(in.busbw) : Json(nullptr);
  object["wrong"] = out.wrong ? Json(*out.wrong + in.wrong.value_or(0)) : Json(nullptr);
  object["out_of_place_wrong"] = or_null(out.wrong);
  object["in_place_wrong"] = or_null(in.wrong);
  object["out_of_place_limit_us"] = or_null(out.limit_us);
  object["in_place_limit_us"] = or_null(in.limit_us);
  add_setup(row.setup, object);
  object["handoff_after_ns"] = or_null(row.handoff_after_ns);
  const std::string_view state = machine_state(row.setup.handoff_ns, row.handoff_after_ns);
  object["state"] = text_or_null(std::string(state));
  add_foreign_names(row, object);
  return object;
}

std::string text_from(const Json& value) { return value.is_null() ? "" : value.get<std::string>(); }

template <typename T>
std::optional<T> number_from(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

Setup setup_from(const Json& object) {
  Setup setup;
  setup.memory = object.at("memory");
  setup.calls = object.at("calls");
  setup.graph_launches = object.at("graph_launches");
  setup.clock = object.at("clock");
  setup.fresh = object.at("fresh");
  setup.gpu = text_from(object.at("gpu"));
  setup.driver = text_from(object.at("driver"));
  setup.copy_gbs = number_from<double>(object.at("copy_gbs"));
  setup.handoff_ns = number_from<double>(object.at("handoff_ns"));
  setup.clock_read_ns = number_from<double>(object.at("clock_read_ns"));
  return setup;
}

// `bandwidths` and `others`: prefixes of the names of the form's fields.
Timing timing_from(const Json& object, const std::string& bandwidths, const std::string& others) {
  Timing timing;
  timing.time_us = object.at(others + "us");
  timing.algbw = object.at(bandwidths + "algbw");
  timing.busbw = object.at(bandwidths + "busbw");
  timing.wrong = number_from<size_t>(object.at(others + "wrong"));
  timing.limit_us = number_from<double>(object.at(others + "limit_us"));
  if (const auto found = object.find(others + "per_iter"); found != object.end())
    timing.iterations = IterationTimes{found->at("skipped_iterations"), found->at("times_us")};
  return timing;
}

}  // namespace

std::string row_to_json(const Row& row) { return dumped(to_object(row)); }

std::optional<Row> row_from_json(std::string_view line) {
  try {  // the JSON library reports by exceptions
    const Json object = Json::parse(line);
    Row row;
    row.collective = object.at("collective");
    row.algorithm = object.at("algorithm");
    row.automatic = object.at("automatic");
    row.transport = object.at("transport");
    row.ranks = object.at("ranks");
    row.bytes = object.at("bytes");
    row.count = object.at("count");
    row.type = object.at("type");
    row.op = object.at("op");
    row.root = object.at("root");
    row.setup = setup_from(object);
    row.handoff_after_ns = number_from<double>(object.at("handoff_after_ns"));
    if (!object.at("out_of_place_us").is_null()) row.out_of_place = timing_from(object, "", "out_of_place_");
    if (!object.at("in_place_us").is_null()) row.in_place = timing_from(object, "in_place_", "in_place_");
    return row;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::string table_end_to_json(const TableEnd& end) {
  return dumped(Json{{"handoff_after_ns", or_null(end.handoff_ns)}});
}

std::optional<TableEnd> table_end_from_json(std::string_view line) {
  try {  // see above
    const Json object = Json::parse(line);
    if (object.size() != 1) return std::nullopt;
    return TableEnd{number_from<double>(object.at("handoff_after_ns"))};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace rondo::perf
