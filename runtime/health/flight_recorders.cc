// SPDX-License-Identifier: Apache-2.0
#include "health/flight_recorders.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/per_process.h"

namespace rondo {
namespace {

/// A failure is often reported after its communicator was destroyed.
constexpr size_t kMaxEnded = 16;

using Key = std::tuple<uint64_t, uint64_t, int>;  // session, communicator, rank

struct RecorderTable {
  std::mutex mutex;
  std::map<Key, RecordedComm> entries;
  std::deque<RecordedComm> ended;
  ProcessTotals totals;  // of those that were forgotten
  int first_rank = -1;
};

RecorderTable& table() { return per_process<RecorderTable>(); }

}  // namespace

std::pair<bool, int64_t> interest_of(const RecordedComm& comm) {
  const FlightRecorder& recorder = *comm.recorder;
  const auto latest = recorder.record(recorder.latest());
  return {recorder.inside() || !recorder.messages().none(), latest ? latest->began_ns : 0};
}

void remember_recorder(RecordedComm comm) {
  const std::lock_guard lock(table().mutex);
  if (table().first_rank < 0) table().first_rank = comm.process_rank;
  const Key key{comm.session, comm.communicator, comm.session_rank};
  table().entries[key] = std::move(comm);
}

void forget_recorder(uint64_t session, uint64_t communicator, int session_rank) {
  const std::lock_guard lock(table().mutex);
  auto entry = table().entries.extract({session, communicator, session_rank});
  if (entry.empty()) return;
  table().totals.add(entry.mapped());
  std::deque<RecordedComm>& ended = table().ended;
  ended.push_back(std::move(entry.mapped()));
  if (ended.size() > kMaxEnded) ended.pop_front();
}

RecordedComms recorded_comms() {
  const std::lock_guard lock(table().mutex);
  RecordedComms all{
      .live = {}, .ended = {table().ended.begin(), table().ended.end()}, .first_rank = table().first_rank};
  for (const auto& [key, comm] : table().entries) all.live.push_back(comm);
  return all;
}

void ProcessTotals::add(const RecordedComm& comm) {
  const FlightRecorder& recorder = *comm.recorder;
  const CallCounts more = recorder.counts();
  for (size_t kind = 0; kind < counts.calls.size(); ++kind) {
    counts.calls[kind] += more.calls[kind];
    counts.bytes[kind] += more.bytes[kind];
  }
  const auto latest = recorder.record(recorder.latest());
  const bool is_running = latest && latest->ended_ns == 0;
  if (const Status cause = comm.health->cause(); !cause.ok())
    ++failures[{is_running ? latest->signature.kind : CollectiveKind::PointToPoint, cause.code()}];
  else if (is_running)
    longest_ns = std::max(longest_ns, FlightRecorder::coarse_now_ns() - latest->began_ns);
}

ProcessTotals process_totals() {
  const std::lock_guard lock(table().mutex);
  ProcessTotals totals = table().totals;
  totals.longest_ns = 0;
  totals.live = table().entries.size();
  totals.first_rank = table().first_rank;
  for (const auto& [key, comm] : table().entries) totals.add(comm);
  return totals;
}

bool is_inside_another(uint64_t session, uint64_t communicator) {
  const std::lock_guard lock(table().mutex);
  return std::any_of(table().entries.begin(), table().entries.end(), [&](const auto& one) {
    const RecordedComm& comm = one.second;
    const bool is_another = comm.session != session || comm.communicator != communicator;
    // The recorder of a failed communicator still shows the call that failed.
    return is_another && comm.recorder->inside() && !comm.health->failed();
  });
}

}  // namespace rondo
