// SPDX-License-Identifier: Apache-2.0
// Messages as records of the trace. Called by the thread that completes them.
#pragma once

#include "base/status.h"
#include "comm/group.h"

namespace rondo {

/// Once it is over, with this outcome.
void trace_message(const Communicator& communicator, const SendRequest& request, const Status& status,
                   bool on_stream);
void trace_message(const Communicator& communicator, const RecvRequest& request, const Status& status,
                   bool on_stream);

inline void trace(const UserMessage& message, const Status& status) {
  std::visit(
      [&](const auto& request) {
        if (request.began_ns != 0) [[unlikely]]
          trace_message(*message.communicator, request, status, false);
      },
      message.request);
}

/// If it is a message.
void trace(const GroupOp& op, const Status& status);

}  // namespace rondo
