// SPDX-License-Identifier: Apache-2.0
#include "plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "axis.h"
#include "sizes.h"

namespace rondo::perf {
namespace {

constexpr double kWidth = 1000, kPanelTop = 74, kPanelHeight = 330, kPanelWidth = 400;
constexpr double kLegendRow = 22, kLegendColumn = 300, kLegendLeft = 70;
constexpr std::array kPanelLefts{70.0, 570.0};
constexpr size_t kLegendColumns = 3;
// Colours that colour-blind readers can distinguish (Okabe and Ito, 2008); dashes distinguish further lines.
constexpr std::array kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr std::array kDashes{"", "7 4", "2 3", "9 3 2 3"};

struct Point {
  double bytes, time_us, busbw;
};

struct Series {
  std::string name;
  std::vector<Point> points;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// Describes a row except for its size; parts that all rows share go into the title, the others into the
// legend.
std::array<std::string, 6> describe(const Row& row) {
  return {row.collective,
          fmt::format("{} rank{}", row.ranks, row.ranks == 1 ? "" : "s"),
          row.automatic ? "" : row.algorithm,
          row.transport,
          row.op == "none" ? row.type : row.type + " " + row.op,
          row.root > 0 ? fmt::format("root {}", row.root) : ""};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

struct Figure {
  std::string title;
  std::vector<Series> series;
};

Figure make_figure(const std::vector<Row>& rows) {
  std::array<bool, 6> differs{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < differs.size(); ++i) differs[i] |= describe(row)[i] != describe(rows[0])[i];
  }
  Figure figure;
  std::map<std::string, size_t> index;
  for (const Row& row : rows) {
    std::vector<std::string> own, shared;
    const auto parts = describe(row);
    for (size_t i = 0; i < parts.size(); ++i) (differs[i] ? own : shared).push_back(parts[i]);
    figure.title = joined(shared);
    if (!row.out_of_place || row.bytes == 0 || row.out_of_place->time_us <= 0) continue;
    std::string name = joined(own);
    if (name.empty()) name = row.collective;
    const auto [at, fresh] = index.try_emplace(name, figure.series.size());
    if (fresh) figure.series.push_back({name, {}});
    figure.series[at->second].points.push_back(
        {static_cast<double>(row.bytes), row.out_of_place->time_us, row.out_of_place->busbw});
  }
  for (Series& series : figure.series)
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  if (figure.title.empty()) figure.title = "collectives";
  return figure;
}

struct AxisRange {
  double least = 0, most = 0;
  void include(double value) {
    if (value <= 0) return;
    least = least == 0 ? value : std::min(least, value);
    most = std::max(most, value);
  }
};

using Measure = double (*)(const Point&);

std::string text_at(double x, double y, const char* style, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style, escaped(text));
}

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

std::string line_style(size_t series) {
  const char* colour = kColours[series % kColours.size()];
  const char* dash = kDashes[series / kColours.size() % kDashes.size()];
  return *dash == '\0' ? fmt::format("stroke=\"{}\"", colour)
                       : fmt::format("stroke=\"{}\" stroke-dasharray=\"{}\"", colour, dash);
}

std::string curve(const Series& series, size_t number, const Axis& x, const Axis& y, Measure measure) {
  std::string points, dots;
  for (const Point& point : series.points) {
    if (measure(point) <= 0) continue;
    const double px = x.at(point.bytes), py = y.at(measure(point));
    points += fmt::format("{:.1f},{:.1f} ", px, py);
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\"/>\n", px, py,
                        kColours[number % kColours.size()]);
  }
  if (points.empty()) return "";
  points.pop_back();
  return fmt::format("<polyline points=\"{}\" class=\"curve\" {}/>\n", points, line_style(number)) + dots;
}

std::string panel(const Figure& figure, double left, const char* title, const char* unit, Measure measure) {
  AxisRange sizes, values;
  for (const Series& series : figure.series) {
    for (const Point& point : series.points) {
      sizes.include(point.bytes);
      values.include(measure(point));
    }
  }
  std::string svg = text_at(left + kPanelWidth / 2, kPanelTop - 12, "panel middle", title);
  if (values.least == 0)
    return svg +
           text_at(left + kPanelWidth / 2, kPanelTop + kPanelHeight / 2, "tick middle", "nothing to draw");
  const double bottom = kPanelTop + kPanelHeight;
  const Axis x = size_axis(sizes.least, sizes.most, left, left + kPanelWidth, 6);
  const Axis y = decimal_axis(values.least, values.most, bottom, kPanelTop);
  svg += grid(x, y);
  for (size_t i = 0; i < figure.series.size(); ++i) svg += curve(figure.series[i], i, x, y, measure);
  svg += text_at(left + kPanelWidth / 2, bottom + 40, "axis middle", "message size");
  return svg +
         fmt::format(
             "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" class=\"axis middle\">{}</text>\n",
             left - 48, kPanelTop + kPanelHeight / 2, unit);
}

std::string legend(const Figure& figure, double top) {
  std::string svg;
  for (size_t i = 0; i < figure.series.size(); ++i) {
    const double x = kLegendLeft + kLegendColumn * static_cast<double>(i % kLegendColumns);
    const double y = top + kLegendRow * static_cast<double>(i / kLegendColumns);
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"curve\" {}/>\n",
                       x, y, x + 28, y, line_style(i));
    svg += text_at(x + 36, y + 4, "tick", figure.series[i].name);
  }
  return svg;
}

constexpr const char* kStyles =
    "<style>text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#222}"
    ".title{font-size:18px;font-weight:bold}.panel{font-size:14px;font-weight:bold}.axis{font-size:13px}"
    ".tick{font-size:12px}.middle{text-anchor:middle}.end{text-anchor:end}"
    ".major{stroke:#d9d9d9;stroke-width:1}.minor{stroke:#efefef;stroke-width:1}"
    ".frame{fill:none;stroke:#666;stroke-width:1}.curve{fill:none;stroke-width:2}</style>\n";

}  // namespace

std::string plot_svg(const std::vector<Row>& rows) {
  const Figure figure = make_figure(rows);
  const size_t legend_rows = (figure.series.size() + kLegendColumns - 1) / kLegendColumns;
  const double legend_top = kPanelTop + kPanelHeight + 68;
  const double height = legend_top + kLegendRow * static_cast<double>(legend_rows);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\">\n",
      kWidth, height);
  svg += kStyles;
  svg += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  svg += text_at(kWidth / 2, 32, "title middle", figure.title);
  svg +=
      panel(figure, kPanelLefts[0], "Bus bandwidth", "GB/s", [](const Point& point) { return point.busbw; });
  svg += panel(figure, kPanelLefts[1], "Time of a call", "microseconds",
               [](const Point& point) { return point.time_us; });
  svg += legend(figure, legend_top);
  return svg + "</svg>\n";
}

}  // namespace rondo::perf
