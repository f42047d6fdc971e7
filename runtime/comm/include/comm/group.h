// SPDX-License-Identifier: Apache-2.0
// Calls as their callers requested them, and the group, which collects a thread's calls between
// rondo_group_start() and rondo_group_end() and issues them on the caller's thread or through the queues that
// they name. A group belongs to its thread.
#pragma once

#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "call/check.h"
#include "comm/communicator.h"
#include "p2p/point_to_point.h"

namespace rondo {

class Queue;

/// Tells a receive's caller what has arrived.
using TellReceived = void (*)(const RecvRequest& got, void* whom);

/// A call or message as a group or queue keeps it until it is issued.
struct GroupOp {
  Communicator* communicator = nullptr;
  std::variant<Call, std::shared_ptr<SendRequest>, std::shared_ptr<RecvRequest>> what;
  Queue* queue = nullptr;       // the requested queue; null: the caller's thread
  TellReceived tell = nullptr;  // called when a receive is done; may be null
  void* whom = nullptr;
  CallPlace place = {};  // for sends and receives
  Plan* plan = nullptr;  // for a call: one that was made for it; null: it is looked up, or made

  /// To be called on success.
  void finish() const;
};

/// A checked call and its plan.
struct PlannedCall {
  Plan* plan = nullptr;
  CallBuffers buffers;
};

/// A send or receive of host memory. Most short ones are done at once and without allocating a request
/// (MessagesAtOnce); the rest continue as GroupOps.
struct UserMessage {
  Communicator* communicator = nullptr;
  std::variant<SendRequest, RecvRequest> request;
  TellReceived tell = nullptr;  // called when a receive is done; may be null
  void* whom = nullptr;

  bool is_done() const;
  int peer() const;
  void finish() const;
  /// The message as a GroupOp.
  GroupOp op(Queue* queue = nullptr, const CallPlace& place = {}) const;
};
static_assert(std::is_trivially_copyable_v<UserMessage>);

/// Opens a group on this thread, or a nested level of it.
void group_start();
/// Closing the outermost level issues the collected calls or, if a call was refused, returns the first
/// refusal and issues nothing. InvalidUsage without a group.
Status group_end();
/// What a group has collected.
struct Collected {
  std::vector<GroupOp> ops;
  std::vector<UserMessage> messages;  // only while the group has no other ops
  Status refusal;                     // of the first call that was refused
};
/// Closes the only level of this thread's group and returns the calls, or the first refusal. InvalidUsage
/// without a group, and within another one, which stays as it is.
Result<Collected> group_take();
/// Records that a call was refused, if this thread has a group.
void note_refusal(Status why);

/// Closes all levels and discards the collected calls; InvalidUsage without a group.
Status group_cancel();

/// Issues one op, or adds it to this thread's group.
Status submit(GroupOp op);
/// The same, on the caller's thread; `message` serves as its working copy.
Status submit(UserMessage& message);
Status submit(Communicator& communicator, const CallRequest& request, Queue* queue);

/// Whether this thread's group has collected calls of the communicator.
bool group_has(const Communicator& communicator);
/// InvalidUsage within a group: for functions that must complete before they return.
Status refuse_in_group(const char* what);

}  // namespace rondo
