// SPDX-License-Identifier: Apache-2.0
// Disowned: why this process may not use the Rondo state in it. A forked child has none of its parent's
// threads, and the descriptors and memory it inherited are the parent's connections to its peers. A process
// that closed all its descriptors may have reused their numbers for its own files.
#pragma once

#include <atomic>

#include "base/status.h"

namespace rondo {

/// Null, or the reason, which is sticky. Read by every call.
extern constinit std::atomic<const char*> why_disowned;

inline bool is_disowned() { return why_disowned.load(std::memory_order_relaxed) != nullptr; }
/// InvalidUsage if the process is disowned.
Status refuse_disowned();

/// Held by objects that a forked child cannot use: a child forked while any exists is disowned. Any thread.
class InUse {
 public:
  InUse();
  ~InUse() { holders.fetch_sub(1, std::memory_order_relaxed); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  static constinit std::atomic<int> holders;
};

/// Reports that this process's descriptors are no longer those that Rondo opened.
void disown_descriptors();

}  // namespace rondo
