// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "failures.h"

namespace rondo::torch_binding {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Bytes = std::vector<uint8_t>;

constexpr milliseconds kBetweenLooks{50};
/// rondo_init_rank()'s error for an id whose maker has ended or cannot be reached; any other
/// RONDO_SYSTEM_ERROR is local to this process.
constexpr const char* kMakerIsGone = "the process that made the unique id cannot be reached";

/// The store's value once all ranks have joined with an id.
const Bytes& used_up() {
  static const Bytes text{'u', 's', 'e', 'd'};
  return text;
}

Bytes bytes_of(const rondo_unique_id_t& id) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(id.internal);
  return {bytes, bytes + sizeof id.internal};
}

class LeftMeetings {
 public:
  void add(const rondo_unique_id_t& id) {
    const std::lock_guard lock(mutex_);
    ids_.insert(bytes_of(id));
  }
  bool has(const Bytes& id) {
    const std::lock_guard lock(mutex_);
    return ids_.contains(id);
  }

 private:
  std::mutex mutex_;
  std::set<Bytes> ids_;
};

LeftMeetings& left_meetings() {
  static auto& meetings = *new LeftMeetings;  // never destroyed: groups may outlive static objects
  return meetings;
}

/// Does not delete the key: the next group's rank 0, which may be another process, may have set it already. A
/// store without compareSet() keeps the id, which later ranks find to be unusable.
void use_up(c10d::Store& store, const std::string& key, const rondo_unique_id_t& id) {
  try {
    store.compareSet(key, bytes_of(id), used_up());
  } catch (const std::exception&) {
  }
}

rondo_comm_t call_meeting(c10d::Store& store, const RankPlace& seat, const rondo_config_t& config,
                          rondo_unique_id_t& id) {
  check(rondo_get_unique_id(&id), nullptr, seat.where);
  store.set(seat.key, bytes_of(id));
  rondo_comm_t comm = nullptr;
  check(rondo_init_rank(&comm, seat.size, &id, seat.rank, &config), nullptr, seat.where);
  use_up(store, seat.key, id);
  return comm;
}

/// The id in the store, unless it is known to belong to an earlier group.
std::optional<rondo_unique_id_t> look_up(c10d::Store& store, const RankPlace& seat, milliseconds left) {
  store.wait({seat.key}, left);
  const Bytes bytes = store.get(seat.key);
  if (bytes == used_up() || left_meetings().has(bytes)) return std::nullopt;
  rondo_unique_id_t id;
  if (bytes.size() != sizeof id.internal)
    C10_THROW_ERROR(DistBackendError,
                    seat.where + ": the store gave " + std::to_string(bytes.size()) +
                        " bytes for the group's id instead of 128; is it another group's store?");
  std::memcpy(id.internal, bytes.data(), bytes.size());
  return id;
}

/// An id whose maker cannot be reached may belong to an attempt that has ended; rank 0 is then about to
/// replace it.
rondo_comm_t attend_meeting(c10d::Store& store, const RankPlace& seat, rondo_config_t config,
                            rondo_unique_id_t& id) {
  const auto deadline = Clock::now() + seat.timeout;
  std::string why = "the store has no id but that of a group that was left";
  bool has_warned = false;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left <= milliseconds::zero()) std::rethrow_exception(failure(RONDO_TIMEOUT, why, seat.where));
    if (const auto found = look_up(store, seat, left)) {
      id = *found;
      config.init_timeout_ms = left.count();
      rondo_comm_t comm = nullptr;
      const rondo_status_t status = rondo_init_rank(&comm, seat.size, &id, seat.rank, &config);
      why = rondo_last_error(nullptr);
      if (status != RONDO_SYSTEM_ERROR || why.find(kMakerIsGone) == std::string::npos) {
        check(status, nullptr, seat.where);
        return comm;
      }
      if (!std::exchange(has_warned, true))
        TORCH_WARN(seat.where, ": ", why, "; it may have ended: waiting for rank 0 to store a new one");
    }
    std::this_thread::sleep_for(std::min(kBetweenLooks, left));
  }
}

}  // namespace

rondo_comm_t meet(c10d::Store& store, const RankPlace& seat, rondo_config_t config, rondo_unique_id_t& id) {
  return seat.rank == 0 ? call_meeting(store, seat, config, id) : attend_meeting(store, seat, config, id);
}

void leave_meeting(const rondo_unique_id_t& id) { left_meetings().add(id); }

}  // namespace rondo::torch_binding
