// SPDX-License-Identifier: Apache-2.0
#include "picture_parts.h"

#include <fmt/format.h>

namespace rondo::planner {
namespace {

constexpr int kMaxGroups = 16;
constexpr double kLegendColumn = 110, kLegendRow = 18;

}  // namespace

ChunkGroups::ChunkGroups(const rondo_plan_info_t& info) {
  const int blocks = info.chunks / info.parts;
  are_blocks_ = blocks > 1 && blocks <= kMaxGroups;
  each_ = are_blocks_ ? info.parts : 1;
  while ((info.chunks + each_ - 1) / each_ > kMaxGroups || info.chunks % each_ != 0) ++each_;
  count_ = info.chunks / each_;
}

std::string ChunkGroups::colour(int group) const {
  // Neighbours differ in lightness too.
  return fmt::format("hsl({} 65% {}%)", 360 * group / count_, group % 2 == 0 ? 42 : 55);
}

std::string ChunkGroups::name(int group) const {
  if (are_blocks_) return fmt::format("block {}", group);
  if (count_ == 1) return "the vector";
  if (each_ == 1) return fmt::format("part {}", group);
  return fmt::format("parts {} to {}", group * each_, (group + 1) * each_ - 1);
}

std::string svg_start(double width, double height, const std::string& title, const std::string& style) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.title{{font-size:16px;font-weight:bold}} text{{fill:#222}} .small{{font-size:10px;fill:#555}} "
      "{2}"
      "</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"28\" y=\"26\" class=\"title\">{3}</text>\n",
      width, height, style, escaped(title));
}

std::string svg_legend(const ChunkGroups& groups, double x, double y, double width, double& bottom) {
  std::string text;
  const int columns = std::max(1, static_cast<int>(width / kLegendColumn));
  for (int group = 0; group != groups.count(); ++group) {
    const double left = x + kLegendColumn * (group % columns), top = y + kLegendRow * (group / columns);
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" class=\"c{}\"/><text x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>\n",
        left, top, group, left + 18, top + 10, groups.name(group));
  }
  bottom = y + kLegendRow * ((groups.count() + columns - 1) / columns);
  return text;
}

}  // namespace rondo::planner
