// SPDX-License-Identifier: Apache-2.0
#include "plot.h"

#include <fmt/format.h>

#include <array>

#include "page_texts.h"
#include "picture.h"

namespace rondo::perf {
namespace {

constexpr double kWidth = 1000, kLegendRow = 22, kLegendColumn = 300, kLegendLeft = 70;
constexpr std::array kPanels{PanelFrame{70, 74, 400, 330}, PanelFrame{570, 74, 400, 330}};
constexpr size_t kLegendColumns = 3;

std::string legend(const CurveSet& set, double top) {
  std::string svg;
  for (size_t i = 0; i < set.curves.size(); ++i) {
    const double x = kLegendLeft + kLegendColumn * static_cast<double>(i % kLegendColumns);
    const double y = top + kLegendRow * static_cast<double>(i / kLegendColumns);
    svg += sample_line(set.curves[i].style, x, y, 28) + text_at(x + 36, y + 4, "tick", set.curves[i].name);
  }
  return svg;
}

}  // namespace

std::string plot_svg(const std::vector<Row>& rows) {
  const CurveSet set = curves_of(rows);
  const size_t legend_rows = (set.curves.size() + kLegendColumns - 1) / kLegendColumns;
  const double legend_top = kPanels[0].top + kPanels[0].height + 68;
  const double height = legend_top + kLegendRow * static_cast<double>(legend_rows);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\">\n",
      kWidth, height);
  svg += fmt::format("<style>\n{}</style>\n", kPlotCss);
  svg += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  svg += text_at(kWidth / 2, 32, "title middle", set.title);
  svg += panel(set, kBusBandwidth, kPanels[0], PlottedForms::OutOfPlace);
  svg += panel(set, kCallTime, kPanels[1], PlottedForms::OutOfPlace);
  svg += legend(set, legend_top);
  return svg + "</svg>\n";
}

}  // namespace rondo::perf
