// SPDX-License-Identifier: Apache-2.0
// Communicator: one rank's membership in a group of ranks: its connections, its plans, its health.
// Used by one thread at a time, except for functions marked "any thread".
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/disowned.h"
#include "bootstrap/membership.h"
#include "call/check.h"
#include "call/user_memory.h"
#include "exec/connections.h"
#include "exec/task.h"
#include "p2p/point_to_point.h"
#include "plan/connection_costs.h"
#include "plan/plan_cache.h"
#include "plan/selector.h"

namespace rondo {

namespace device {
enum class Protocol : uint8_t;
}
class CauseSearch;
class CommTopology;
class ConnectionExecutor;
class GpuCalls;
class InitSiblings;
class Requests;
class ShmExecutor;

class Communicator {
 public:
  struct Options {
    int64_t timeout_ms = 300'000;  // of calls; the initial value
    int64_t init_timeout_ms = 120'000;
    const Transport* transport = nullptr;  // null: the best for each pair
    ConnectionParams params;               // slot_bytes, slots, sockets: 0 if not requested
    Selector selector;
    int64_t pull_bytes = -1;       // the longest vector that ShmPull takes; -1: chosen for the ranks
    std::optional<Levels> levels;  // of groups of close ranks; null: detect
    int64_t stream_bytes = -1;     // the longest vector whose results stay in caches; -1: chosen for the host
    std::string name;
    std::optional<device::Protocol> protocol;  // between GPUs; nullopt: chosen per call
    int channels = 0;                          // between GPUs; max; 0: not requested
    std::vector<int> devices;                  // GPUs, assigned to this process's ranks in turn; empty: none
  };
  /// A caller's requests; null and 0: use the environment's.
  struct UserConfig {
    const char* transport = nullptr;
    const char* algorithm = nullptr;
    int64_t timeout_ms = 0;
    const char* name = nullptr;
    const char* device = nullptr;
    int64_t init_timeout_ms = 0;
    const char* protocol = nullptr;
    int channels = 0;
    int traffic_class = 0;
  };
  /// InvalidArgument names what is wrong.
  static Result<Options> options(const UserConfig& config);

  /// `ranks`: this communicator's members, as session ranks in order; `self`: the own index in them.
  static Result<std::unique_ptr<Communicator>> make(std::shared_ptr<Session> session, uint64_t id,
                                                    std::vector<int> ranks, int self, Options options);
  ~Communicator();

  Membership& membership() const { return *membership_; }
  const MembershipPtr& shared_membership() const { return membership_; }
  int rank() const { return membership_->rank(); }
  int size() const { return membership_->size(); }
  const Options& options() const { return options_; }
  bool oversubscribed() const { return oversubscribed_; }

  /// Registers memory that the caller will use in calls; peers may read GPU memory in place. Returns a handle
  /// for deregister_memory(), which waits until no peer reads it. Any thread.
  Result<void*> register_memory(void* pointer, size_t bytes);
  Status deregister_memory(void* handle);

  /// Fast path: the cached plan for this request, if its buffers are allowed; null: the request must be
  /// checked.
  Plan* find_plan(const CallRequest& request);
  /// InvalidArgument names the argument.
  Result<Call> check(const CallRequest& request);
  /// Handles the result of placing a call (see place()). A lost GPU is not the call's fault, and other ranks
  /// wait for this one: it fails the communicator.
  Status found(const Status& placed);
  /// Whether all calls run on the CPU; otherwise each call queries what its pointers point to.
  bool is_host_only() const;
  /// Numbers a call, records it, and prepares it to run: see Plan::start().
  Task* start(Plan& plan, const CallBuffers& buffers);
  /// The same for the checked call for which the plan was made.
  Result<Task*> start(Plan& plan, const Call& call);
  /// The same, making its plan if there is none.
  Result<Task*> prepare(const Call& call);
  /// Makes a plan for this call alone, which is kept until `user` or the communicator is gone. To be called
  /// in a turn.
  Result<Plan*> keep_plan(const Call& call, std::weak_ptr<const void> user);
  PointToPoint& messages() { return messages_; }
  /// Sends and receives that no caller has waited for yet. Any thread.
  const std::shared_ptr<Requests>& requests() const { return requests_; }
  /// The same of prepared calls that include collectives: apart, as these may keep a thread busy.
  const std::shared_ptr<Requests>& started_calls() const { return started_calls_; }
  GpuCalls& gpu_calls() { return *gpu_calls_; }
  ConnectionTable& connections() { return connections_; }
  const LinkModel& links() const { return links_; }
  /// In order of preference.
  std::span<const Executor> executors() const { return executors_; }
  /// Set while one of its waits is diagnosed: with many of them, one at a time is enough. Any thread.
  std::atomic<bool>& is_diagnosing() { return is_diagnosing_; }
  /// Of its first connection that breaks. Any thread.
  CauseSearch& cause_search() { return *cause_search_; }
  /// Parameters of its connections.
  const ConnectionParams& params() const { return params_; }
  /// Those of connections between GPUs, which have no reader's cache that would justify a longer ring.
  ConnectionParams gpu_params() const;

