// SPDX-License-Identifier: Apache-2.0
// Issuing of staged calls: kernels that never wait, and between them words that streams write and wait for.
//
//     produce | ready -> readers | wait for writers' ready, back to 0 | consume | done -> writers | ...
//
// A slot is refilled only once all its readers are done with it. Before it ends, a call waits for all
// readers, so that every word is 0 again and a graph can replay it. Any thread.
#pragma once

#include <memory>
#include <mutex>

#include "gpu/stream.h"
#include "gpu_group/local_group.h"
#include "ipc_handle_exchange.h"
#include "staged_plan.h"

namespace rondo {

/// Marks where a communicator's latest call ends in its stream. Calls share staging, so the next call, in any
/// stream, must wait for it.
class StreamTail {
 public:
  explicit StreamTail(int device) : device_(device) {}
  /// Makes later work of the stream wait for previous calls; in a capture, for calls of the same capture.
  Status enter(gpu::Stream stream);
  Status leave(gpu::Stream stream);
  /// Whether all calls issued outside graphs have completed.
  Result<bool> passed();

 private:
  struct Mark {
    gpu::Event event;
    bool made = false;
  };
  Status record(Mark& mark, gpu::Stream stream) const;

  std::mutex mutex_;
  int device_;
  Mark direct_;
  Mark captured_;
  uint64_t capture_ = 0;  // the capture that `captured_` belongs to
};

/// A LocalCall's payload for issue_staged().
struct StagedPart {
  const PeerMappings* mappings = nullptr;
  std::vector<StagedRound> rounds;
  std::shared_ptr<StreamTail> own_tail;
  std::shared_ptr<StreamTail>* latest_tail =
      nullptr;  // set by issue_staged() to the tail of the device's leader
};

/// A LocalGroup::Issue; payloads are StagedParts.
Status issue_staged(std::span<const LocalGroup::LocalCall> local_calls);

}  // namespace rondo
