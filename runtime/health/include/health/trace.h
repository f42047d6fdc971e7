// SPDX-License-Identifier: Apache-2.0
// The trace: all calls and messages of this process, in the file that RONDO_TRACE names. Threads that make
// calls leave records in a ring and never wait; a thread of the library writes them. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/signature.h"
#include "base/status.h"

namespace rondo {

struct RecordedComm;

enum class TraceKind : uint8_t { Call, Send, Receive };
enum class TraceState : uint8_t { Done, OnStream, Refused, Failed };

/// A call, or a message, that has ended.
struct TraceRecord {
  Signature signature;         // of a call
  const char* algorithm = "";  // static
  int64_t began_ns = 0;        // of now_ns()
  int64_t ended_ns = 0;
  int64_t waited_ns = 0;    // for `peer`
  uint64_t bytes = 0;       // of a message
  uint64_t message = 0;     // 1-based number of a message from its source to its destination; 0: not known
  uint32_t type_bytes = 1;  // of a message
  int32_t peer = -1;        // the rank that the call waited for, or the message's other end; -1: none known
  int32_t tag = -1;
  uint32_t track = 0;
  TraceKind kind = TraceKind::Call;
  TraceState state = TraceState::Done;
};

/// Whether this process writes a trace. Read by every message.
extern constinit std::atomic<bool> has_trace;

/// The time for a record; 0 without a trace.
inline int64_t trace_now_ns() { return has_trace.load(std::memory_order_relaxed) ? now_ns() : 0; }

/// Reads RONDO_TRACE and RONDO_TRACE_BYTES, and starts the trace; InvalidArgument if they cannot be used. The
/// first file that a process begins is its only one.
Status read_trace_settings();

/// A track for the communicator's records; 0 without a trace.
uint32_t trace_track(const RecordedComm& comm);

/// Counts the record as dropped if the ring is full.
void add_to_trace(const TraceRecord& record);

/// Waits until what was added is in the file, so that the process may end; a few seconds at most.
void flush_trace();

}  // namespace rondo
