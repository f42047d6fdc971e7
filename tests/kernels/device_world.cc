// SPDX-License-Identifier: Apache-2.0
#include "device_world.h"

#include <algorithm>

namespace rondo {

DeviceWorld::Fifo::Fifo(const Options& of, int slot_chunks)
    : options(of),
      stride_bytes(slot_footprint(of.protocol, of.slot_bytes, static_cast<uint64_t>(slot_chunks))),
      headers(of.protocol == device::Protocol::Simple ? of.slots : 0),
      memory(of.slots * stride_bytes / sizeof(Line)) {}

FifoLayout DeviceWorld::Fifo::layout() {
  return {.headers = headers.data(),
          .released = &released,
          .memory = memory.front().bytes,
          .stride_bytes = stride_bytes,
          .slot_bytes = options.slot_bytes,
          .slots = options.slots};
}

DeviceWorld::DeviceWorld(const std::vector<Schedule>& ranks, const Options& options)
    : options_(options), slot_chunks_(ranks.front().slot_chunks), ranks_(ranks.size()) {
  for (size_t r = 0; r < ranks.size(); ++r) bind(ranks_[r], ranks[r]);
}

FifoLayout DeviceWorld::fifo(uint32_t channel, const Wire& wire) {
  auto& made = fifos_[{channel, wire}];
  if (made == nullptr) made = std::make_unique<Fifo>(options_, slot_chunks_);
  return made->layout();
}

void DeviceWorld::connect(Rank& rank, const std::vector<Wire>& wires) {
  for (uint32_t channel = 0; channel < options_.channels; ++channel)
    for (const Wire& wire : wires)
      rank.connections.push_back(
          {.out = fifo(channel, wire), .in = fifo(channel, {wire.to, wire.from, wire.port})});
  for (device::LaneConnection& connection : rank.connections) rank.connection_pointers.push_back(&connection);
}

void DeviceWorld::bind(Rank& rank, const Schedule& schedule) {
  std::vector<Wire> wires;  // from this rank
  const auto index_of = [&](const Wire& wire) {
    const auto at = static_cast<size_t>(std::find(wires.begin(), wires.end(), wire) - wires.begin());
    if (at == wires.size()) wires.push_back(wire);
    return static_cast<int32_t>(at);
  };
  for (const Lane& lane : schedule.lanes) {
    auto& sets = rank.peer_sets.emplace_back();
    for (const auto& peers : schedule.peer_sets) {
      sets.push_back({static_cast<uint32_t>(rank.members.size()), static_cast<uint32_t>(peers.size())});
      for (const int peer : peers)
        rank.members.push_back(schedule.is_peer(peer)     ? index_of({schedule.rank, peer, lane.port})
                               : is_scratch_operand(peer) ? device::scratch_member(chunk_of_operand(peer))
                                                          : device::kSelf);
    }
  }
  connect(rank, wires);
  rank.progress.resize(options_.channels * schedule.lanes.size());
  for (size_t i = 0; i < schedule.lanes.size(); ++i)
    rank.lanes.push_back({.steps = schedule.lanes[i].steps.data(),
                          .nsteps = static_cast<uint32_t>(schedule.lanes[i].steps.size()),
                          .peer_sets = rank.peer_sets[i].data()});
  rank.program = {.lanes = rank.lanes.data(),
                  .nlanes = static_cast<uint32_t>(rank.lanes.size()),
                  .channels = options_.channels,
                  .protocol = options_.protocol,
                  .scratch_chunks = static_cast<uint32_t>(schedule.scratch_chunks),
                  .members = rank.members.data(),
                  .connections = rank.connection_pointers.data(),
                  .nconnections = static_cast<uint32_t>(wires.size()),
                  .progress = rank.progress.data()};
}

uint32_t DeviceWorld::blocks_of(int rank) const {
  return options_.channels * ranks_[static_cast<size_t>(rank)].program.nlanes;
}

void DeviceWorld::skip_to(uint64_t messages) {
  for (Rank& rank : ranks_)
    for (device::LaneConnection& connection : rank.connections)
      connection.sent = connection.received = messages;
  for (const auto& [key, fifo] : fifos_) fifo->released.value = messages;
}

bool DeviceWorld::has_words_of(uint64_t k) const {
  return std::any_of(fifos_.begin(), fifos_.end(), [k](const auto& entry) {
    const auto& lines = entry.second->memory;
    const auto* words = reinterpret_cast<const uint64_t*>(lines.data());
    return std::any_of(words, words + lines.size() * sizeof(Fifo::Line) / sizeof *words,
                       [k](uint64_t word) { return device::flag_of(word) == device::word_flag(k); });
  });
}

void DeviceWorld::run(std::vector<device::CallParams> calls, device::Blocks& blocks) {
  const auto ranks = static_cast<uint32_t>(ranks_.size());
  for (uint32_t first = 0; first < ranks; first += options_.ranks_per_device) {
    device::CallList list;
    uint32_t nblocks = 0;
    for (uint32_t r = first; r < std::min(ranks, first + options_.ranks_per_device); ++r) {
      Rank& rank = ranks_[r];
      rank.scratch.resize(size_t{options_.channels} * rank.program.scratch_chunks *
                          calls[r].layout.scratch_chunk_bytes);
      calls[r].scratch = rank.scratch.data();
      list.calls[list.ncalls++] = {.program = &rank.program, .first_block = nblocks, .call = calls[r]};
      nblocks += blocks_of(static_cast<int>(r));
    }
    blocks.add(static_cast<int>(first / options_.ranks_per_device), options_.threads, list, nblocks);
  }
  blocks.run();
}

}  // namespace rondo
