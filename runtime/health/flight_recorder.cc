// SPDX-License-Identifier: Apache-2.0
// The FlightRecorder's part in the trace.
#include "health/flight_recorder.h"

#include "base/clock.h"

namespace rondo {

void FlightRecorder::begin_traced() {
  wait_since_ns_.store(0, std::memory_order_relaxed);
  longest_wait_ns_.store(0, std::memory_order_relaxed);
  longest_wait_for_.store(-1, std::memory_order_relaxed);
  traced_began_ns_.store(trace_now_ns(), std::memory_order_relaxed);
}

/// Before waiting_for_ changes to `rank`.
void FlightRecorder::note_traced_wait(int rank) {
  const int before = waiting_for();
  if (rank == before) return;
  const int64_t now = now_ns();
  const int64_t waited_ns = now - wait_since_ns_.load(std::memory_order_relaxed);
  if (before >= 0 && waited_ns > longest_wait_ns_.load(std::memory_order_relaxed)) {
    longest_wait_ns_.store(waited_ns, std::memory_order_relaxed);
    longest_wait_for_.store(before, std::memory_order_relaxed);
  }
  // The first look comes some time after the wait began.
  const bool is_first = wait_since_ns_.load(std::memory_order_relaxed) == 0;
  wait_since_ns_.store(is_first ? traced_began_ns_.load(std::memory_order_relaxed) : now,
                       std::memory_order_relaxed);
}

void FlightRecorder::end_traced(TraceState state) {
  const int waits_for = waiting_for();
  note_traced_wait(-1);
  waiting_for_.store(waits_for, std::memory_order_relaxed);
  TraceRecord record{.algorithm = algorithm(),
                     .began_ns = traced_began_ns_.exchange(0, std::memory_order_relaxed),
                     .ended_ns = now_ns(),
                     .waited_ns = longest_wait_ns_.load(std::memory_order_relaxed),
                     .peer = longest_wait_for_.load(std::memory_order_relaxed),
                     .track = track_,
                     .state = state};
  const auto signature = call(latest());
  if (record.began_ns == 0 || !signature) return;
  record.signature = *signature;
  if (state == TraceState::Done && signature->on_gpu != 0) record.state = TraceState::OnStream;
  add_to_trace(record);
}

}  // namespace rondo
