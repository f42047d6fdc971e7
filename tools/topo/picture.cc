// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "picture_layout.h"
#include "plan_routes.h"

namespace rondo::topo {
namespace {

constexpr double kBoxDistance = 98, kArcBase = 34, kArcStep = 15, kLegendRow = 22;
constexpr double kNarrowest = 1.5, kWidest = 7, kWidestBesidePlan = 4;
constexpr const char* kPale = " stroke-opacity=\"0.2\"";

class Picture {
 public:
  Picture(const MachineView& machine, const std::string& title, const PlanView* plan)
      : machine_(machine), plan_(plan) {
    for (const ViewedNode& node : machine.nodes)
      for (const ViewedLink& link : node.links)
        if (link.cls != "network") widest_ = std::max(widest_, link.bandwidth);
    if (plan != nullptr)
      routes_.emplace(machine, *plan, idle_lines());
    else
      own_layout_.emplace(machine);
    bottom_ = routes_ ? routes_->bottom() : layout().bottom();
    const std::string text = plan != nullptr ? title + ": " + plan->text : title;
    title_ =
        fmt::format("<text x=\"{}\" y=\"26\" class=\"title\">{}</text>\n", kPictureMargin, escaped(text));
    if (routes_)
      lines_ = routes_->svg();
    else
      draw_links();
    for (size_t i = 0; i != machine.nodes.size(); ++i) draw_box(static_cast<int>(i));
  }

  std::string text() {
    const std::string legend = draw_legend();
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<style>.title{{font-size:16px;font-weight:bold}} text{{fill:#222}} path,line{{fill:none}} "
        ".small{{font-size:10px;fill:#555}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}{3}{4}{5}</svg>\n",
        layout().right() + kPictureMargin, bottom_ + kPictureMargin, title_, lines_, boxes_, legend);
  }

 private:
  const ViewedNode& node(int index) const { return machine_.nodes[static_cast<size_t>(index)]; }
  const PictureLayout& layout() const { return routes_ ? routes_->layout() : *own_layout_; }
  const BoxPlace& place(int index) const { return layout().place(index); }

  /// Calls `draw` with both ends and the style of each link, once for both directions, and notes the style
  /// for the legend. Links of the network are no lines.
  template <typename Draw>
  void for_links(Draw draw) {
    for (int from = 0; from != static_cast<int>(machine_.nodes.size()); ++from)
      for (const ViewedLink& link : node(from).links) {
        const ViewedNode& other = node(link.to);
        const bool back = std::ranges::any_of(
            other.links, [&](const ViewedLink& it) { return it.to == from && it.cls == link.cls; });
        if ((back && link.to < from) || other.kind == "network" || node(from).kind == "network") continue;
        const std::string style = stroke(link.cls, link.bandwidth);
        if (draw(from, link.to, style)) legend_[{link.cls, link.count, gigabytes(link.bandwidth)}] = style;
      }
  }

  /// Boxes, since a switch in which nothing turns around has two nodes in one.
  std::vector<IdleLine> idle_lines() {
    const PictureLayout places(machine_);
    using Point = std::pair<double, double>;
    const auto ends = [&](int from, int to) -> std::pair<Point, Point> {
      const BoxPlace &a = places.place(from), &b = places.place(to);
      return std::minmax({Point(a.x, a.y), Point(b.x, b.y)});
    };
    std::set<std::pair<Point, Point>> drawn;
    for (const PlanFlow& flow : plan_->flows)
      for (const PlanLine& line : flow.lines) drawn.insert(ends(line.from, line.to));
    std::vector<IdleLine> idle;
    for_links([&](int from, int to, const std::string& style) {
      if (!drawn.insert(ends(from, to)).second) return false;
      idle.push_back({from, to, style});
      return true;
    });
    return idle;
  }

  std::string stroke(const std::string& cls, double bandwidth) const {
    const double width = plan_ != nullptr ? kWidestBesidePlan : kWidest;
    return fmt::format("stroke=\"{}\" stroke-width=\"{:.1f}\"{}", colour_of(cls),
                       kNarrowest + (width - kNarrowest) * std::min(1.0, bandwidth / widest_),
                       plan_ != nullptr ? kPale : "");
  }

  void draw_links() {
    for_links([&](int from, int to, const std::string& style) {
      const BoxPlace &a = place(from), &b = place(to);
      if (a.y == b.y)
        draw_arc(a, b, node(from).kind == "NUMA", style);
      else
        draw_line(a, b, style);
      return true;
    });
  }

  /// Between two of one row: above NUMA nodes, below GPUs; further apart, further away.
  void draw_arc(const BoxPlace& a, const BoxPlace& b, bool above, const std::string& style) {
    const double distance = std::abs(a.x - b.x) / kBoxDistance;
    const double reach = kArcBase + kArcStep * distance, y = above ? a.y : a.y + kBoxHeight;
    const double peak = above ? std::max(kTitleHeight, y - reach) : y + reach;
    lines_ += fmt::format("<path d=\"M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" {}/>\n", a.x,
                          y, a.x, peak, b.x, peak, b.x, y, style);
    if (!above) bottom_ = std::max(bottom_, y + reach * 0.75);
  }

  void draw_line(const BoxPlace& a, const BoxPlace& b, const std::string& style) {
    const BoxPlace &upper = a.y < b.y ? a : b, &lower = a.y < b.y ? b : a;
    // Straight down onto a wide box, else to its middle.
    const bool above_lower = std::abs(upper.x - lower.x) < lower.width / 2;
    lines_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", upper.x,
                          upper.y + kBoxHeight, above_lower ? upper.x : lower.x, lower.y, style);
  }

