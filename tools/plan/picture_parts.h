// SPDX-License-Identifier: Apache-2.0
// What pictures of plans share: their frame, and the colours of chunks. Chunks that are shown alike form a
// group, of neighbours.
#pragma once

#include <string>
#include <vector>

#include "plan_source.h"

namespace rondo::planner {

inline constexpr double kPictureMargin = 28, kPictureTop = 48;

class ChunkGroups {
 public:
  explicit ChunkGroups(const rondo_plan_info_t& info);

  int count() const { return count_; }
  int chunks_of_group() const { return each_; }
  int of(int chunk) const { return chunk / each_; }
  /// "hsl(90 60% 45%)"
  std::string colour(int group) const;
  /// "block 3", "part 0", "parts 0 to 2"
  std::string name(int group) const;

 private:
  int each_ = 1, count_ = 1;
  bool are_blocks_ = false;
};

/// The title, the definition of the page, and what every picture has.
std::string svg_start(double width, double height, const std::string& title, const std::string& style);

/// A legend of the groups' colours from (x, y) on; `bottom` becomes the end of it.
std::string svg_legend(const ChunkGroups& groups, double x, double y, double width, double& bottom);

}  // namespace rondo::planner
