// Streams: each carries out its items in their order on a thread of its own.
//
// An item also waits for what CUDA makes it wait for: events, the legacy stream, and where streams share
// hardware queues, everything that was enqueued before it in the same queue.
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

/// Runs on a stream's thread. It sees to it itself that a broken context's work is left out.
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
  rondo::standin::CompletionPtr* queue = nullptr;  // last item of its hardware queue; null: it has its own

  // Guarded by Driver::mutex.
  bool alive = true;                   // not destroyed
  rondo::standin::CompletionPtr last;  // null: nothing was ever enqueued
  std::shared_ptr<rondo::standin::Capture> capture;
  std::vector<CUgraphNode> tail;  // of the capture: what the next node depends on

  bool legacy() const { return context->legacy.get() == this; }
  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }

  std::atomic<bool> dropped = false;  // what it has left is not done
  std::atomic<bool> runs = false;     // an item, on the stream's thread

  void push(rondo::standin::Item item);
  /// Nothing comes any more.
  void close();
  /// Waits for an item; none: the stream is closed.
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
/// Its work is still done.
void close_stream(Stream& stream);

/// What the context's streams have left is not done; returns when none of them does anything.
void drop_work(Context& context, Lock& lock);

/// The stream of a handle: null and CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, or one that was created.
CUresult find_stream(CUstream handle, StreamPtr& found);

/// Enqueues, whether or not something captures.
CompletionPtr enqueue(Stream& stream, Operation run, Completions after = {});
/// Enqueues or, where the stream captures, adds a node. `done`: null where it was captured.
CUresult submit(Stream& stream, CUgraphNodeType type, Operation run, CompletionPtr* done = nullptr);

/// What has to be done before all of the stream's work is; before all of the context's.
Completions work_of(const Stream& stream);
Completions work_of(const Context& context);

/// Waits without the lock.
void wait_unlocked(Lock& lock, const Completions& completions);

}  // namespace rondo::standin
