// GpuMessages: a communicator's sends and receives of GPU memory. Any thread.
#pragma once

#include <functional>
#include <list>
#include <span>
#include <vector>

#include "base/clock.h"
#include "comm/gpu_message.h"
#include "exec/proxy.h"
#include "exec/task.h"

namespace rondo {

class GpuMessages final : public Proxy::Work {
 public:
  /// What the communicator does for them.
  struct Owner {
    std::function<bool()> failed;
    std::function<void(const Status& cause)> fail;
    /// At a message that lasts: Ok, or, the last time, a timeout.
    std::function<Status(bool last)> look;
  };
  struct Asked {
    AnyRequest request;
    gpu::Stream stream = nullptr;
  };
  GpuMessages(int device, int64_t timeout_ms, PointToPoint& engine, Owner owner);
  ~GpuMessages() override;

  /// A message in its stream.
  struct Placed {
    std::shared_ptr<GpuMessage> message;
    gpu::Stream stream;
  };
  /// Put the messages of a call or group into their streams: what waits for nobody, and the rest.
  Result<std::vector<Placed>> start(std::span<const Asked> asked);
  Status finish(std::span<const Placed> placed);
  /// Waits until those that were issued, other than into graphs, are over, or the GPU is lost; false at the
  /// deadline.
  bool settle(const Deadline& deadline);

  int device() const { return device_; }
  bool serve() override;
  bool busy() const override { return busy_; }

 private:
  Result<Placed> place(const Asked& asked);
  Result<gpu::Memory> memory(size_t bytes);
  Status make_counter();
  // On the proxy's thread, all but the last under the engine's mutex:
  bool begin_next();
  void release_all();
  bool serve_all();
  void forget_ended();
  void watch(bool moved);

  int device_;
  int64_t timeout_ms_;
  PointToPoint& engine_;
  Owner owner_;
  // Guarded by the engine's mutex:
  std::list<std::shared_ptr<GpuMessage>> messages_;  // in the order of the calls
  gpu::Memory counter_;                              // of tickets
  std::vector<gpu::Memory> spare_;                   // freed at the end: CUDA may let that wait for streams
  // The proxy's:
  Status failure_;
  bool busy_ = false;   // there will soon be something to do
  bool waits_ = false;  // for a peer
  bool withdrawn_ = false;
  uint64_t next_ticket_ = 1;
  int64_t stuck_since_ns_ = 0;
  int64_t next_look_ns_ = 0;
};

/// The streams of a group's messages, of all its communicators. None of them waits for a peer before all have
/// done what their peers may wait for: streams that share a hardware queue would hold one another up, and so
/// would branches of a graph.
class MessageStreams {
 public:
  void join(int device, gpu::Stream stream);
  /// Once all have joined and started.
  Status separate();

 private:
  struct Member {
    int device;
    gpu::Stream stream;
    gpu::Event started;
  };
  Status check_captured_together() const;
  Status mark(Member& member) const;
  Status hold(const Member& member) const;

  std::vector<Member> members_;
  bool separated_ = false;
};

/// The messages of one communicator in a call or group, as a Task. Those that are on no stream are waited
/// for.
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
  enum class Stage { Start, Finish, Wait };
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
  gpu::Event tail_;  // behind those that are waited for
  uint32_t turns_ = 0;
  Stage stage_ = Stage::Start;
  Status failure_;
};

}  // namespace rondo
