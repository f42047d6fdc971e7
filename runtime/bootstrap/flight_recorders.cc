// SPDX-License-Identifier: Apache-2.0
#include "flight_recorders.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

namespace rondo {
namespace {

using Key = std::tuple<uint64_t, uint64_t, int>;  // session, communicator, rank

struct Registered {
  std::shared_ptr<const FlightRecorder> recorder;
  std::shared_ptr<const CommState> health;
};

struct RecorderTable {
  std::mutex mutex;
  std::map<Key, Registered> entries;
};

RecorderTable& table() {
  static auto& all = *new RecorderTable;  // never freed: used during process exit
  return all;
}

}  // namespace

void remember_recorder(uint64_t session, uint64_t communicator, int rank,
                       std::shared_ptr<const FlightRecorder> recorder,
                       std::shared_ptr<const CommState> health) {
  const std::lock_guard lock(table().mutex);
  table().entries[{session, communicator, rank}] = {std::move(recorder), std::move(health)};
}

void forget_recorder(uint64_t session, uint64_t communicator, int rank) {
  const std::lock_guard lock(table().mutex);
  table().entries.erase({session, communicator, rank});
}

bool is_inside_another(uint64_t session, uint64_t communicator) {
  const std::lock_guard lock(table().mutex);
  return std::any_of(table().entries.begin(), table().entries.end(), [&](const auto& one) {
    const auto& [key, entry] = one;
    const bool is_another = std::get<0>(key) != session || std::get<1>(key) != communicator;
    // The recorder of a failed communicator still shows the call that failed.
    return is_another && entry.recorder->inside() && !entry.health->failed();
  });
}

}  // namespace rondo
