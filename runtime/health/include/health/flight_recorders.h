// SPDX-License-Identifier: Apache-2.0
// The registry of the flight recorders of all communicators in this process, in all sessions. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "health/comm_state.h"
#include "health/flight_recorder.h"

namespace rondo {

/// A rank of a communicator and its process.
struct HereMember {
  int rank = 0;
  int pid = 0;
};

/// Ranks of a session: `first`, `first` + `step`, ...
struct RankRun {
  int first = 0;
  int step = 1;
  int count = 0;
};

/// One rank's part in a communicator.
struct RecordedComm {
  uint64_t session = 0;
  int session_rank = 0;
  int process_rank = 0;  // the lowest session rank of this process
  uint64_t communicator = 0;
  int rank = 0;
  int size = 1;
  int hosts = 1;                                        // on which its ranks are
  int device = -1;                                      // the rank's GPU, in its process; -1: it uses none
  std::string transports;                               // "shm to 3 ranks"
  std::shared_ptr<const std::vector<HereMember>> here;  // the ranks on this host; null: unknown
  /// The session's ranks, by those of the communicator; null: unknown, or in an order of many runs.
  std::shared_ptr<const std::vector<RankRun>> session_ranks;
  std::shared_ptr<const FlightRecorder> recorder;
  std::shared_ptr<const CommState> health;
};

/// What a reader of some communicators wants first: those in calls, and then those that were used last.
std::pair<bool, int64_t> interest_of(const RecordedComm& comm);

void remember_recorder(RecordedComm comm);
void forget_recorder(uint64_t session, uint64_t communicator, int session_rank);

/// Those that are remembered, and after them the latest that were forgotten.
struct RecordedComms {
  std::vector<RecordedComm> live;
  std::vector<RecordedComm> ended;
  int first_rank = -1;  // the lowest rank of this process in its first session; -1: it has had none
};
RecordedComms recorded_comms();

/// What all communicators of this process have done so far, also those that have been forgotten.
struct ProcessTotals {
  CallCounts counts;
  std::map<std::pair<CollectiveKind, Code>, uint64_t> failures;  // of communicators, by their latest call
  uint64_t live = 0;                                             // communicators
  int64_t longest_ns = 0;  // how long the call that has been running longest has been
  int first_rank = -1;     // see RecordedComms

  void add(const RecordedComm& comm);
};
ProcessTotals process_totals();

/// True if a rank of this process is inside a call on another communicator, or is waiting to finish one.
bool is_inside_another(uint64_t session, uint64_t communicator);

}  // namespace rondo
