#include "json.h"

#include <nlohmann/json.hpp>

namespace rondo::perf {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Times of a form that does not exist are null, and so is #wrong where nothing was checked.
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
  return object;
}

Timing timing_from(const Json& object, const std::string& prefix, const char* time, const char* wrong) {
  Timing timing;
  timing.time_us = object.at(time);
  timing.algbw = object.at(prefix + "algbw");
  timing.busbw = object.at(prefix + "busbw");
  if (!object.at(wrong).is_null()) timing.wrong = object.at(wrong).get<size_t>();
  return timing;
}

}  // namespace

std::string row_to_json(const Row& row) { return to_object(row).dump(); }

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
    if (!object.at("out_of_place_us").is_null())
      row.out_of_place = timing_from(object, "", "out_of_place_us", "out_of_place_wrong");
    if (!object.at("in_place_us").is_null())
      row.in_place = timing_from(object, "in_place_", "in_place_us", "in_place_wrong");
    return row;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::string rows_to_json(const std::vector<Row>& rows) {
  std::string text = "[";
  for (const Row& row : rows) {
    text += text.size() > 1 ? ",\n " : "\n ";
    text += row_to_json(row);
  }
  return text + "\n]\n";
}

}  // namespace rondo::perf
