// Communicator: one rank's membership in a group of ranks: its connections, its plans, its health.
// Used by one thread at a time, except for what says that any thread may, fail(), health() and board().
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "base/disowned.h"
#include "comm/call.h"
#include "comm/call_memo.h"
#include "comm/company.h"
#include "comm/connections.h"
#include "comm/health.h"
#include "comm/memory.h"
#include "comm/selector.h"
#include "comm/session.h"
#include "exec/point_to_point.h"
#include "exec/run.h"

namespace rondo {

namespace device {
enum class Protocol : uint8_t;
}
class GpuCalls;
class Requests;
class SharedCalls;
struct ExchangeCall;

class Communicator {
 public:
  struct Options {
    int64_t timeout_ms = 300'000;  // of calls, at the beginning
    int64_t init_timeout_ms = 120'000;
    const Transport* transport = nullptr;  // null: the best for each pair
    ConnectionParams params;               // slot_bytes, slots, sockets: 0 where nothing was asked for
    Selector selector;
    int64_t exchange_bytes = -1;  // the longest vector that an Exchange takes; -1: as suits the ranks
    int64_t group = 0;            // of how many ranks each group of near ones is; 0: as they are
    int64_t stream_bytes = -1;    // the longest whose results stay in caches; -1: as suits the host
    std::string name;
    std::optional<device::Protocol> protocol;  // between GPUs; nothing: by the call
    int channels = 1;                          // likewise, at most
    std::vector<int> devices;                  // GPUs, by the ranks of this call in turn; empty: none
  };
  /// What a caller can ask for; null and 0: what the environment says.
  struct Wishes {
    const char* transport = nullptr;
    const char* algorithm = nullptr;
    int64_t timeout_ms = 0;
    const char* name = nullptr;
    const char* device = nullptr;
    int64_t init_timeout_ms = 0;
    const char* protocol = nullptr;
    int channels = 0;
  };
  /// InvalidArgument names what is wrong.
  static Result<Options> options(const Wishes& wishes);

  /// `ranks`: the session's ranks of this communicator, in its order; `self` is the own place among them.
  static Result<std::unique_ptr<Communicator>> make(std::shared_ptr<Session> session, uint64_t id,
                                                    std::vector<int> ranks, int self, Options options);
  ~Communicator();

