#include "comm/member.h"

namespace rondo {

std::string Member::text() const {
  return fmt::format("rank {} (process {} on host {})", rank, pid, host_name);
}

void Member::write(ByteWriter& writer) const {
  writer.put(rank).put(nranks).put(endpoint).put(pid).put(tcp_port).put(allowed_cpus).put(first_cpu);
  writer.put(device);
  writer.put(static_cast<uint32_t>(addresses.size()));
  for (const IpAddress& ip : addresses) writer.put(ip);
  writer.put_text(host_name);
}

Member Member::read(ByteReader& reader) {
  Member member;
  member.rank = reader.get<int32_t>();
  member.nranks = reader.get<int32_t>();
  member.endpoint = reader.get<Endpoint>();
  member.pid = reader.get<int32_t>();
  member.tcp_port = reader.get<uint16_t>();
  member.allowed_cpus = reader.get<int32_t>();
  member.first_cpu = reader.get<int32_t>();
  member.device = reader.get<MemberDevice>();
  const auto addresses = reader.get<uint32_t>();
  for (uint32_t i = 0; i < addresses && reader.ok(); ++i) member.addresses.push_back(reader.get<IpAddress>());
  member.host_name = reader.get_text();
  return member;
}

std::string unix_name(uint64_t process) { return fmt::format("rondo-{:016x}", process); }

}  // namespace rondo
