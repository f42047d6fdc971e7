// SPDX-License-Identifier: Apache-2.0
// PictureLayout: where each node of a machine is in a picture: NUMA nodes on top, the PCI tree below them,
// GPUs and NICs in one row, NVSwitches below that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine_view.h"

namespace rondo::topo {

inline constexpr double kBoxHeight = 30, kPictureMargin = 28, kTitleHeight = 40;

struct BoxPlace {
  double x = 0, y = 0, width = 0;  // of the middle of the upper edge, and the box
};

/// What lines need, in pixels.
struct PictureRoom {
  double above = 0, below = 0;   // the NUMA nodes; the GPUs
  std::map<int, double> widths;  // of boxes, by node
};

class PictureLayout {
 public:
  explicit PictureLayout(const MachineView& machine, PictureRoom room = {});

  const BoxPlace& place(int node) const { return places_[static_cast<size_t>(node)]; }
  /// Whether a node has a box of its own.
  bool has_box(int node) const;
  /// What a box says: of a switch its address alone.
  static const std::string& label(const ViewedNode& node);

  double right() const { return right_; }
  double bottom() const { return bottom_; }

 private:
  const ViewedNode& node(int index) const { return machine_->nodes[static_cast<size_t>(index)]; }
  int depth_below(int index) const;
  double box_width(int index) const;
  double span(int index) const;
  void place_trees();
  void place_tree(int index, int level, double left);
  void place_halves();
  void place_nvswitches();

  const MachineView* machine_;
  PictureRoom room_;
  std::vector<BoxPlace> places_;
  double top_ = 0, leaves_y_ = 0, right_ = 0, bottom_ = 0;
};

}  // namespace rondo::topo