  void draw_box(int index) {
    const ViewedNode& here = node(index);
    if (!layout().has_box(index)) return;
    static const std::map<std::string, const char*> kFill = {{"GPU", "#c8e6c9"},
                                                             {"NIC", "#e1bee7"},
                                                             {"NUMA", "#ffe0b2"},
                                                             {"PCI switch", "#eceff1"},
                                                             {"NVSwitch", "#a5d6a7"}};
    const BoxPlace& at = place(index);
    boxes_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"4\" fill=\"{}\" "
        "stroke=\"#455a64\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
        at.x - at.width / 2, at.y, at.width, kBoxHeight, kFill.at(here.kind), at.x, at.y + 19,
        escaped(PictureLayout::label(here)));
    for (const ViewedLink& link : here.links)
      if (link.cls == "network")
        boxes_ += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" class=\"small\">{} GB/s</text>\n", at.x,
            at.y + kBoxHeight + 13, gigabytes(link.bandwidth));
  }

  std::string legend_row(const std::string& style, const std::string& text) const {
    return fmt::format(
        "<line x1=\"{0}\" y1=\"{2:.0f}\" x2=\"{1}\" y2=\"{2:.0f}\" {3}/><text x=\"{4}\" "
        "y=\"{5:.0f}\">{6}</text>\n",
        kPictureMargin, kPictureMargin + 40, bottom_, style, kPictureMargin + 50, bottom_ + 4, escaped(text));
  }

  std::string draw_legend() {
    std::string text;
    bottom_ += kLegendRow;
    for (size_t flow = 0; plan_ != nullptr && flow != plan_->flows.size(); ++flow) {
      bottom_ += kLegendRow;
      text += legend_row(fmt::format("stroke=\"{0}\" stroke-width=\"3\" marker-end=\"url(#arrow{1})\"",
                                     flow_colour(flow), flow + 1),
                         plan_->flows[flow].text);
    }
    for (const auto& [what, style] : legend_) {
      const auto& [cls, count, bandwidth] = what;
      bottom_ += kLegendRow;
      const bool counted = cls != "socket";
      text += legend_row(
          style, fmt::format("{}{}: {} GB/s each way{}", cls, counted ? fmt::format(" x{}", count) : "",
                             bandwidth, plan_ != nullptr ? ", " + plan_->idle : ""));
    }
    return text;
  }

  const MachineView& machine_;
  const PlanView* const plan_;
  std::optional<PlanRoutes> routes_;
  std::optional<PictureLayout> own_layout_;
  double widest_ = 1, bottom_ = 0;
  std::string title_, lines_, boxes_;
  std::map<std::tuple<std::string, int, std::string>, std::string> legend_;
};

}  // namespace

std::string svg_picture(const MachineView& machine, const std::string& title, const PlanView* plan) {
  return Picture(machine, title, plan).text();
}

}  // namespace rondo::topo
