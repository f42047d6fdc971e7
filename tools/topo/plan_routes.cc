// SPDX-License-Identifier: Apache-2.0
#include "plan_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace rondo::topo {
namespace {

constexpr double kFirstTrack = 18, kTrackStep = 9, kCorner = 5, kMinEndGap = 5, kMaxEndGap = 11, kBoxEdge = 8;
constexpr double kThinnest = 1.5, kThickest = 3.5;

}  // namespace

PlanRoutes::PlanRoutes(const MachineView& machine, const PlanView& plan, const std::vector<IdleLine>& idle)
    : layout_(machine) {
  for (const IdleLine& line : idle)
    add_route(machine, {line.from, line.to, plan.flows.size(), line.style, ""});
  add_flows(machine, plan);
  choose_tracks();
  layout_ = PictureLayout(machine, room(machine));
  choose_ends();
  end_at_wide_boxes(machine);
}

double PlanRoutes::bottom() const {
  double lowest = layout_.bottom();
  for (const PlanRoute& route : routes_)
    if (route.in_row && route.from_side == Side::Below)
      lowest =
          std::max(lowest, layout_.place(route.from).y + kBoxHeight + kFirstTrack + kTrackStep * route.track);
  return lowest;
}

void PlanRoutes::add_flows(const MachineView& machine, const PlanView& plan) {
  const auto name = [&](int node) { return machine.nodes[static_cast<size_t>(node)].name; };
  double most = 0;
  for (const PlanFlow& flow : plan.flows)
    for (const PlanLine& line : flow.lines) most = std::max(most, line.bandwidth);
  for (size_t flow = 0; flow != plan.flows.size(); ++flow) {
    const char* const colour = flow_colour(flow);
    arrows_ += fmt::format(
        "<marker id=\"arrow{0}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" "
        "markerHeight=\"8\" "
        "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.5 L8 4 L0 7.5 Z\" style=\"fill:{1}\"/>"
        "</marker>\n",
        flow + 1, colour);
    for (const PlanLine& line : plan.flows[flow].lines)
      add_route(machine,
                {line.from, line.to, flow,
                 fmt::format("stroke=\"{}\" stroke-width=\"{:.1f}\" marker-end=\"url(#arrow{})\"", colour,
                             kThinnest + (kThickest - kThinnest) * line.bandwidth / most, flow + 1),
                 fmt::format("{}: {} to {}, {} GB/s", plan.flows[flow].name, name(line.from), name(line.to),
                             gigabytes(line.bandwidth))});
  }
}

void PlanRoutes::add_route(const MachineView& machine, PlanRoute route) {
  const BoxPlace &from = layout_.place(route.from), &to = layout_.place(route.to);
  route.in_row = from.y == to.y;
  if (route.in_row) {
    const bool is_numa = machine.nodes[static_cast<size_t>(route.from)].kind == "NUMA";
    route.from_side = route.to_side = is_numa ? Side::Above : Side::Below;
  } else {
    route.from_side = from.y < to.y ? Side::Below : Side::Above;
    route.to_side = from.y < to.y ? Side::Above : Side::Below;
  }
  routes_.push_back(std::move(route));
}

/// Short ones next to the row; each on the first track that no other has there.
void PlanRoutes::choose_tracks() {
  struct RowStretch {
    double left, right;
  };
  std::vector<PlanRoute*> in_rows;
  for (PlanRoute& route : routes_)
    if (route.in_row) in_rows.push_back(&route);
  const auto stretch = [&](const PlanRoute& route) {
    const double a = layout_.place(route.from).x, b = layout_.place(route.to).x;
    return RowStretch{std::min(a, b), std::max(a, b)};
  };
  std::ranges::stable_sort(in_rows, {}, [&](const PlanRoute* route) {
    const RowStretch it = stretch(*route);
    return std::tuple(it.right - it.left, it.left, route->order);
  });
  std::map<std::pair<double, int>, std::vector<RowStretch>> taken;  // by row and track
  for (PlanRoute* route : in_rows) {
    const double row = layout_.place(route->from).y;
    const RowStretch own = stretch(*route);
    const auto overlaps = [&](const RowStretch& other) {
      return own.left <= other.right && other.left <= own.right;
    };
    while (std::ranges::any_of(taken[{row, route->track}], overlaps)) ++route->track;
    taken[{row, route->track}].push_back(own);
  }
}

int PlanRoutes::tracks(Side side) const {
  int count = 0;
  for (const PlanRoute& route : routes_)
    if (route.in_row && route.from_side == side) count = std::max(count, route.track + 1);
  return count;
}

