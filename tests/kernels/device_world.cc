#include "device_world.h"

namespace rondo {

DeviceWorld::Fifo::Fifo(const Options& of)
    : options(of), headers(of.slots), memory(of.slots * of.slot_bytes, std::byte{0xA5}) {}

FifoLayout DeviceWorld::Fifo::layout() {
  return {.headers = headers.data(),
          .released = &released,
          .memory = memory.data(),
          .stride_bytes = options.slot_bytes,
          .slot_bytes = options.slot_bytes,
          .slots = options.slots};
}

DeviceWorld::DeviceWorld(const std::vector<Schedule>& ranks, const Options& options)
    : options_(options), schedules_(ranks), ranks_(ranks.size()) {
  for (size_t r = 0; r < ranks.size(); ++r) bind(ranks_[r], ranks[r]);
}

FifoLayout DeviceWorld::fifo(int from, int to, int port) {
  auto& made = fifos_[{from, to, port}];
  if (made == nullptr) made = std::make_unique<Fifo>(options_);
  return made->layout();
}

int32_t DeviceWorld::connect(Rank& rank, std::map<Key, int32_t>& known, int self, int peer, int port) {
  const auto [found, is_new] =
      known.insert({{self, peer, port}, static_cast<int32_t>(rank.connections.size())});
  if (is_new) rank.connections.push_back({.out = fifo(self, peer, port), .in = fifo(peer, self, port)});
  return found->second;
}

void DeviceWorld::bind(Rank& rank, const Schedule& schedule) {
  std::map<Key, int32_t> known;
  for (const Lane& lane : schedule.lanes) {
    auto& sets = rank.peer_sets.emplace_back();
    for (const auto& peers : schedule.peer_sets) {
      sets.push_back({static_cast<uint32_t>(rank.members.size()), static_cast<uint32_t>(peers.size())});
      for (const int peer : peers)
        rank.members.push_back(peer == schedule.rank ? device::kSelf
                                                     : connect(rank, known, schedule.rank, peer, lane.port));
    }
  }
  rank.progress.resize(schedule.lanes.size());
  for (size_t i = 0; i < schedule.lanes.size(); ++i)
    rank.lanes.push_back({.steps = schedule.lanes[i].steps.data(),
                          .nsteps = static_cast<uint32_t>(schedule.lanes[i].steps.size()),
                          .peer_sets = rank.peer_sets[i].data(),
                          .progress = &rank.progress[i]});
  rank.program = {.lanes = rank.lanes.data(),
                  .nlanes = static_cast<uint32_t>(rank.lanes.size()),
                  .members = rank.members.data(),
                  .connections = rank.connections.data()};
}

void DeviceWorld::run(std::vector<device::Call> calls, device::Blocks& blocks) {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    device::Call& call = calls[r];
    rank.scratch.resize(static_cast<size_t>(schedules_[r].scratch_chunks) * call.layout.scratch_chunk_bytes);
    call.scratch = rank.scratch.data();
    call.tiles_before = tiles_;
    for (uint32_t lane = 0; lane < rank.program.nlanes; ++lane)
      blocks.add(static_cast<int>(r), options_.threads, rank.program, call, lane);
  }
  blocks.run();
  tiles_ += calls.front().layout.tiles;
}

}  // namespace rondo
