// SPDX-License-Identifier: Apache-2.0
// Streams: each runs its items in order on its own thread.
//
// An item also waits for what CUDA orders before it: events, the legacy stream and, if streams share hardware
// queues, everything enqueued earlier in the same queue.
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "completion.h"
#include "driver.h"

namespace rondo::standin {

/// Runs on a stream's thread. The operation itself must skip its work if the context is broken.
using Operation = std::function<void()>;

struct Item {
  Operation run;
  Completions after;
  CompletionPtr done;
};

}  // namespace rondo::standin

struct CUstream_st : std::enable_shared_from_this<CUstream_st> {
  CUstream_st(CUcontext of, unsigned with_flags, int with_priority)
      : context(of), flags(with_flags), priority(with_priority) {}

  const CUcontext context;
  const unsigned flags;
  const int priority;
  uint64_t id = 0;
  rondo::standin::CompletionPtr* queue = nullptr;  // last item of its hardware queue; null: not shared

  // Guarded by Driver::mutex.
  bool alive = true;                   // not destroyed
  rondo::standin::CompletionPtr last;  // null: nothing was ever enqueued
  std::shared_ptr<rondo::standin::Capture> capture;
  std::vector<CUgraphNode> tail;  // of the capture: dependencies of the next node

  bool legacy() const { return context->legacy.get() == this; }
  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }

  std::atomic<bool> dropped = false;  // pending items are skipped
  std::atomic<bool> runs = false;     // an item is running on the stream's thread

  void push(rondo::standin::Item item);
  /// No more items will follow.
  void close();
  /// Waits for an item; nullopt if the stream is closed.
  std::optional<rondo::standin::Item> next();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<rondo::standin::Item> items_;
  bool closed_ = false;
};

namespace rondo::standin {

using Stream = CUstream_st;
using StreamPtr = std::shared_ptr<CUstream_st>;

StreamPtr make_stream(Context& context, unsigned flags, int priority);
/// Pending work still completes.
void close_stream(Stream& stream);

/// Skips the pending work of the context's streams; returns when none of them is running an item.
void drop_work(Context& context, Lock& lock);

/// The stream of a handle: null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD or a created one.
CUresult find_stream(CUstream handle, StreamPtr& found);

/// Enqueues, even during a capture.
CompletionPtr enqueue(Stream& stream, Operation run, Completions after = {});
/// Enqueues or, if the stream is capturing, adds a node. `done` is null if captured.
CUresult submit(Stream& stream, CUgraphNodeType type, Operation run, CompletionPtr* done = nullptr);

/// Completions of all work of the stream, or of the context.
Completions work_of(const Stream& stream);
Completions work_of(const Context& context);

/// Releases the lock while waiting.
void wait_unlocked(Lock& lock, const Completions& completions);

}  // namespace rondo::standin
