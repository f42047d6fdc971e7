// SPDX-License-Identifier: Apache-2.0
#include "schedule/spread.h"

#include <algorithm>
#include <cassert>

#include "narrow.h"

namespace rondo {
namespace {

/// Where the chunks of a channel are among those of all channels.
class Share {
 public:
  Share(const Schedule& channel, int index, int channels)
      : parts_(channel.chunks.parts),
        index_(index),
        channels_(channels),
        longest_(std::max(channel.chunks.input, channel.chunks.output)) {}

  int place(Buffer buffer, int chunk) const {
    if (buffer != Buffer::Scratch) return of_block(chunk);
    // A scratch chunk has the length of a chunk of the longer buffer.
    return chunk / longest_ * longest_ * channels_ + of_block(chunk % longest_);
  }
  int scratch_chunks(int chunks) const { return chunks == 0 ? 0 : place(Buffer::Scratch, chunks - 1) + 1; }

 private:
  int of_block(int chunk) const { return (chunk / parts_ * channels_ + index_) * parts_ + chunk % parts_; }

  int parts_;
  int index_;
  int channels_;
  int longest_;
};

/// The channel's lanes, as they are among those of all channels.
void add_lanes(const Schedule& channel, const Share& share, int index, int channels, Schedule& made) {
  const size_t first_lane = made.lanes.size();
  const auto set_of = [&](uint16_t set) {
    if (set == Step::kNone) return set;
    std::vector<int> members = channel.peer_sets[set];
    for (int& member : members)
      if (is_scratch_operand(member))
        member = scratch_operand(share.place(Buffer::Scratch, chunk_of_operand(member)));
    return made.intern(members);
  };
  for (Lane lane : channel.lanes) {
    lane.port = narrow(lane.port * channels + index);
    for (Step& step : lane.steps) {
      step.src_chunk = narrow(share.place(step.src(), step.src_chunk));
      step.dst_chunk = narrow(share.place(step.dst(), step.dst_chunk));
      step.recv_set = set_of(step.recv_set);
      step.send_set = set_of(step.send_set);
      if (step.wait_lane != Step::kNone)
        step.wait_lane = narrow(static_cast<int>(first_lane) + step.wait_lane);
    }
    made.lanes.push_back(std::move(lane));
  }
}

}  // namespace

Schedule spread(const Shape& shape, const std::vector<Schedule>& channels) {
  const int all = static_cast<int>(channels.size());
  Schedule made(shape, channels.front().rank, channels.front().chunks.parts * all);
  for (int c = 0; c < all; ++c) {
    const Schedule& channel = channels[static_cast<size_t>(c)];
    assert(may_spread(shape, channel.slot_chunks));
    const Share share(channel, c, all);
    add_lanes(channel, share, c, all, made);
    made.slot_chunks = std::max(made.slot_chunks, channel.slot_chunks);
    made.scratch_chunks = std::max(made.scratch_chunks, share.scratch_chunks(channel.scratch_chunks));
  }
  return made;
}

}  // namespace rondo
