// Part: what one communicator has to do in a group: its calls in their order, and its messages beside them.
// Advances without blocking; whoever advances it looks at it now and then while nothing moves. One thread at
// a time.
#pragma once

#include <optional>
#include <span>

#include "comm/diagnosis.h"
#include "comm/driver.h"
#include "comm/gpu_calls.h"
#include "exec/point_to_point_task.h"

namespace rondo {

class Part {
 public:
  /// When a wait is first looked into, and again each time it has lasted twice as long.
  static constexpr int64_t kFirstDiagnosis_ns = 1'000'000'000;

  /// `items`: of all communicators of the group; `streams`: likewise.
  Part(Communicator& communicator, std::span<const Item> items, MessageStreams& streams);

  Communicator& communicator() { return communicator_; }

  /// The first call has been prepared already, or could not be.
  void take_up(const Result<Task*>& prepared);
  /// Done and Failed are final.
  Progress advance();
  /// What a thread may sleep for that waits for it; nothing where that is not known.
  Awaited awaited();
  /// Called when nothing has moved for a while; `waits`: a caller waits for it meanwhile.
  void look(int64_t waited_ns, bool waits = true);
  /// It will not be advanced any more: nothing reads or writes the memory of what is not over.
  void abandon();
  /// Nobody waits for it any more: peers that ask do not hear that somebody does.
  void hide_messages();
  const Status& status() const { return status_; }
  bool over() const { return over_; }

 private:
  void add(const Call&, const CallPlace&) {}  // looked for when it is its turn
  template <typename Request>
  void add(const std::shared_ptr<Request>& request, const CallPlace& place);
  const Call* next_call();
  Progress advance_calls();
  void refuse(const Status& why);
  Progress fail(const Status& cause);
  Status where_ranks_disagree(const Status& cause) const;
  Status first_cause(const Status& cause);
  int blocked_on() const;
  Wait wait() const;
  void show_messages();
  void give_up();

  Communicator& communicator_;
  std::span<const Item> items_;
  MessageStreams& streams_;
  size_t next_ = 0;       // the first of them that is not over, where it is a call of this communicator
  Task* call_ = nullptr;  // that one, once it runs
  std::optional<PointToPointTask> messages_;
  std::optional<GpuMessageTask> gpu_messages_;
  std::optional<Deadline> deadline_;  // of the call at hand, from its first wait on
  int64_t next_diagnosis_ns_ = kFirstDiagnosis_ns;
  bool has_shown_ = false;  // on the Board what it waits for
  bool over_ = false;
  Status status_;
};

}  // namespace rondo
