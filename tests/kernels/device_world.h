// SPDX-License-Identifier: Apache-2.0
// DeviceWorld: all ranks of a communicator, run by device code on a GPU or one of its twins, each rank on its
// own device if possible. Connections are FIFOs in plain memory. Used by one thread.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "blocks.h"
#include "program.h"
#include "schedule/schedule.h"

namespace rondo {

class DeviceWorld {
 public:
  struct Options {
    device::Protocol protocol = device::Protocol::Simple;
    uint32_t threads = 2;  // per block
    size_t slot_bytes = 256;
    size_t slots = 2;
    uint32_t channels = 1;
    uint32_t ranks_per_device = 1;  // at most CallList::kMaxCalls
  };
  /// `ranks`: the Schedules of an algorithm; must outlive this object.
  DeviceWorld(const std::vector<Schedule>& ranks, const Options& options);

  /// Runs one call, with calls[r] for rank r, on blocks of either twin, and waits for its end. Fills in
  /// `scratch`.
  void run(std::vector<device::CallParams> calls, device::Blocks& blocks);
  /// Number of blocks that run one call of the rank.
  uint32_t blocks_of(int rank) const;
  /// Continues as if every connection had carried `messages` messages.
  void skip_to(uint64_t messages);
  /// Whether any slot holds LL words flagged for message k.
  bool has_words_of(uint64_t k) const;

 private:
  struct Fifo {
    Fifo(const Options& options, int slot_chunks);
    FifoLayout layout();
    struct alignas(128) Line {
      std::byte bytes[128] = {};
    };
    Options options;
    uint64_t stride_bytes;
    std::vector<SlotHeader> headers;
    ReleasedCounter released;
    std::vector<Line> memory;
  };
  struct Rank {
    std::vector<device::LaneConnection> connections;
    std::vector<device::LaneConnection*> connection_pointers;
    std::vector<int32_t> members;
    std::vector<std::vector<device::PeerSet>> peer_sets;  // by lane
    std::vector<device::ProgramLane> lanes;
    std::vector<uint64_t> progress;
    std::vector<std::byte> scratch;
    device::BlockProgram program;
  };
  struct Wire {
    int from, to, port;
    auto operator<=>(const Wire&) const = default;
  };

  FifoLayout fifo(uint32_t channel, const Wire& wire);
  void bind(Rank& rank, const Schedule& schedule);
  void connect(Rank& rank, const std::vector<Wire>& wires);

  Options options_;
  int slot_chunks_;
  std::map<std::pair<uint32_t, Wire>, std::unique_ptr<Fifo>> fifos_;
  std::vector<Rank> ranks_;
};

}  // namespace rondo
