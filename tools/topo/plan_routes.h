// SPDX-License-Identifier: Apache-2.0
// PlanRoutes: how trees or rings, and the links that they do not cross, run through a picture without
// covering one another. Each line leaves and enters a box at a point of its own. Lines within a row run below
// it (above NUMA nodes), each at a height of its own wherever two of them are above one another:
//
//   gpu0   gpu1   gpu2
//   | |      ^    ^  |
//   | '------'    |  |
//   '-------------'  '---> ...
#pragma once

#include <string>
#include <vector>

#include "picture_layout.h"
#include "plan_view.h"

namespace rondo::topo {

/// A link that no tree or ring crosses, and how it is drawn.
struct IdleLine {
  int from, to;  // nodes
  std::string style;
};

class PlanRoutes {
 public:
  PlanRoutes(const MachineView& machine, const PlanView& plan, const std::vector<IdleLine>& idle);

  const PictureLayout& layout() const { return layout_; }
  double bottom() const;

  /// The lines as SVG.
  std::string svg() const;

 private:
  enum class Side { Above, Below };

  struct PlanRoute {
    int from, to;         // nodes
    size_t order;         // among routes between the same nodes
    std::string style;    // of the SVG path
    std::string title;    // what it shows; may be empty
    bool in_row = false;  // both ends in one row
    Side from_side = Side::Below, to_side = Side::Above;
    int track = 0;  // in a row: how far from it, from 0
    double from_x = 0, to_x = 0;
  };

  /// One end of a route, to be given a point on its box.
  struct End {
    double* x;
    int turn;    // routes in a row: -1: to the left, 1: to the right; else 0
    double key;  // order among those of equal turn
  };

  void add_flows(const MachineView& machine, const PlanView& plan);
  void add_route(const MachineView& machine, PlanRoute route);
  void choose_tracks();
  PictureRoom room(const MachineView& machine) const;
  void choose_ends();
  void end_at_wide_boxes(const MachineView& machine);
  int tracks(Side side) const;
  std::string path(const PlanRoute& route) const;

  PictureLayout layout_;
  std::vector<PlanRoute> routes_;
  std::string arrows_;  // definitions of the flows' arrowheads
};

}  // namespace rondo::topo
