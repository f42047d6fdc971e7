// SPDX-License-Identifier: Apache-2.0
#include "health/flight_recorders.h"

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

struct Boards {
  std::mutex mutex;
  std::map<Key, Registered> entries;
};

Boards& boards() {
  static auto& all = *new Boards;  // never freed: used during process exit
  return all;
}

}  // namespace

void remember_recorder(uint64_t session, uint64_t communicator, int rank,
                       std::shared_ptr<const FlightRecorder> recorder,
                       std::shared_ptr<const CommState> health) {
  const std::lock_guard lock(boards().mutex);
  boards().entries[{session, communicator, rank}] = {std::move(recorder), std::move(health)};
}

void forget_recorder(uint64_t session, uint64_t communicator, int rank) {
  const std::lock_guard lock(boards().mutex);
  boards().entries.erase({session, communicator, rank});
}

bool is_inside_another(uint64_t session, uint64_t communicator) {
  const std::lock_guard lock(boards().mutex);
  return std::any_of(boards().entries.begin(), boards().entries.end(), [&](const auto& one) {
    const auto& [key, entry] = one;
    const bool is_another = std::get<0>(key) != session || std::get<1>(key) != communicator;
    // The recorder of a failed communicator still shows the call that failed.
    return is_another && entry.recorder->inside() && !entry.health->failed();
  });
}

}  // namespace rondo
