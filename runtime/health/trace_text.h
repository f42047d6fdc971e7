// SPDX-License-Identifier: Apache-2.0
// The trace in the Trace Event Format's array of objects, an object a line, which Perfetto, chrome://tracing
// and rondo-trace read. docs/trace.md describes it.
#pragma once

#include <string>
#include <vector>

#include "health/flight_recorders.h"
#include "health/trace.h"

namespace rondo {

/// The same moment on both clocks.
struct TraceClocks {
  int64_t monotonic_ns = 0;
  int64_t wall_ns = 0;
};
int64_t wall_now_ns();
/// Reads them several times, and takes the shortest reading.
TraceClocks read_clocks(int64_t (*monotonic_ns)() = now_ns, int64_t (*wall_ns)() = wall_now_ns);

/// Turns records into lines. One thread.
class TraceText {
 public:
  TraceText(const TraceClocks& clocks, int first_rank) : clocks_(clocks), first_rank_(first_rank) {}

  /// What the file begins with.
  std::string head() const;
  /// A track's names; `track` counts from 1.
  std::string track(const RecordedComm& comm, uint32_t track);
  /// Empty if its track is not known, or more messages overlap than a viewer can show.
  std::string record(const TraceRecord& record);
  /// A remark at this time, which viewers show as a flag.
  std::string remark(const char* name, const std::string& fields, int64_t at_ns) const;

 private:
  static constexpr uint32_t kLanes = 256;
  struct Track {
    int process = 0;
    int rank = 0;
    std::string name;       // in quotes
    std::string arguments;  // about the communicator
    // The latest call without its number, as most calls are like the one before.
    Signature latest;
    const char* algorithm = nullptr;
    std::string call;    // in quotes
    std::string fields;  // its arguments
    // When the latest message ended in each lane: slices of a lane must not overlap.
    std::vector<int64_t> lanes;
  };

  std::string message(const TraceRecord& record, Track& track);
  std::string slice(const TraceRecord& record, const Track& track, uint32_t thread, const std::string& name,
                    const std::string& fields) const;

  TraceClocks clocks_;
  int first_rank_;
  std::vector<Track> tracks_;
};

}  // namespace rondo
