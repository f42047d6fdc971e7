// SPDX-License-Identifier: Apache-2.0
// Prepared: the calls of a group, checked and planned once and made any number of times: run() makes them on
// the caller's thread, start() begins them and leaves the rest to Requests. Only the thread that makes calls
// on the communicator may use it.
#pragma once

#include <memory>
#include <vector>

#include "bootstrap/membership.h"
#include "comm/group.h"
#include "comm/requests.h"

namespace rondo {

class Prepared {
 public:
  /// Ends this thread's group and takes over its calls, which are on one communicator and on no stream. Plans
  /// are made in a turn; they and the messages' connections last as long as this object.
  static Result<std::shared_ptr<Prepared>> take_group();

  const std::shared_ptr<Requests>& requests() const { return requests_; }
  /// Of the latest start.
  const std::shared_ptr<Request>& request() const { return request_; }

  Status run();
  Status start();
  /// To be called before the last owner lets go of it. InvalidUsage if the calls are under way.
  Status retire() { return requests_->retire(*request_); }

  explicit Prepared(Collected group);  // for take_group()
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

 private:
  Status check_calls() const;
  Status plan(const std::shared_ptr<const void>& self);
  Status reach_peers();
  /// Why they cannot be made any more; the communicator may be gone.
  Status why_not() const;
  Status run_now();
  void renew();
  Status out_of_memory_failure();

  std::vector<GroupOp> ops_;
  std::vector<UserMessage> messages_;  // those of ops_, as requested, in their order
  std::vector<UserMessage> copies_;    // of messages_, for run()
  PlannedCall only_call_;              // if there is nothing else
  bool has_calls_ = false;
  bool is_plain_ = false;  // messages between host memories and nothing else
  Communicator* communicator_ = nullptr;
  MembershipPtr membership_;
  std::shared_ptr<Requests> requests_;
  std::shared_ptr<Request> request_;
};

}  // namespace rondo
