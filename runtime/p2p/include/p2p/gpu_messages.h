// SPDX-License-Identifier: Apache-2.0
// GpuMessages: a communicator's sends and receives of GPU memory. Any thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "exec/proxy.h"
#include "exec/task.h"
#include "gpu/memory.h"
#include "gpu/stream.h"
#include "health/stall_detector.h"
#include "p2p/point_to_point.h"

namespace rondo {

class GpuMessage;

/// A user's request; its buffer is GPU memory.
using AnyRequest = std::variant<std::shared_ptr<SendRequest>, std::shared_ptr<RecvRequest>>;

class GpuMessages final : public Proxy::ProxyClient {
 public:
  /// Callbacks into the communicator.
  struct MessageHooks {
    std::function<bool()> failed;
    std::function<void(const Status& cause)> fail;
    /// Diagnoses stalled messages: Ok, a mismatch, an awaited rank that has left or, if `last`, a timeout.
    /// `received`: messages received, by source rank.
    std::function<Status(const PendingMessages& pending, std::vector<uint64_t> received, bool last)> look;
    std::function<int64_t()> timeout_ms;  // the current deadline of calls
  };
  struct Asked {
    AnyRequest request;
    std::optional<gpu::Stream> stream;  // nothing: an OwnStream
  };
  /// Carries the messages of a task that have no CUDA stream. On the default stream, which ranks of a process
  /// share, a send would wait for another rank's receive.
  struct OwnStream {
    gpu::OwnedStream stream;
    gpu::Event event;
  };
  GpuMessages(int device, PointToPoint& engine, MessageHooks hooks);
  ~GpuMessages() override;

  /// A message and its stream.
  struct Placed {
    std::shared_ptr<GpuMessage> message;
    gpu::Stream stream;
  };
  /// Enqueue the messages of a call or group: first the operations that wait for no peer, then the rest.
  /// `own`: made if a message needs it.
  Result<std::vector<Placed>> start(std::span<const Asked> asked, OwnStream& own);
  Status finish(std::span<const Placed> placed);
  /// Keeps it for later messages, once all on it are done.
  void give_back(OwnStream own);
  /// Waits until all messages issued outside graphs are over, or the GPU is lost; false at the deadline.
  bool settle(const Deadline& deadline);

  int device() const { return device_; }
  bool serve() override;

 private:
  Result<Placed> place(const AnyRequest& request, gpu::Stream stream);
  Result<gpu::Memory> memory(size_t bytes);
  Result<OwnStream> own_stream();
  Status make_counter();
  // On the proxy's thread; all but the last require the engine's mutex:
  bool begin_next();
  void release_all();
  bool serve_all();
  void forget_ended();
  PendingMessages pending() const;
  void watch(bool moved);

  int device_;
  PointToPoint& engine_;
  MessageHooks hooks_;
  std::mutex counter_mutex_;  // while the counter is made
  gpu::Memory counter_;       // of tickets
  std::mutex order_mutex_;    // while messages on an OwnStream are started
  gpu::Event drawn_;          // the latest of them have drawn their tickets
  // Guarded by the engine's mutex:
  std::list<std::shared_ptr<GpuMessage>> messages_;  // in the order of the calls
  std::vector<gpu::Memory> spare_;                   // freed at the end: in CUDA that may wait for streams
  std::vector<OwnStream> spare_streams_;
  // Used only by the proxy's thread:
  Status failure_;
  bool waits_ = false;  // for a peer
  bool cancelled_ = false;
  uint64_t next_ticket_ = 1;
  StallDetector stall_detector_;
};

/// The streams of a group's messages, on all its communicators. No stream waits for a peer before all streams
/// have done what their peers may wait for: otherwise streams that share a hardware queue, or branches of a
/// graph, could block one another.
class MessageStreams {
 public:
  void join(int device, gpu::Stream stream);
  /// Call once all have joined and started.
  Status separate();

 private:
  struct MessageStream {
    int device;
    gpu::Stream stream;
    gpu::Event started;
  };
  Status check_captured_together() const;
  Status mark(MessageStream& member) const;
  Status hold(const MessageStream& member) const;

  std::vector<MessageStream> members_;
  bool separated_ = false;
};

/// The messages of one communicator in a call or group. The task waits only for those without a stream.
class GpuMessageTask final : public Task {
 public:
  GpuMessageTask(GpuMessages& messages, std::mutex& mutex, MessageStreams& streams)
      : messages_(messages), mutex_(mutex), streams_(streams) {}
  void add(const AnyRequest& request, gpu::Stream stream, bool is_waited_for);

  Progress advance() override;
  Status status() const override { return failure_; }
  int blocked_on() const override;
  void abandon() override;

 private:
  enum class TaskStage { Start, Finish, Wait };
  Status start();
  Status finish();
  Status check_gpu();
  bool all_done() const;

  GpuMessages& messages_;
  std::mutex& mutex_;  // the engine's
  MessageStreams& streams_;
  std::vector<GpuMessages::Asked> asked_;
  std::vector<GpuMessages::Placed> placed_;
  std::vector<AnyRequest> waited_for_;
  GpuMessages::OwnStream own_;  // of the messages waited for; its event is recorded after them
  uint32_t turns_ = 0;
  TaskStage stage_ = TaskStage::Start;
  Status failure_;
};

}  // namespace rondo
