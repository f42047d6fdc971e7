// SPDX-License-Identifier: Apache-2.0
#include "ras/options.h"

#include <atomic>

namespace rondo {
namespace {

constinit std::atomic<RasWanted> who_says{nullptr};

}  // namespace

void set_ras_wanted(RasWanted wanted) { who_says.store(wanted); }

std::optional<RasOptions> wanted_ras() {
  const RasWanted wanted = who_says.load();
  return wanted == nullptr ? std::nullopt : wanted();
}

}  // namespace rondo
