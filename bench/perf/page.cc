// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/words.h"
#include "figures.h"
#include "page_texts.h"
#include "picture.h"

namespace rondo::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr PanelFrame kFrame{68, 12, 392, 300};
constexpr size_t kFewCurves = 2;  // with more, only the form out of place is visible at first
constexpr double kChartWidth = 480, kChartHeight = 366;

// An element with escaped text.
std::string element(const char* tag, const std::string& text, const std::string& attributes = "") {
  return fmt::format("<{0}{1}>{2}</{0}>", tag, attributes, escaped(text));
}

// A word as a shell reads it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Without what is nested deeper than in any document that was meant: to write it takes stack.
Json parsed_document(const std::string& text) {
  constexpr int kMaxDepth = 8;
  const auto is_kept = [](int depth, Json::parse_event_t, const Json&) { return depth <= kMaxDepth; };
  return Json::parse(text, is_kept, false);
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "unknown" : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The words of a command line, or lines.
std::string list_text(const Json& list, bool command) {
  std::string text;
  for (const Json& item : list) {
    const std::string word = value_text(item);
    text += (text.empty() ? "" : command ? " " : "\n") + (command ? quoted(word) : word);
  }
  return text;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

// What a document says besides the rows.
Facts document_facts(const Json& document) {
  Facts facts;
  if (!document.is_object()) return facts;
  for (const auto& [key, value] : document.items()) {
    if (key == "results") continue;
    if (value.is_array()) {
      facts.emplace_back(key, list_text(value, key == "args"));
    } else if (value.is_object()) {
      for (const auto& [part, inner] : value.items())
        facts.emplace_back(fmt::format("{}, {}", key, part), value_text(inner));
    } else {
      facts.emplace_back(key, value_text(value));
    }
  }
  return facts;
}

std::string facts_table(const std::string& caption, const Facts& facts) {
  std::string html = "<table class=\"facts\">" + element("caption", caption) + "\n<tbody>\n";
  for (const auto& [name, value] : facts)
    html += "<tr>" + element("th", name, " scope=\"row\"") + element("td", value) + "</tr>\n";
  return html + "</tbody></table>\n";
}

// The machine and the date in a line.
std::string origin_of(const PageRun& run, const Json& document) {
  const std::string name = run.file.empty() ? run.name : run.name + ", " + run.file;
  if (!document.is_object()) return name;
  const Json machine = document.value("machine", Json::object());
  std::string line = name;
  const auto add = [&](const Json& object, const char* key, std::string_view before, std::string_view after) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end() || found->is_null()) return;
    line += (line.empty() ? "" : line == name ? ": " : ", ");
    line += fmt::format("{}{}{}", before, value_text(*found), after);
  };
  add(machine, "processor", "", "");
  add(machine, "cpus", "", " CPUs");
  add(machine, "host", "host ", "");
  add(document, document.contains("date") ? "date" : "start_time", "", "");
  add(document, "rondo_version", "Rondo ", "");
  return line;
}

std::string chart(const CurveSet& set, const CurveMeasure& measure) {
  std::string html = fmt::format("<figure>\n<h2>{}, {}</h2>\n", measure.title, measure.unit);
  html += fmt::format(
      "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" tabindex=\"0\" aria-label=\"{} by "
      "message size, in {}, on logarithmic axes; the table of figures has the same values\">\n",
      kChartWidth, kChartHeight, measure.title, measure.unit);
  return html + panel(set, measure, kFrame, PlottedForms::Both) + "</svg>\n</figure>\n";
}

std::string check_box(const std::string& id, bool checked, const std::string& attributes,
                      const std::string& label) {
  return fmt::format("<label><input type=\"checkbox\" id=\"{}\"{}{}>{}</label>\n", id,
                     checked ? " checked" : "", attributes, label);
}

