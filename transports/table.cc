// The table of transports, best first: a line for each.
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

constexpr std::array kTransports = {
    Transport{"local", "threads of one process, reading one another's memory", local_reaches, local_connect,
              true},
    Transport{"shm", "processes of one host, through shared memory that has no name", shm_reaches,
              shm_connect, true},
    Transport{"tcp", "processes of any hosts, over several sockets", tcp_reaches, tcp_connect, true},
    Transport{"sim", "many ranks in one process, with seeded delays and losses; for tests", sim_reaches,
              sim_connect, false},
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
