// SPDX-License-Identifier: Apache-2.0
// The table of transports, best first.
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "local/local.h"
#include "shm/shm.h"
#include "sim/sim.h"
#include "tcp/tcp.h"
#include "transports/transport.h"

namespace rondo {
namespace {

constexpr size_t kMemorySlotBytes = ConnectionParams().slot_bytes;
/// Over a network messages pay off that are long compared with the packets of a loopback (64 KiB).
constexpr size_t kNetworkSlotBytes = size_t{256} * 1024;

constexpr std::array kTransports = {
    Transport{"local", "threads of one process, reading one another's memory", Medium::ProcessMemory,
              kMemorySlotBytes, shared_memory_cost, local_reaches, local_connect, true},
    Transport{"shm", "processes of one host, through shared memory that has no name", Medium::HostMemory,
              kMemorySlotBytes, shared_memory_cost, shm_reaches, shm_connect, true},
    Transport{"tcp", "processes of any hosts, over several sockets", Medium::Network, kNetworkSlotBytes,
              tcp_cost, tcp_reaches, tcp_connect, true},
    Transport{"sim", "many ranks in one process, with seeded delays and losses; for tests", Medium::Simulated,
              kMemorySlotBytes, shared_memory_cost, sim_reaches, sim_connect, false},
};

}  // namespace

std::span<const Transport> transports() { return kTransports; }

Result<const Transport*> transport_by_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Transport& transport : kTransports) {
    if (name == transport.name) return &transport;
    names.emplace_back(transport.name);
  }
  return error(Code::InvalidArgument, "there is no transport '{}'; there are: {}{}", name,
               fmt::join(names, ", "), did_you_mean(name, names));
}

}  // namespace rondo
