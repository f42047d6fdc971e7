// SPDX-License-Identifier: Apache-2.0
#include "health/flight_text.h"

#include <fmt/ranges.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file_name.h"
#include "base/json_text.h"
#include "call_text.h"

namespace rondo {
namespace {

int64_t wall_clock_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

/// Turns times of the monotonic clock into those of the wall clock, which other hosts have too.
class WallClock {
 public:
  int64_t of(int64_t monotonic_ns) const { return monotonic_ns + ahead_ns_; }
  std::string text(int64_t monotonic_ns) const {
    return monotonic_ns == 0 ? "null" : std::to_string(of(monotonic_ns));
  }

 private:
  int64_t ahead_ns_ = wall_clock_ns() - now_ns();
};

uint64_t sum_of(const std::array<uint64_t, kCollectives>& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

const char* bool_text(bool value) { return value ? "true" : "false"; }

/// The latest call's outcome is the communicator's.
const char* state_of(const CallRecord& call, bool failed) {
  if (call.refused) return "refused";
  if (call.ended_ns == 0) return failed ? "failed" : "running";
  return call.signature.on_gpu != 0 ? "on stream" : "done";
}

std::string call_object(const CallRecord& call, bool failed, const WallClock& clock) {
  return fmt::format(R"({{"number":{},{},"began_ns":{},"ended_ns":{},"state":"{}"}})",
                     call.signature.sequence, call_arguments(call.signature, call.algorithm),
                     clock.text(call.began_ns), clock.text(call.ended_ns), state_of(call, failed));
}

std::string calls_array(const FlightRecorder& recorder, bool failed, uint32_t max_calls,
                        const WallClock& clock) {
  std::vector<std::string> lines;
  const uint32_t latest = recorder.latest();
  const uint32_t before = latest - std::min(latest, max_calls);
  for (uint32_t sequence = before + 1; sequence != latest + 1; ++sequence)
    if (const auto call = recorder.record(sequence)) lines.push_back(call_object(*call, failed, clock));
  return lines.empty() ? "[]" : fmt::format("[\n{}]", fmt::join(lines, ",\n"));
}

std::string failure_object(const Status& cause) {
  if (cause.ok()) return "null";
  return fmt::format(R"({{"status":"{}","text":{}}})", code_name(cause.code()), json_string(cause.text()));
}

std::string python_object(const PythonPlace& frame) {
  return fmt::format(R"({{"file":{},"line":{},"function":{}}})", json_string(frame.file), frame.line,
                     json_string(frame.function));
}

std::string native_object(const NativePlace& frame) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? "null" : json_string(text); };
  return fmt::format(R"({{"function":{},"module":{},"offset":{},"build_id":{}}})",
                     text_or_null(frame.function), text_or_null(frame.module), frame.offset,
                     text_or_null(frame.build_id));
}

template <typename Frame>
std::string frames_array(const std::vector<Frame>& frames, std::string (*object)(const Frame&)) {
  std::vector<std::string> objects;
  for (const Frame& frame : frames) objects.push_back(object(frame));
  return fmt::format("[{}]", fmt::join(objects, ","));
}

std::string thread_object(const ThreadPlace& thread) {
  return fmt::format(R"({{"thread":{},"name":{},"runs":{},"place":{},"python":{},"native":{}}})",
                     thread.thread, json_string(thread.name), bool_text(thread.runs),
                     json_string(thread.text()), frames_array(thread.python, python_object),
                     frames_array(thread.native, native_object));
}

std::string threads_array(const ProgramPlace& program) {
  std::vector<std::string> lines;
  for (const ThreadPlace& thread : program.threads) lines.push_back(thread_object(thread));
  return lines.empty() ? "[]" : fmt::format("[\n{}]", fmt::join(lines, ",\n"));
}

/// What the rank does; after a failure, what it was doing.
const char* activity_of(const RecordedComm& comm) {
  const FlightRecorder& recorder = *comm.recorder;
  if (recorder.finished()) return recorder.inside() ? "finalizing" : "finalized";
  if (recorder.inside()) return "in a call";
  return recorder.messages().none() ? "in no call" : "in messages";
}

/// The ranks on this host and their process ids.
std::string here_array(const RecordedComm& comm) {
  std::vector<std::string> pairs;
  if (comm.here)
    for (const HereMember& one : *comm.here) pairs.push_back(fmt::format("[{},{}]", one.rank, one.pid));
  return fmt::format("[{}]", fmt::join(pairs, ","));
}

std::string runs_array(const RecordedComm& comm) {
  if (!comm.session_ranks) return "null";
  std::vector<std::string> runs;
  for (const RankRun& run : *comm.session_ranks)
    runs.push_back(fmt::format("[{},{},{}]", run.first, run.step, run.count));
  return fmt::format("[{}]", fmt::join(runs, ","));
}

/// The CPU time that the process has used.
int64_t cpu_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

/// Those that are to be written, and whether each has ended. Where threads are ranks, those that are behind
/// the others of their communicator come first.
std::vector<std::pair<const RecordedComm*, bool>> chosen(const RecordedComms& comms, size_t max_comms) {
  std::vector<std::pair<const RecordedComm*, bool>> all;
  for (const RecordedComm& comm : comms.live) all.emplace_back(&comm, false);
  for (const RecordedComm& comm : comms.ended) all.emplace_back(&comm, true);
  if (all.size() <= max_comms) return all;
  const auto key_of = [](const RecordedComm& comm) { return std::pair(comm.session, comm.communicator); };
  std::map<std::pair<uint64_t, uint64_t>, std::pair<bool, int64_t>> interest;
  for (const auto& [comm, ended] : all) {
    auto& most = interest[key_of(*comm)];
    most = std::max(most, interest_of(*comm));
  }
  const auto order_of = [&](size_t at) {
    const auto& [comm, ended] = all[at];
    return std::tuple(!ended, interest[key_of(*comm)], key_of(*comm), ~comm->recorder->latest(), at);
  };
  std::vector<decltype(order_of(0))> order;  // calls go on meanwhile
  for (size_t at = 0; at < all.size(); ++at) order.push_back(order_of(at));
  std::sort(order.begin(), order.end(), std::greater<>());
  std::vector<std::pair<const RecordedComm*, bool>> some;
  for (size_t at = 0; at < max_comms; ++at) some.push_back(all[std::get<4>(order[at])]);
  return some;
}

/// What it waited for last stays recorded once the wait is over.
std::string waits_for(const FlightRecorder& recorder) {
  const bool waits = recorder.waiting_for() >= 0 && (recorder.inside() || !recorder.messages().none());
  return waits ? std::to_string(recorder.waiting_for()) : "null";
}

std::string comm_object(const RecordedComm& comm, bool ended, uint32_t max_calls, const WallClock& clock) {
  const FlightRecorder& recorder = *comm.recorder;
  const Status cause = comm.health->cause();
  const PendingMessages messages = recorder.messages();
  const CallCounts counts = recorder.counts();
  return fmt::format(
      R"({{"name":{},"id":"{:016x}-{:x}","rank":{},"size":{},"session_rank":{},"transports":{},)"
      R"("thread":{},"latest":{},"activity":"{}","waits_for":{},"messages":{},"ended":{},"failure":{},)"
      R"("total_calls":{},"total_bytes":{},"here":{},"session_ranks":{},)"
      "\n\"calls\":{}}}",
      json_string(recorder.name()), comm.session, comm.communicator, comm.rank, comm.size, comm.session_rank,
      json_string(comm.transports), recorder.thread(), recorder.latest(), activity_of(comm),
      waits_for(recorder), messages.none() ? "null" : json_string(describe(messages)), bool_text(ended),
      failure_object(cause), sum_of(counts.calls), sum_of(counts.bytes), here_array(comm), runs_array(comm),
      calls_array(recorder, !cause.ok(), max_calls, clock));
}

}  // namespace

std::string flight_text(const RecordedComms& comms, const char* reason, const FlightExtent& extent,
                        const ProgramPlace& program) {
  const WallClock clock;
  std::vector<std::string> objects;
  for (const auto& [comm, ended] : chosen(comms, extent.comms))
    objects.push_back(comm_object(*comm, ended, extent.calls, clock));
  return fmt::format(
      R"({{"format":"rondo-flight","version":1,"host":{},"pid":{},"rank":{},"reason":"{}","written_ns":{},)"
      R"("cpu_ns":{},"omitted":{},)"
      "\n\"threads\":{},\"threads_note\":{},"
      "\n\"communicators\":[\n{}]}}\n",
      json_string(host_name()), ::getpid(), comms.first_rank, reason, clock.of(now_ns()), cpu_ns(),
      comms.live.size() + comms.ended.size() - objects.size(), threads_array(program),
      program.obstacle.empty() ? "null" : json_string(program.obstacle), fmt::join(objects, ",\n"));
}

}  // namespace rondo
