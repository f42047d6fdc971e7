// SPDX-License-Identifier: Apache-2.0
// PeerInfo: what every rank of a session knows about every other. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_codec.h"
#include "base/cost_table.h"
#include "net/socket.h"
#include "transports/transport.h"

namespace rondo {

/// A rank's GPU.
struct PeerGpu {
  using Uuid = std::array<std::byte, 16>;  // the same in all processes
  int32_t ordinal = -1;                    // in its process; -1: the rank uses no GPU
  int32_t processors = 0;
  Uuid uuid{};
  std::string bus_id;        // of its PCI function, "0000:18:00.0"; empty: unknown
  std::vector<Uuid> linked;  // GPUs that its process sees and NVLink connects to it, itself included
  uint64_t host = 0;         // hash_of_this_host() if its process sees others too

  bool is_linked_to(const PeerGpu& other) const;
  void write(ByteWriter& writer) const;
  static PeerGpu read(ByteReader& reader);
};

struct PeerInfo {
  int32_t rank = 0;
  int32_t nranks = 1;  // as that rank's caller gave it
  Endpoint endpoint;   // its host, its process and the fabrics that it can use
  int32_t pid = 0;
  uint16_t tcp_port = 0;
  int32_t allowed_cpus = 1;  // of the thread that joined
  int32_t first_cpu = 0;     // of those
  int32_t cache = -1;        // the last-level cache that all of those share; -1: there is none
  int32_t memory_node = -1;  // the one that is local to those; -1: there are several, or it is unknown
  std::shared_ptr<const HostCosts> costs;  // as measured on its host; null: they were not
  PeerGpu device;
  std::vector<IpAddress> addresses;
  std::string host_name;

  /// True if both are in one process.
  bool is_beside(const PeerInfo& other) const { return endpoint == other.endpoint; }
  /// "rank 3 (process 1234 on host alpha)".
  std::string text() const;
  void write(ByteWriter& writer) const;
  static PeerInfo read(ByteReader& reader);
};

/// The abstract Unix name at which a process listens.
std::string unix_name(uint64_t process);

}  // namespace rondo
