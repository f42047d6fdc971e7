// SPDX-License-Identifier: Apache-2.0
#include "picture_layout.h"

#include <algorithm>
#include <utility>

namespace rondo::topo {
namespace {

constexpr double kLeafWidth = 84, kLeafGap = 14, kGroupGap = 36, kLevel = 78;
constexpr double kSocketStep = 15, kSwitchBelow = 96;

bool is_leaf(const ViewedNode& node) { return node.kind == "GPU" || node.kind == "NIC"; }

}  // namespace

PictureLayout::PictureLayout(const MachineView& machine, PictureRoom room)
    : machine_(&machine), room_(std::move(room)), places_(machine.nodes.size()) {
  place_trees();
  place_halves();
  place_nvswitches();
}

bool PictureLayout::has_box(int index) const {
  return node(index).kind != "network" && !(node(index).kind == "PCI switch" && node(index).above < 0);
}

const std::string& PictureLayout::label(const ViewedNode& node) {
  return node.kind == "PCI switch" ? node.bus_id : node.name;
}

int PictureLayout::depth_below(int index) const {
  int depth = 0;
  for (const int below : node(index).below) depth = std::max(depth, 1 + depth_below(below));
  return depth;
}

double PictureLayout::box_width(int index) const {
  const auto known = room_.widths.find(index);
  return std::max({kLeafWidth, 7.0 * static_cast<double>(label(node(index)).size()) + 12,
                   known != room_.widths.end() ? known->second : 0});
}

/// What a node and all below it take of the picture's width.
double PictureLayout::span(int index) const {
  double below = 0;
  for (const int child : node(index).below) below += span(child);
  return std::max(below, box_width(index) + kLeafGap);
}

/// Leaves side by side, in one row of all trees; the rest in the middle above what is below it.
void PictureLayout::place_trees() {
  int depth = 0;
  const std::vector<int> roots = machine_->of_kind("NUMA");
  for (const int root : roots) depth = std::max(depth, depth_below(root));
  const double for_sockets = roots.size() > 2 ? kSocketStep * static_cast<double>(roots.size()) : 0;
  top_ = kTitleHeight + std::max(for_sockets, room_.above) + kPictureMargin;
  leaves_y_ = top_ + kLevel * depth;
  right_ = kPictureMargin;
  for (const int root : roots) {
    place_tree(root, 0, right_);
    right_ += span(root) + kGroupGap;
  }
  right_ -= kGroupGap + kLeafGap;
  bottom_ = leaves_y_ + kBoxHeight;
}

void PictureLayout::place_tree(int index, int level, double left) {
  const double own_span = span(index);
  places_[static_cast<size_t>(index)] = {
      left + own_span / 2, is_leaf(node(index)) ? leaves_y_ : top_ + kLevel * level, box_width(index)};
  double below = 0;
  for (const int child : node(index).below) below += span(child);
  left += (own_span - below) / 2;
  for (const int child : node(index).below) {
    place_tree(child, level + 1, left);
    left += span(child);
  }
}

/// A switch in which nothing turns around has two nodes, one of which is in the tree: they share a box.
void PictureLayout::place_halves() {
  for (const int half : machine_->of_kind("PCI switch"))
    for (const int other : machine_->of_kind("PCI switch"))
      if (node(half).above < 0 && other != half && node(other).bus_id == node(half).bus_id &&
          node(other).host == node(half).host)
        places_[static_cast<size_t>(half)] = place(other);
}

void PictureLayout::place_nvswitches() {
  int row = 0;
  for (const int index : machine_->of_kind("NVSwitch")) {
    double first = 1e9, last = 0;
    for (const ViewedLink& link : node(index).links) {
      first = std::min(first, place(link.to).x);
      last = std::max(last, place(link.to).x);
    }
    const double y = leaves_y_ + kSwitchBelow + room_.below + kLevel * row++;
    places_[static_cast<size_t>(index)] = {(first + last) / 2, y, last - first + kLeafWidth};
    bottom_ = std::max(bottom_, y + kBoxHeight);
  }
}

}  // namespace rondo::topo
