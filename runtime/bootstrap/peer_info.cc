// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/peer_info.h"

#include <algorithm>

namespace rondo {

bool PeerGpu::is_linked_to(const PeerGpu& other) const {
  return std::find(linked.begin(), linked.end(), other.uuid) != linked.end();
}

void PeerGpu::write(ByteWriter& writer) const {
  writer.put(ordinal).put(processors).put(uuid).put_text(bus_id).put(static_cast<uint32_t>(linked.size()));
  for (const Uuid& one : linked) writer.put(one);
  writer.put(host);
}

PeerGpu PeerGpu::read(ByteReader& reader) {
  PeerGpu device;
  device.ordinal = reader.get<int32_t>();
  device.processors = reader.get<int32_t>();
  device.uuid = reader.get<Uuid>();
  device.bus_id = reader.get_text();
  const auto linked = reader.get<uint32_t>();
  for (uint32_t i = 0; i < linked && reader.ok(); ++i) device.linked.push_back(reader.get<Uuid>());
  device.host = reader.get<uint64_t>();
  return device;
}

std::string PeerInfo::text() const {
  return fmt::format("rank {} (process {} on host {})", rank, pid, host_name);
}

void PeerInfo::write(ByteWriter& writer) const {
  writer.put(rank)
      .put(nranks)
      .put(endpoint)
      .put(pid)
      .put(tcp_port)
      .put(allowed_cpus)
      .put(first_cpu)
      .put(cache)
      .put(memory_node)
      .put(static_cast<uint8_t>(costs != nullptr));
  if (costs) writer.put(*costs);
  device.write(writer);
  writer.put(static_cast<uint32_t>(addresses.size()));
  for (const IpAddress& ip : addresses) writer.put(ip);
  writer.put_text(host_name);
}

PeerInfo PeerInfo::read(ByteReader& reader) {
  PeerInfo member;
  member.rank = reader.get<int32_t>();
  member.nranks = reader.get<int32_t>();
  member.endpoint = reader.get<Endpoint>();
  member.pid = reader.get<int32_t>();
  member.tcp_port = reader.get<uint16_t>();
  member.allowed_cpus = reader.get<int32_t>();
  member.first_cpu = reader.get<int32_t>();
  member.cache = reader.get<int32_t>();
  member.memory_node = reader.get<int32_t>();
  if (reader.get<uint8_t>() != 0) {
    const auto costs = reader.get<HostCosts>();
    if (!std::ranges::all_of(costs, is_cost)) reader.fail();
    member.costs = std::make_shared<const HostCosts>(costs);
  }
  member.device = PeerGpu::read(reader);
  const auto addresses = reader.get<uint32_t>();
  for (uint32_t i = 0; i < addresses && reader.ok(); ++i) member.addresses.push_back(reader.get<IpAddress>());
  member.host_name = reader.get_text();
  return member;
}

std::string unix_name(uint64_t process) { return fmt::format("rondo-{:016x}", process); }

}  // namespace rondo