  int rank() const { return self_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  uint64_t id() const { return id_; }
  const Options& options() const { return options_; }
  /// The deadline of calls. Any thread; calls that wait already may keep the one they began with.
  int64_t timeout_ms() const { return timeout_ms_.load(std::memory_order_relaxed); }
  void set_timeout_ms(int64_t timeout_ms) { timeout_ms_.store(timeout_ms, std::memory_order_relaxed); }
  const std::shared_ptr<Session>& session() const { return session_; }
  int session_rank(int rank) const { return ranks_[static_cast<size_t>(rank)]; }
  const Member& member(int rank) const { return session_->member(session_rank(rank)); }
  std::string rank_text(int rank) const { return member(rank).text(); }
  bool crowded() const { return crowded_; }
  /// The GPU of this rank; -1: it uses none.
  int device() const { return device_of(self_); }
  int device_of(int rank) const { return member(rank).device.ordinal; }
  /// Whether that rank lives in this process; on this host.
  bool is_here(int rank) const { return member(rank).is_beside(member(self_)); }
  bool is_on_this_host(int rank) const { return member(rank).endpoint.host == member(self_).endpoint.host; }

  /// Memory that the caller will use in calls; peers may read it in place where it is the GPU's. A handle for
  /// deregister_memory(), which waits until none of them does. Any thread.
  Result<void*> register_memory(void* pointer, size_t bytes);
  Status deregister_memory(void* handle);

  Health& health() { return *health_; }
  const std::shared_ptr<Health>& shared_health() const { return health_; }
  Board& board() { return *board_; }
  /// Keeps the first cause, tells the other ranks, and returns the first cause.
  Status fail(const Status& cause);

  /// Gets a checked call ready to run: numbers it, chooses its plan, makes connections that the plan lacks.
  /// The task is good until the next call is prepared.
  Result<Task*> prepare(const Call& call);
  /// Fast path: begins the cached plan again if only the buffers differ from the latest call of its kind;
  /// null if the full path is needed. The task is valid until the next one.
  Task* begin_again(const PlainCall& call);
  /// Numbers a call that is about to be made, and says so.
  void begin(Signature& signature, const char* algorithm);
  PointToPoint& messages() { return messages_; }
  /// Sends and receives that nobody has waited for yet. Any thread.
  const std::shared_ptr<Requests>& requests() const { return requests_; }
  GpuCalls& gpu_calls() { return *gpu_calls_; }
  ConnectionTable& connections() { return connections_; }
  const Links& links() const { return links_; }
  /// Which calls are exchanged.
  ExchangeTerms exchange_terms(CollectiveKind kind) const;
  /// Of its connections.
  const ConnectionParams& params() const { return params_; }
  /// Of those between GPUs, where no cache of a reader makes a longer ring worth its memory.
  ConnectionParams gpu_params() const;

  /// Of the latest call that was prepared; "" before the first. Any thread.
  const char* latest_algorithm() const { return latest_algorithm_.load(std::memory_order_relaxed); }
  /// Where a call turns out to go another way than its kind does. Any thread.
  void note_algorithm(const char* name) { latest_algorithm_.store(name, std::memory_order_relaxed); }
  /// The name of what carries data to that rank; "self" for the own one. Any thread.
  Result<const char*> transport_to(int rank) const;

  /// Calls of a communicator run in the order in which they were issued, on whatever threads.
  uint64_t take_turn() { return next_turn_++; }
  bool is_idle() const { return is_turn(next_turn_); }
  bool is_turn(uint64_t turn) const { return serving_.load(std::memory_order_acquire) == turn; }
  /// By whose turn it is, so that nobody else writes it. Pairs with is_turn().
  void end_turn(uint64_t turn) { serving_.store(turn + 1, std::memory_order_release); }
  /// Waits until all calls that were issued are over, those on queues as well. Each ends at its deadline.
  void drain() const;

  /// The identity of the next communicator made out of this one, the same at all its members.
  uint64_t next_child_id(int color);
  /// The name of the latest one, if it was not given one.
  std::string child_name(int color) const { return fmt::format("{}/{}.{}", options_.name, children_, color); }

  /// The wait for the others' ends, if this is the rank's last communicator, and a look for calls that only
  /// some ranks made.
  Status finalize();
  /// The part of it that waits for nobody else.
  Status quiesce();
  bool finalized() const { return finalized_; }
  /// Ends and frees it without waiting for other ranks, whose calls that need this rank fail from now on.
  static Status leave(std::unique_ptr<Communicator> communicator);

  /// Who else is in this process by the same call; null: nobody.
  const std::shared_ptr<Company>& company() const { return company_; }
  void join(std::shared_ptr<Company> company) { company_ = std::move(company); }
  /// Frees it, or, where its rank left its company early, leaves it to the company.
  static void retire(std::unique_ptr<Communicator> communicator);

 private:
  using PlanKey = std::tuple<const Algorithm*, int, bool, bool>;  // root, varying, commutative
  Communicator(std::shared_ptr<Session> session, uint64_t id, std::vector<int> ranks, int self,
               Options options, const ConnectionParams& params);
  /// A Schedule bound to connections, and who carries it out.
  struct Plan {
    explicit Plan(Program bound) : program(std::move(bound)), run(program) {}
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    Program program;
    Run run;
  };
  struct Choice {
    Decision decision;
    Plan* plan = nullptr;                    // null: not made yet
    std::shared_ptr<ExchangeCall> exchange;  // where the call is exchanged
    BufferRule buffers;                      // likewise
  };
  /// What the Selector says; a call like the last one of its kind is not thought over again.
  Result<Choice*> choose(const Call& call);
  Binding bind(const Call& call, const Signature& signature) const;
  std::shared_ptr<ExchangeCall> resolve(const Call& call, const Decision& decision);
  Schedule schedule(const Algorithm& algorithm, const Shape& shape) const;
  Result<Plan*> plan(const Algorithm& algorithm, const Shape& shape);
  void share_memory();
  std::byte* scratch(size_t bytes);
  Status leave_session();
  Status check_nothing_left() const;

  InUse in_use_;
  std::shared_ptr<Session> session_;
  uint64_t id_;
  std::vector<int> ranks_;
  int self_;
  Options options_;
  ConnectionParams params_;
  std::shared_ptr<Health> health_ = std::make_shared<Health>();
  std::shared_ptr<Board> board_;
  ConnectionTable connections_;
  Links links_;
  std::vector<int> near_order_;  // of ranks that a network joins; empty: it makes no difference
  std::array<CallMemo<Choice>, kCollectives> choices_;
  std::map<PlanKey, std::unique_ptr<Plan>> plans_;
  std::unique_ptr<SharedCalls> shared_calls_;  // null: not all ranks see one another's memory
  std::unique_ptr<std::byte[]> scratch_;       // of the call at hand; kept, since the next one needs it again
  size_t scratch_bytes_ = 0;
  std::atomic<int64_t> timeout_ms_;
  PointToPoint messages_;
  std::shared_ptr<Requests> requests_;
  Registrations registrations_;
  uint32_t sequence_ = 0;
  std::unique_ptr<GpuCalls> gpu_calls_;
  std::atomic<const char*> latest_algorithm_{""};
  int children_ = 0;
  bool crowded_ = false;
  size_t most_cached_bytes_ = 0;
  bool finalized_ = false;  // no more calls
  bool ended_ = false;      // the rest of finalize() was done, or begun
  bool left_early_ = false;
  std::shared_ptr<Company> company_;
  uint64_t next_turn_ = 0;
  std::atomic<uint64_t> serving_{0};
};

}  // namespace rondo