std::string controls(const CurveSet& set) {
  const bool few = set.curves.size() <= kFewCurves;
  bool in_place = false, spread = false;
  std::string html = "<fieldset id=\"curves\"><legend>Curves</legend>\n";
  for (size_t i = 0; i < set.curves.size(); ++i) {
    const Curve& curve = set.curves[i];
    const std::string sample = "<svg class=\"sample\" viewBox=\"0 0 28 8\" aria-hidden=\"true\">" +
                               sample_line(curve.style, 0, 4, 28) + "</svg>";
    html += check_box(fmt::format("curve-{}", i), true, fmt::format(" data-curve=\"{}\"", i),
                      sample + element("span", curve.name));
    in_place |= !curve.in_place.empty();
    for (const auto* points : {&curve.out_of_place, &curve.in_place})
      spread |=
          std::any_of(points->begin(), points->end(), [](const CurvePoint& p) { return p.fast_us > 0; });
  }
  html +=
      "<button type=\"button\" id=\"all\">all</button> <button type=\"button\" id=\"none\">none</button>\n";
  html += "</fieldset>\n<fieldset><legend>Show</legend>\n";
  html += check_box("form-out", true, "", "out of place (filled dots)");
  if (in_place) html += check_box("form-in", few, "", "in place (hollow dots)");
  if (spread) html += check_box("spread", few, "", "spread: fastest iteration to 99th percentile");
  return html + "</fieldset>\n";
}

std::string figures_table(const FigureTable& table) {
  std::string html =
      "<div class=\"wide\"><table id=\"figures\">" + element("caption", "Figures") + "\n<thead><tr>";
  for (const FigureColumn& column : table.columns)
    html += element("th", column.title, column.of_point ? " scope=\"col\" data-point" : " scope=\"col\"");
  html += "</tr></thead>\n<tbody>\n";
  for (const FigureLine& line : table.lines) {
    html += fmt::format("<tr id=\"{}-{}\">", line.in_place ? "in" : "out", line.row);
    for (const std::string& cell : line.cells) html += element("td", cell);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

bool is_page(const std::string& path) {
  const std::string_view ending = std::string_view(path).substr(std::min(path.rfind('.'), path.size()));
  return same_word(ending, ".html") || same_word(ending, ".htm");
}

std::string page_html(const std::vector<Row>& rows, const std::vector<PageRun>& runs) {
  const CurveSet set = curves_of(rows);
  const FigureTable table = figures_of(rows);
  std::string origins, facts;
  for (const PageRun& run : runs) {
    const Json document = parsed_document(run.document);
    origins += element("p", origin_of(run, document)) + "\n";
    const auto args = document.is_object() ? document.find("args") : document.end();
    if (document.is_object() && args != document.end() && args->is_array())
      origins += element("p", list_text(*args, true), " class=\"command\"") + "\n";
    facts += facts_table(run.name.empty() ? "The run" : "Run " + run.name, document_facts(document));
  }
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html +=
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += "<meta name=\"color-scheme\" content=\"light dark\">\n";
  html += element("title", "rondo-perf: " + set.title) + "\n";
  html += fmt::format("<style>\n{}{}</style>\n</head>\n<body>\n", kPlotCss, kPageCss);
  html += "<header>\n" + element("h1", set.title) + "\n" + origins + "</header>\n<main>\n";
  html += "<section class=\"controls\" aria-label=\"What is shown\">\n" + controls(set) + "</section>\n";
  html += "<section class=\"charts\" aria-label=\"Curves\">\n" + chart(set, kBusBandwidth) +
          chart(set, kCallTime) + "</section>\n";
  if (!table.shared.empty()) facts = facts_table("In every line", table.shared) + facts;
  html += "<details>\n<summary>Where, when and how this was measured</summary>\n" + facts + "</details>\n";
  html += figures_table(table) + "</main>\n<div id=\"point\" role=\"status\" hidden></div>\n";
  return html + fmt::format("<script>\n{}</script>\n</body>\n</html>\n", kPageJs);
}

}  // namespace rondo::perf