  /// The name of the transport to that rank; "self" for the own one. Any thread.
  Result<const char*> transport_to(int rank) const;
  /// "shm to 3 ranks, tcp to 4 ranks"; "none" without other ranks. Any thread.
  std::string transports_text() const;

  /// A communicator's calls run in the order in which they were issued, on any threads.
  uint64_t take_turn() { return next_turn_++; }
  bool is_turn(uint64_t turn) const { return serving_.load(std::memory_order_acquire) == turn; }
  bool is_idle() const { return is_turn(next_turn_); }
  /// Called by the thread whose turn it is, so there is one writer. The release pairs with is_turn()'s
  /// acquire.
  void end_turn(uint64_t turn) { serving_.store(turn + 1, std::memory_order_release); }
  /// Waits until all issued calls are over, including those on queues. Each ends at its deadline.
  void drain() const;

  /// The id of the next communicator split off this one, the same at all its members.
  uint64_t next_child_id(int color);
  /// The default name of the latest one.
  std::string child_name(int color) const { return fmt::format("{}/{}.{}", options_.name, children_, color); }

  /// quiesce(); then, if this is the rank's last communicator, waits for the other ranks to finish it; then
  /// checks for calls that only some ranks made.
  Status finalize();
  /// The part of finalize() that waits for no other rank. `leaves`: by leave().
  Status quiesce(bool leaves = false);
  bool finalized() const { return finalized_; }
  /// Whether only quiesce() was called.
  bool only_quiesced() const { return finalized_ && !ended_; }
  /// Ends and frees it without waiting for other ranks; their calls that need this rank fail from now on.
  static Status leave(std::unique_ptr<Communicator> communicator);

  /// The ranks that the same call created in this process; null: none.
  const std::shared_ptr<InitSiblings>& init_siblings() const { return init_siblings_; }
  void join(std::shared_ptr<InitSiblings> init_siblings) { init_siblings_ = std::move(init_siblings); }
  /// Frees it or, if its rank left its init_siblings early, passes it to them to keep.
  static void retire(std::unique_ptr<Communicator> communicator);

 private:
  Communicator(MembershipPtr membership, Options options, const ConnectionParams& params);
  Status make_executors(const CommTopology& topology);
  /// Whether connections have what the algorithm needs.
  Status check_needs(const Candidate& chosen, const Call& call) const;
  Result<std::unique_ptr<Plan>> new_plan(const Call& call);
  Result<Plan*> make_plan(const Call& call);
  static Status check_serves(const Plan& plan, const Call& call);
  Status complete_calls();
  Status leave_session();
  Status check_nothing_left() const;

  InUse in_use_;
  const MembershipPtr membership_;
  const Options options_;
  ConnectionParams params_;
  ConnectionTable connections_;
  LinkModel links_;
  std::unique_ptr<ConnectionExecutor> connection_executor_;
  std::unique_ptr<ShmExecutor> shm_executor_;  // null: the ranks do not all share memory
  std::vector<Executor> executors_;
  PlanCache plans_;
  std::unique_ptr<Plan> plan_of_one_call_;  // the latest _v form's, or internal call's
  struct KeptPlan {
    std::weak_ptr<const void> user;
    std::unique_ptr<Plan> plan;
  };
  std::vector<KeptPlan> kept_plans_;
  PointToPoint messages_;
  std::shared_ptr<Requests> requests_;
  std::shared_ptr<Requests> started_calls_;
  Registrations registrations_;
  std::atomic<bool> is_diagnosing_{false};
  const std::unique_ptr<CauseSearch> cause_search_;
  MessageNotes unsent_;  // sends that finalize() ended
  uint32_t sequence_ = 0;
  std::unique_ptr<GpuCalls> gpu_calls_;
  int children_ = 0;
  bool oversubscribed_ = false;
  bool finalized_ = false;  // no more calls
  bool ended_ = false;      // finalize() or leave() has begun
  bool left_early_ = false;
  std::shared_ptr<InitSiblings> init_siblings_;
  uint64_t next_turn_ = 0;
  std::atomic<uint64_t> serving_{0};
};

}  // namespace rondo
