// Member: what every rank of a session knows of every other. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/bytes.h"
#include "comm/socket.h"
#include "transports/transport.h"

namespace rondo {

/// A rank's GPU.
struct MemberDevice {
  using Uuid = std::array<std::byte, 16>;  // the same in all processes
  int32_t ordinal = -1;                    // in its process; -1: it uses none
  int32_t processors = 0;
  Uuid uuid{};
  std::vector<Uuid> linked;  // GPUs that its process sees and NVLink joins to it, itself among them

  bool is_linked_to(const MemberDevice& other) const;
  void write(ByteWriter& writer) const;
  static MemberDevice read(ByteReader& reader);
};

struct Member {
  int32_t rank = 0;
  int32_t nranks = 1;  // as that rank was told
  Endpoint endpoint;   // its host and process
  int32_t pid = 0;
  uint16_t tcp_port = 0;
  int32_t allowed_cpus = 1;  // of the thread that joined
  int32_t first_cpu = 0;     // of those
  int32_t cache = -1;        // the last-level cache that all of those share; -1: they do not
  MemberDevice device;
  std::vector<IpAddress> addresses;
  std::string host_name;

  /// Whether both live in one process.
  bool is_beside(const Member& other) const {
    return endpoint.process == other.endpoint.process && endpoint.host == other.endpoint.host;
  }
  /// "rank 3 (process 1234 on host alpha)".
  std::string text() const;
  void write(ByteWriter& writer) const;
  static Member read(ByteReader& reader);
};

/// The abstract Unix name at which a process listens.
std::string unix_name(uint64_t process);

}  // namespace rondo
