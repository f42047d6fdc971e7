#include "exec/device_program.h"

#include <cstring>
#include <map>
#include <vector>

#include "gpu/device.h"
#include "kernels/device_call.h"

namespace rondo {
namespace {

/// Arrays one after the other, as they will lie in the device's memory.
class Image {
 public:
  /// Where the array begins.
  template <class T>
  size_t append(const std::vector<T>& items) {
    static_assert(std::is_trivially_copyable_v<T>);
    const size_t at = bytes_.size();
    bytes_.resize(at + (items.size() * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment);
    replace(at, items);
    return at;
  }
  template <class T>
  void replace(size_t at, const std::vector<T>& items) {
    if (!items.empty()) std::memcpy(bytes_.data() + at, items.data(), items.size() * sizeof(T));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlignment = 16;
  std::vector<std::byte> bytes_;
};

/// What the lanes of a Schedule connect to, and their peer sets in those terms.
class Wiring {
 public:
  struct Peer {
    int rank;
    uint16_t port;
  };
  explicit Wiring(const Schedule& schedule) {
    for (const Lane& lane : schedule.lanes) {
      auto& sets = peer_sets.emplace_back(schedule.peer_sets.size());
      for (const Step& step : lane.steps)
        for (const uint16_t set : {step.recv_set, step.send_set})
          if (set != Step::kNone && sets[set].count == 0)
            sets[set] = wire(schedule, lane.port, schedule.peer_sets[set]);
    }
  }
  std::vector<std::vector<device::PeerSet>> peer_sets;  // by lane; those that it does not use are empty
  std::vector<int32_t> members;
  std::vector<Peer> peers;  // by connection

 private:
  device::PeerSet wire(const Schedule& schedule, uint16_t port, const std::vector<uint16_t>& ranks) {
    const auto first = static_cast<uint32_t>(members.size());
    for (const uint16_t rank : ranks)
      members.push_back(rank == schedule.rank ? device::kSelf : connection(rank, port));
    return {first, static_cast<uint32_t>(ranks.size())};
  }
  int32_t connection(int rank, uint16_t port) {
    const auto [found, is_new] = known_.insert({{rank, port}, static_cast<int32_t>(peers.size())});
    if (is_new) peers.push_back({rank, port});
    return found->second;
  }
  std::map<std::pair<int, uint16_t>, int32_t> known_;
};

Status check_sets(const Schedule& schedule) {
  for (const auto& set : schedule.peer_sets)
    if (set.size() > device::kMostPeers)
      return error(Code::Unsupported, "a step of this algorithm has {} peers; on GPUs it may have {}",
                   set.size(), device::kMostPeers);
  return {};
}

}  // namespace

Result<DeviceProgram> DeviceProgram::make(const Schedule& schedule, int device, uint32_t channels,
                                          size_t slot_bytes, const Connect& connect) {
  RONDO_TRY(check_sets(schedule));
  const Wiring wiring(schedule);
  std::vector<device::LaneConnection*> connections;
  for (uint32_t channel = 0; channel < channels; ++channel)
    for (const Wiring::Peer& peer : wiring.peers) {
      RONDO_TRY_ASSIGN(device::LaneConnection * connection, connect(peer.rank, peer.port, channel));
      connections.push_back(connection);
    }
  const size_t nlanes = schedule.lanes.size();
  std::vector<device::ProgramLane> lanes(nlanes);
  std::vector<device::Program> program(1);
  Image image;
  const size_t program_at = image.append(program);
  const size_t lanes_at = image.append(lanes);
  const size_t members_at = image.append(wiring.members);
  const size_t connections_at = image.append(connections);
  const size_t progress_at = image.append(std::vector<uint64_t>(channels * nlanes));
  std::vector<size_t> steps_at;
  std::vector<size_t> sets_at;
  for (size_t lane = 0; lane < nlanes; ++lane) {
    steps_at.push_back(image.append(schedule.lanes[lane].steps));
    sets_at.push_back(image.append(wiring.peer_sets[lane]));
  }
  const size_t scratch_at = image.bytes().size();
  const size_t scratch_bytes = channels * static_cast<size_t>(schedule.scratch_chunks) * slot_bytes;

  DeviceProgram made;
  RONDO_TRY_ASSIGN(made.memory_,
                   gpu::Memory::allocate(gpu::MemoryKind::Device, device, scratch_at + scratch_bytes));
  std::byte* const base = made.memory_.data();
  for (size_t lane = 0; lane < nlanes; ++lane)
    lanes[lane] = {.steps = reinterpret_cast<const Step*>(base + steps_at[lane]),
                   .nsteps = static_cast<uint32_t>(schedule.lanes[lane].steps.size()),
                   .peer_sets = reinterpret_cast<const device::PeerSet*>(base + sets_at[lane])};
  program[0] = {.lanes = reinterpret_cast<const device::ProgramLane*>(base + lanes_at),
                .nlanes = static_cast<uint32_t>(nlanes),
                .channels = channels,
                .scratch_chunks = static_cast<uint32_t>(schedule.scratch_chunks),
                .members = reinterpret_cast<const int32_t*>(base + members_at),
                .connections = reinterpret_cast<device::LaneConnection* const*>(base + connections_at),
                .nconnections = static_cast<uint32_t>(wiring.peers.size()),
                .progress = reinterpret_cast<uint64_t*>(base + progress_at)};
  image.replace(lanes_at, lanes);
  image.replace(program_at, program);
  const gpu::Current current(device);
  RONDO_TRY(current.status());
  RONDO_TRY(gpu::copy(base, image.bytes().data(), image.bytes().size()));
  made.program_ = reinterpret_cast<const device::Program*>(base + program_at);
  made.scratch_ = base + scratch_at;
  made.blocks_ = channels * static_cast<uint32_t>(nlanes);
  made.chunks_ = {schedule.input_chunks, schedule.output_chunks};
  for (const Wiring::Peer& peer : wiring.peers) made.peers_.push_back(peer.rank);
  return made;
}

}  // namespace rondo