PictureRoom PlanRoutes::room(const MachineView& machine) const {
  PictureRoom room = {kTrackStep * tracks(Side::Above), kTrackStep * tracks(Side::Below), {}};
  std::map<std::tuple<double, double, Side>, int> ends;
  for (const PlanRoute& route : routes_) {
    ++ends[{layout_.place(route.from).x, layout_.place(route.from).y, route.from_side}];
    ++ends[{layout_.place(route.to).x, layout_.place(route.to).y, route.to_side}];
  }
  for (int node = 0; node != static_cast<int>(machine.nodes.size()); ++node) {
    const BoxPlace& at = layout_.place(node);
    const int most = std::max(ends[{at.x, at.y, Side::Above}], ends[{at.x, at.y, Side::Below}]);
    room.widths[node] = kMinEndGap * (most - 1) + 2 * kBoxEdge;
  }
  return room;
}

/// From left to right: routes to the left, the nearest track first; straight ones; routes to the right, the
/// furthest track first. So no two routes of a box cross right at it.
void PlanRoutes::choose_ends() {
  std::map<std::tuple<double, double, Side>, std::vector<End>> boxes;
  const auto add = [&](int at, int other, Side side, const PlanRoute& route, double& x) {
    const BoxPlace &here = layout_.place(at), &there = layout_.place(other);
    const int turn = !route.in_row ? 0 : there.x < here.x ? -1 : 1;
    boxes[{here.x, here.y, side}].push_back({&x, turn, turn == 0 ? there.x : -turn * route.track});
  };
  for (PlanRoute& route : routes_) {
    add(route.from, route.to, route.from_side, route, route.from_x);
    add(route.to, route.from, route.to_side, route, route.to_x);
  }
  std::map<std::pair<double, double>, double> widths;
  for (const PlanRoute& route : routes_)
    for (const int node : {route.from, route.to})
      widths[{layout_.place(node).x, layout_.place(node).y}] = layout_.place(node).width;
  for (auto& [box, ends] : boxes) {
    const auto [x, y, side] = box;
    std::ranges::stable_sort(ends, {}, [](const End& end) { return std::pair(end.turn, end.key); });
    const auto gaps = static_cast<double>(ends.size() - 1);
    const double gap = gaps > 0 ? std::min(kMaxEndGap, (widths[{x, y}] - 2 * kBoxEdge) / gaps) : 0;
    for (size_t i = 0; i != ends.size(); ++i) *ends[i].x = x + gap * (static_cast<double>(i) - gaps / 2);
  }
}

/// Straight down onto NVSwitches, which are as wide as all GPUs.
void PlanRoutes::end_at_wide_boxes(const MachineView& machine) {
  const auto is_wide = [&](int node) { return machine.nodes[static_cast<size_t>(node)].kind == "NVSwitch"; };
  for (PlanRoute& route : routes_) {
    if (is_wide(route.from)) route.from_x = route.to_x;
    if (is_wide(route.to)) route.to_x = route.from_x;
  }
}

std::string PlanRoutes::path(const PlanRoute& route) const {
  const double from_y = layout_.place(route.from).y + (route.from_side == Side::Below ? kBoxHeight : 0);
  const double to_y = layout_.place(route.to).y + (route.to_side == Side::Below ? kBoxHeight : 0);
  if (!route.in_row)
    return fmt::format("M{:.1f} {:.1f} L{:.1f} {:.1f}", route.from_x, from_y, route.to_x, to_y);
  const double away = route.from_side == Side::Below ? 1 : -1;
  const double height = from_y + away * (kFirstTrack + kTrackStep * route.track);
  const double along = route.to_x > route.from_x ? kCorner : -kCorner;
  return fmt::format(
      "M{0:.1f} {1:.1f} V{2:.1f} Q{0:.1f} {3:.1f} {4:.1f} {3:.1f} H{5:.1f} Q{6:.1f} {3:.1f} {6:.1f} "
      "{2:.1f} V{7:.1f}",
      route.from_x, from_y, height - away * kCorner, height, route.from_x + along, route.to_x - along,
      route.to_x, to_y);
}

std::string PlanRoutes::svg() const {
  std::string text = "<defs>\n" + arrows_ + "</defs>\n";
  for (const PlanRoute& route : routes_) {
    text += fmt::format("<path d=\"{}\" {}", path(route), route.style);
    text += route.title.empty() ? "/>\n" : fmt::format("><title>{}</title></path>\n", escaped(route.title));
  }
  return text;
}

}  // namespace rondo::topo
