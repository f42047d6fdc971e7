// SPDX-License-Identifier: Apache-2.0
#include "announcement.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <map>

#include "base/clock.h"
#include "base/log.h"
#include "rondo/rondo.h"

namespace rondo::api {
namespace {

std::string version_text() {
  return fmt::format("{}.{}.{}", RONDO_VERSION / 10000, RONDO_VERSION / 100 % 100, RONDO_VERSION % 100);
}

std::string host_text() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// "shm to 3 ranks, tcp to 4".
std::string transports_text(const Communicator& made) {
  std::map<std::string, int> peers;
  for (int rank = 0; rank < made.size(); ++rank)
    if (rank != made.rank()) ++peers[made.transport_to(rank).value()];
  std::vector<std::string> parts;
  for (const auto& [name, count] : peers)
    parts.push_back(fmt::format("{} to {} {}", name, count, count == 1 ? "rank" : "ranks"));
  return parts.empty() ? "none" : fmt::to_string(fmt::join(parts, ", "));
}

}  // namespace

void announce(const Communicator& made, int64_t began_ns) {
  if (!log_shows_info()) return;
  log().info(
      "communicator {}: rank {} of {} on host {}, Rondo {}; transports: {}; interfaces: {}; GPU: {}; "
      "made in {:.1f} ms",
      made.options().name, made.rank(), made.size(), host_text(), version_text(), transports_text(made),
      made.membership().session()->interfaces_text(),
      made.membership().device() < 0 ? "none" : std::to_string(made.membership().device()),
      static_cast<double>(now_ns() - began_ns) / 1e6);
}

}  // namespace rondo::api
