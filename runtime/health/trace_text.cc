// SPDX-License-Identifier: Apache-2.0
#include "trace_text.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "base/file_contents.h"
#include "base/file_name.h"
#include "base/json_text.h"
#include "base/signature_text.h"
#include "call_text.h"

namespace rondo {
namespace {

/// Processes of a host have the same if they have the same monotonic clock, which a time namespace may shift.
std::string clock_id() {
  std::string id = file_contents("/proc/sys/kernel/random/boot_id");
  id.erase(std::find(id.begin(), id.end(), '\n'), id.end());
  if (id.empty()) id = host_name();
  long long seconds = 0;
  long long ns = 0;
  const std::string shifts = file_contents("/proc/self/timens_offsets");
  const bool is_known = std::sscanf(shifts.c_str(), "monotonic %lld %lld", &seconds, &ns) == 2;
  return is_known && (seconds != 0 || ns != 0) ? fmt::format("{} {} {}", id, seconds, ns) : id;
}

/// Nanoseconds as the format's microseconds.
std::string us(int64_t ns) {
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
}

const char* state_text(TraceState state) {
  switch (state) {
    case TraceState::Done: return "done";
    case TraceState::OnStream: return "on stream";
    case TraceState::Refused: return "refused";
    case TraceState::Failed: break;
  }
  return "failed";
}

std::string name_line(const char* what, int process, uint32_t thread, const std::string& name) {
  return fmt::format("{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}},\n",
                     what, process, thread, name);
}

/// The threads of a track: its calls, and lanes for messages.
uint32_t thread_of(uint32_t track, uint32_t lane) { return track * 1000 + lane; }

}  // namespace

TraceClocks read_clocks(int64_t (*monotonic_ns)(), int64_t (*wall_ns)()) {
  constexpr int kReadings = 32;
  TraceClocks best;
  int64_t best_ns = std::numeric_limits<int64_t>::max();  // between the two times before and after
  for (int reading = 0; reading < kReadings; ++reading) {
    const int64_t before_ns = monotonic_ns();
    const int64_t now = wall_ns();
    const int64_t bracket_ns = monotonic_ns() - before_ns;
    if (bracket_ns >= best_ns) continue;
    best_ns = bracket_ns;
    best = {.monotonic_ns = before_ns + bracket_ns / 2, .wall_ns = now};
  }
  return best;
}

int64_t wall_now_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

std::string TraceText::head() const {
  return fmt::format(
      "[\n{{\"name\":\"rondo-trace\",\"ph\":\"M\",\"pid\":{},\"tid\":0,\"args\":{{\"format\":\"rondo-trace\","
      "\"version\":1,\"host\":{},\"boot\":{},\"pid\":{},\"rank\":{},\"monotonic_ns\":{},\"wall_ns\":{}}}}},"
      "\n",
      first_rank_, json_string(host_name()), json_string(clock_id()), ::getpid(), first_rank_,
      clocks_.monotonic_ns, clocks_.wall_ns);
}

std::string TraceText::track(const RecordedComm& comm, uint32_t track) {
  tracks_.resize(std::max<size_t>(tracks_.size(), track));
  const std::string name = json_string(comm.recorder->name());
  const std::string id = fmt::format("{:016x}-{:x}", comm.session, comm.communicator);
  tracks_[track - 1] = {
      .process = comm.session_rank,
      .rank = comm.rank,
      .name = name,
      .arguments = fmt::format(R"("communicator":{},"id":"{}","rank":{})", name, id, comm.rank),
  };
  const std::string process =
      fmt::format("rank {} ({}, process {})", comm.session_rank, host_name(), ::getpid());
  return name_line("process_name", comm.session_rank, 0, json_string(process)) +
         fmt::format(
             "{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{0},\"tid\":0,"
             "\"args\":{{\"sort_index\":{0}}}}},\n",
             comm.session_rank) +
         name_line("thread_name", comm.session_rank, thread_of(track, 0), name) +
         fmt::format(
             "{{\"name\":\"rondo-communicator\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{{},"
             "\"size\":{},\"transports\":{}}}}},\n",
             comm.session_rank, thread_of(track, 0), tracks_[track - 1].arguments, comm.size,
             json_string(comm.transports));
}

std::string TraceText::record(const TraceRecord& record) {
  if (record.track == 0 || record.track > tracks_.size()) return {};
  Track& track = tracks_[record.track - 1];
  if (record.kind != TraceKind::Call) return message(record, track);
  Signature unnumbered = record.signature;
  unnumbered.sequence = 0;
  if (track.algorithm != record.algorithm || !(track.latest == unnumbered)) {
    track.algorithm = record.algorithm;
    track.latest = unnumbered;
    track.call = json_string(call_text(unnumbered));
    track.fields = call_arguments(unnumbered, record.algorithm);
  }
  std::string fields = fmt::format("\"number\":{},{}", record.signature.sequence, track.fields);
  if (record.peer >= 0)
    fields += fmt::format(R"(,"waited_for":{},"waited_us":{})", record.peer, us(record.waited_ns));
  return slice(record, track, thread_of(record.track, 0), track.call, fields);
}

std::string TraceText::message(const TraceRecord& record, Track& track) {
  std::string line;
  const auto lane = std::find_if(track.lanes.begin(), track.lanes.end(),
                                 [&](int64_t ended_ns) { return ended_ns <= record.began_ns; });
  const auto at = static_cast<uint32_t>(lane - track.lanes.begin()) + 1;
  if (lane != track.lanes.end()) {
    *lane = record.ended_ns;
  } else {
    if (at > kLanes) return {};
    track.lanes.push_back(record.ended_ns);
    line = fmt::format(
        "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}},\n",
        track.process, thread_of(record.track, at),
        track.name.substr(0, track.name.size() - 1) + " messages\"");
  }
  const char* const name = record.kind == TraceKind::Send ? "\"send\"" : "\"recv\"";
  const std::string fields =
      fmt::format(R"("message":{},"peer":{},"tag":{},"count":{},"bytes":{})", record.message, record.peer,
                  record.tag, record.bytes / std::max(1u, record.type_bytes), record.bytes);
  return line + slice(record, track, thread_of(record.track, at), name, fields);
}

std::string TraceText::slice(const TraceRecord& record, const Track& track, uint32_t thread,
                             const std::string& name, const std::string& fields) const {
  return fmt::format(
      "{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},"
      "\"args\":{{{},\"state\":\"{}\",{}}}}},\n",
      name, record.kind == TraceKind::Call ? "call" : "message", track.process, thread,
      us(record.began_ns - clocks_.monotonic_ns), us(record.ended_ns - record.began_ns), fields,
      state_text(record.state), track.arguments);
}

std::string TraceText::remark(const char* name, const std::string& fields, int64_t at_ns) const {
  return fmt::format(
      "{{\"name\":\"{}\",\"cat\":\"remark\",\"ph\":\"i\",\"s\":\"p\",\"pid\":{},\"tid\":0,\"ts\":{},\"args\":"
      "{{{}}}}},\n",
      name, first_rank_, us(at_ns - clocks_.monotonic_ns), fields);
}

}  // namespace rondo
