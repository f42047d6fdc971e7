#include "comm/joint.h"

#include <algorithm>

#include "comm/joint_folds.h"
#include "gpu/device.h"

namespace rondo {

Status issue_joint(std::span<const Crew::Seat> seats) {
  std::vector<JointCall> calls;
  for (const Crew::Seat& seat : seats) calls.push_back({seat.call, seat.device});
  RONDO_TRY_ASSIGN(const auto folds, joint_folds(calls));
  return issue_in_order(seats, [&](std::span<const Crew::Seat> leaders) -> Status {
    for (const JointFolds& one : folds) {
      const auto leader = std::find_if(leaders.begin(), leaders.end(),
                                       [&](const Crew::Seat& seat) { return seat.device == one.device; });
      const gpu::Current current(one.device);
      RONDO_TRY(current.status());
      RONDO_TRY(one.folds.launch(one.device, leader->stream));
    }
    return {};
  });
}

}  // namespace rondo
