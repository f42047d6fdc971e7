// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace rondo::topo {
namespace {

constexpr double kLeafWidth = 84, kLeafGap = 14, kGroupGap = 36, kBoxHeight = 30, kLevel = 78, kMargin = 28;
constexpr double kTitle = 40, kArcBase = 34, kArcStep = 15, kSwitchBelow = 96, kLegendRow = 22;
constexpr double kNarrowest = 1.5, kWidest = 7;

struct BoxPlace {
  double x = 0, y = 0, width = kLeafWidth;  // of the middle of the upper edge, and the box
};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '&'   ? "&amp;"
              : c == '<' ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  return result;
}

class Picture {
 public:
  Picture(const MachineView& machine, const std::string& title)
      : machine_(machine), places_(machine.nodes.size()) {
    for (const ViewedNode& node : machine.nodes)
      for (const ViewedLink& link : node.links)
        if (link.cls != "network") widest_ = std::max(widest_, link.bandwidth);
    place_trees();
    place_halves();
    place_nvswitches();
    title_ = fmt::format("<text x=\"{}\" y=\"26\" class=\"title\">{}</text>\n", kMargin, escaped(title));
    for (size_t i = 0; i != machine.nodes.size(); ++i) draw_links(static_cast<int>(i));
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
        right_ + kMargin, bottom_ + kMargin, title_, lines_, boxes_, legend);
  }

 private:
  const ViewedNode& node(int index) const { return machine_.nodes[static_cast<size_t>(index)]; }
  BoxPlace& place(int index) { return places_[static_cast<size_t>(index)]; }

  static bool is_leaf(const ViewedNode& node) { return node.kind == "GPU" || node.kind == "NIC"; }

  int depth_below(int index) const {
    int depth = 0;
    for (const int below : node(index).below) depth = std::max(depth, 1 + depth_below(below));
    return depth;
  }

  /// Leaves side by side, in one row of all trees; the rest in the middle above what is below it.
  void place_trees() {
    int depth = 0;
    const std::vector<int> roots = machine_.of_kind("NUMA");
    for (const int root : roots) depth = std::max(depth, depth_below(root));
    top_ = kTitle + (roots.size() > 2 ? kArcStep * static_cast<double>(roots.size()) : 0) + kMargin;
    leaves_y_ = top_ + kLevel * depth;
    right_ = kMargin;
    for (const int root : roots) {
      place_tree(root, 0, right_);
      right_ += span(root) + kGroupGap;
    }
    right_ -= kGroupGap + kLeafGap;
    bottom_ = leaves_y_ + kBoxHeight;
  }

  /// A box shows a switch by its address alone.
  static const std::string& label(const ViewedNode& node) {
    return node.kind == "PCI switch" ? node.bus_id : node.name;
  }

  double box_width(int index) const {
    return std::max(kLeafWidth, 7.0 * static_cast<double>(label(node(index)).size()) + 12);
  }

  /// What a node and all below it take of the picture's width.
  double span(int index) const {
    double below = 0;
    for (const int child : node(index).below) below += span(child);
    return std::max(below, box_width(index) + kLeafGap);
  }

  void place_tree(int index, int level, double left) {
    const double own_span = span(index);
    place(index) = {left + own_span / 2, is_leaf(node(index)) ? leaves_y_ : top_ + kLevel * level,
                    box_width(index)};
    double below = 0;
    for (const int child : node(index).below) below += span(child);
    left += (own_span - below) / 2;
    for (const int child : node(index).below) {
      place_tree(child, level + 1, left);
      left += span(child);
    }
  }

  /// A switch in which nothing turns around has two nodes, one of which is in the tree: they share a box.
  void place_halves() {
    for (const int half : machine_.of_kind("PCI switch"))
      for (const int other : machine_.of_kind("PCI switch"))
        if (node(half).above < 0 && other != half && node(other).bus_id == node(half).bus_id &&
            node(other).host == node(half).host)
          place(half) = place(other);
  }

  void place_nvswitches() {
    int row = 0;
    for (const int index : machine_.of_kind("NVSwitch")) {
      double first = 1e9, last = 0;
      for (const ViewedLink& link : node(index).links) {
        first = std::min(first, place(link.to).x);
        last = std::max(last, place(link.to).x);
      }
      place(index) = {(first + last) / 2, leaves_y_ + kSwitchBelow + kLevel * row++,
                      last - first + kLeafWidth};
      bottom_ = std::max(bottom_, place(index).y + kBoxHeight);
    }
  }

  std::string stroke(const std::string& cls, double bandwidth) const {
    return fmt::format("stroke=\"{}\" stroke-width=\"{:.1f}\"", colour_of(cls),
                       kNarrowest + (kWidest - kNarrowest) * std::min(1.0, bandwidth / widest_));
  }

  void draw_links(int from) {
    for (const ViewedLink& link : node(from).links) {
      const ViewedNode& other = node(link.to);
      const bool back = std::ranges::any_of(
          other.links, [&](const ViewedLink& it) { return it.to == from && it.cls == link.cls; });
      if ((back && link.to < from) || other.kind == "network" || node(from).kind == "network") continue;
      legend_[{link.cls, link.count, gigabytes(link.bandwidth)}] = stroke(link.cls, link.bandwidth);
      const BoxPlace &a = place(from), &b = place(link.to);
      if (a.y == b.y)
        draw_arc(a, b, node(from).kind == "NUMA", stroke(link.cls, link.bandwidth));
      else
        draw_line(a, b, stroke(link.cls, link.bandwidth));
    }
  }

  /// Between two of one row: above NUMA nodes, below GPUs; further apart, further away.
  void draw_arc(const BoxPlace& a, const BoxPlace& b, bool above, const std::string& style) {
    const double distance = std::abs(a.x - b.x) / (kLeafWidth + kLeafGap);
    const double reach = kArcBase + kArcStep * distance, y = above ? a.y : a.y + kBoxHeight;
    const double peak = above ? std::max(kTitle, y - reach) : y + reach;
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
    if (here.kind == "network" || (here.kind == "PCI switch" && here.above < 0)) return;
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
        escaped(label(here)));
    for (const ViewedLink& link : here.links)
      if (link.cls == "network")
        boxes_ += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" class=\"small\">{} GB/s</text>\n", at.x,
            at.y + kBoxHeight + 13, gigabytes(link.bandwidth));
  }

  std::string draw_legend() {
    std::string text;
    bottom_ += kLegendRow;
    for (const auto& [what, style] : legend_) {
      const auto& [cls, count, bandwidth] = what;
      bottom_ += kLegendRow;
      const bool counted = cls != "socket";
      text += fmt::format(
          "<line x1=\"{0}\" y1=\"{2:.0f}\" x2=\"{1}\" y2=\"{2:.0f}\" {3}/><text x=\"{4}\" y=\"{5:.0f}\">"
          "{6}{7}: {8} GB/s each way</text>\n",
          kMargin, kMargin + 40, bottom_, style, kMargin + 50, bottom_ + 4, cls,
          counted ? fmt::format(" x{}", count) : "", bandwidth);
    }
    return text;
  }

  const MachineView& machine_;
  std::vector<BoxPlace> places_;
  double widest_ = 1, top_ = 0, leaves_y_ = 0, right_ = 0, bottom_ = 0;
  std::string title_, lines_, boxes_;
  std::map<std::tuple<std::string, int, std::string>, std::string> legend_;
};

}  // namespace

std::string svg_picture(const MachineView& machine, const std::string& title) {
  return Picture(machine, title).text();
}

}  // namespace rondo::topo
