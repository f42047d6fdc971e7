// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <fmt/format.h>

#include <array>

#include "base/json_text.h"
#include "sizes.h"

namespace rondo::perf {
namespace {

// Colours that colour-blind readers can distinguish (Okabe and Ito, 2008); dashes distinguish further lines.
constexpr std::array kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr std::array kDashes{"", "7 4", "2 3", "9 3 2 3"};  // by style / number of colours

size_t colour_of(size_t style) { return style % kColours.size(); }

std::string grid_line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1,
                     x2, y2, style);
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (const double value : y.minor) svg += grid_line(x.from, y.at(value), x.to, y.at(value), "minor");
  for (const double value : x.ticks) {
    svg += grid_line(x.at(value), y.from, x.at(value), y.to, "major");
    svg += text_at(x.at(value), y.from + 18, "tick middle", format_size(value));
  }
  for (const double value : y.ticks) {
    svg += grid_line(x.from, y.at(value), x.to, y.at(value), "major");
    svg += text_at(x.from - 8, y.at(value) + 4, "tick end", fmt::format("{:g}", value));
  }
  return svg +
         fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"frame\"/>\n",
                     x.from, y.to, x.to - x.from, y.from - y.to);
}

std::string line_style(size_t style) {
  const char* colour = kColours[colour_of(style)];
  const char* dash = kDashes[style / kColours.size() % kDashes.size()];
  return *dash == '\0' ? fmt::format("stroke=\"{}\"", colour)
                       : fmt::format("stroke=\"{}\" stroke-dasharray=\"{}\"", colour, dash);
}

// The area from the fastest to the 99th percentile of the iterations; empty if no point knows them.
std::string spread(const std::vector<CurvePoint>& points, size_t style, const Axis& x, const Axis& y,
                   const CurveMeasure& measure) {
  std::string there, back;
  for (const CurvePoint& point : points) {
    if (point.fast_us <= 0 || measure.value(point) <= 0) continue;
    const double px = x.at(point.bytes);
    there += fmt::format("{:.1f},{:.1f} ", px, y.at(measure.at_time(point, point.fast_us)));
    back.insert(0, fmt::format("{:.1f},{:.1f} ", px, y.at(measure.at_time(point, point.slow_us))));
  }
  if (there.empty()) return "";
  back.pop_back();
  return fmt::format("<polygon points=\"{}{}\" class=\"spread\" fill=\"{}\"/>\n", there, back,
                     kColours[colour_of(style)]);
}

struct PlottedCurve {
  size_t number = 0, style = 0;
  const std::vector<CurvePoint>& points;
  bool in_place = false;
};

std::string group(const PlottedCurve& curve, const Axis& x, const Axis& y, const CurveMeasure& measure,
                  PlottedForms forms) {
  const char* colour = kColours[colour_of(curve.style)];
  std::string line, dots;
  for (const CurvePoint& point : curve.points) {
    if (measure.value(point) <= 0) continue;
    const double px = x.at(point.bytes), py = y.at(measure.value(point));
    line += fmt::format("{:.1f},{:.1f} ", px, py);
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\" class=\"dot\"", px, py,
                        colour);
    dots += forms == PlottedForms::Both ? fmt::format(" data-row=\"{}\"/>\n", point.row) : "/>\n";
  }
  if (line.empty()) return "";
  line.pop_back();
  std::string svg =
      fmt::format("<g class=\"c{}{}\" data-curve=\"{}\" data-form=\"{}\">\n", colour_of(curve.style),
                  curve.in_place ? " in-place" : "", curve.number, curve.in_place ? "in" : "out");
  if (forms == PlottedForms::Both) svg += spread(curve.points, curve.style, x, y, measure);
  svg += fmt::format("<polyline points=\"{}\" class=\"curve\" {}/>\n", line, line_style(curve.style));
  return svg + dots + "</g>\n";
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t')
          out += c;
        else
          out += "\xEF\xBF\xBD";  // U+FFFD
    }
  }
  return out;
}

std::string text_at(double x, double y, const char* style, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style,
                     escaped(in_one_line(text)));
}

std::string sample_line(size_t style, double x, double y, double length) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"curve c{}\" {}/>\n", x, y,
      x + length, y, colour_of(style), line_style(style));
}

std::string panel(const CurveSet& set, const CurveMeasure& measure, const PanelFrame& frame,
                  PlottedForms forms) {
  const double middle = frame.left + frame.width / 2, bottom = frame.top + frame.height;
  std::string svg = text_at(middle, frame.top - 12, "panel middle", measure.title);
  const CurveRanges ranges = ranges_of(set, measure, forms);
  if (ranges.values.empty())
    return svg + text_at(middle, frame.top + frame.height / 2, "tick middle", "nothing to draw");
  const Axis x = size_axis(ranges.sizes.least, ranges.sizes.most, frame.left, frame.left + frame.width, 6);
  const Axis y = decimal_axis(ranges.values.least, ranges.values.most, bottom, frame.top);
  svg += grid(x, y);
  for (size_t i = 0; i < set.curves.size(); ++i) {
    const Curve& curve = set.curves[i];
    if (forms == PlottedForms::Both)
      svg += group({i, curve.style, curve.in_place, true}, x, y, measure, forms);
    svg += group({i, curve.style, curve.out_of_place, false}, x, y, measure, forms);
  }
  svg += text_at(middle, bottom + 40, "axis middle", "message size");
  return svg + fmt::format(
                   "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" class=\"axis middle "
                   "unit\">{}</text>\n",
                   frame.left - 48, frame.top + frame.height / 2, measure.unit);
}

}  // namespace rondo::perf
