// SPDX-License-Identifier: Apache-2.0
#include "device_program.h"

#include <cstring>
#include <map>
#include <vector>

namespace rondo {
namespace {

/// A host copy of consecutive arrays to be uploaded to `base` in device memory.
class ProgramImage {
 public:
  explicit ProgramImage(std::byte* base) : base_(base) {}

  /// Returns the array's device address.
  template <class T>
  T* append(const std::vector<T>& items) {
    static_assert(std::is_trivially_copyable_v<T>);
    const size_t at = bytes_.size();
    bytes_.resize(at + (items.size() * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment);
    if (!items.empty()) std::memcpy(bytes_.data() + at, items.data(), items.size() * sizeof(T));
    return reinterpret_cast<T*>(base_ + at);
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlignment = 16;
  std::byte* base_;
  std::vector<std::byte> bytes_;
};

/// The connections that a Schedule's lanes need, and the lanes' peer sets as indices into them.
class PeerIndex {
 public:
  struct Peer {
    int rank;
    uint16_t port;
  };
  explicit PeerIndex(const Schedule& schedule) {
    for (const Lane& lane : schedule.lanes) {
      auto& sets = peer_sets.emplace_back(schedule.peer_sets.size());
      for (const Step& step : lane.steps)
        for (const uint16_t set : {step.recv_set, step.send_set})
          if (set != Step::kNone && sets[set].count == 0)
            sets[set] = wire(schedule, lane.port, schedule.peer_sets[set]);
    }
  }
  std::vector<std::vector<device::PeerSet>> peer_sets;  // by lane; unused sets are empty
  std::vector<int32_t> members;
  std::vector<Peer> peers;  // by connection

 private:
  device::PeerSet wire(const Schedule& schedule, uint16_t port, const std::vector<int>& ranks) {
    const auto first = static_cast<uint32_t>(members.size());
    for (const int member : ranks)
      members.push_back(schedule.is_peer(member)     ? connection(member, port)
                        : is_scratch_operand(member) ? device::scratch_member(chunk_of_operand(member))
                                                     : device::kSelf);
    return {first, static_cast<uint32_t>(ranks.size())};
  }
  int32_t connection(int rank, uint16_t port) {
    const auto [found, is_new] = known_.insert({{rank, port}, static_cast<int32_t>(peers.size())});
    if (is_new) peers.push_back({rank, port});
    return found->second;
  }
  std::map<std::pair<int, uint16_t>, int32_t> known_;
};

/// A Schedule's connections, by channel and then by PeerIndex.
using Connections = std::vector<device::LaneConnection*>;

/// Appends everything that the program points to, and then the program itself.
const device::BlockProgram* assemble(ProgramImage& image, const Schedule& schedule, const PeerIndex& index,
                                     const Connections& connections,
                                     const DeviceProgram::ProgramSettings& settings) {
  std::vector<device::ProgramLane> lanes;
  for (size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    const std::vector<Step>& steps = schedule.lanes[lane].steps;
    lanes.push_back({.steps = image.append(steps),
                     .nsteps = static_cast<uint32_t>(steps.size()),
                     .peer_sets = image.append(index.peer_sets[lane])});
  }
  const device::BlockProgram program{
      .lanes = image.append(lanes),
      .nlanes = static_cast<uint32_t>(lanes.size()),
      .channels = settings.channels,
      .protocol = settings.protocol,
      .scratch_chunks = static_cast<uint32_t>(schedule.scratch_chunks),
      .members = image.append(index.members),
      .connections = image.append(connections),
      .nconnections = static_cast<uint32_t>(index.peers.size()),
      .progress = image.append(std::vector<uint64_t>(settings.channels * lanes.size()))};
  return image.append(std::vector{program});
}

}  // namespace

Result<DeviceProgram> DeviceProgram::make(const Schedule& schedule, const ProgramSettings& settings,
                                          const Connect& connect) {
  const PeerIndex index(schedule);
  Connections connections;
  for (uint32_t channel = 0; channel < settings.channels; ++channel)
    for (const PeerIndex::Peer& peer : index.peers) {
      RONDO_TRY_ASSIGN(device::LaneConnection * connection, connect(peer.rank, peer.port, channel));
      connections.push_back(connection);
    }
  ProgramImage draft(nullptr);  // only to compute the size
  assemble(draft, schedule, index, connections, settings);
  const size_t bytes = draft.bytes().size();
  const size_t scratch_bytes =
      settings.channels * static_cast<size_t>(schedule.scratch_chunks) * settings.slot_bytes;

  DeviceProgram made;
  RONDO_TRY_ASSIGN(made.memory_,
                   gpu::Memory::allocate(gpu::MemoryKind::Device, settings.device, bytes + scratch_bytes));
  ProgramImage image(made.memory_.data());
  made.program_ = assemble(image, schedule, index, connections, settings);
  made.scratch_ = made.memory_.data() + bytes;
  made.blocks_ = settings.channels * static_cast<uint32_t>(schedule.lanes.size());
  made.chunks_ = schedule.chunks;
  for (const PeerIndex::Peer& peer : index.peers) made.peers_.push_back(peer.rank);
  RONDO_TRY(gpu::upload(settings.device, made.memory_.data(), image.bytes().data(), bytes));
  return made;
}

}  // namespace rondo
