// Disowned: why this process may not use what Rondo has in it. A forked child has none of its parent's
// threads, and the descriptors and the memory that it inherited are the parent's place among its peers; a
// process that has closed all its descriptors may have given their numbers to files of its own.
#pragma once

#include <atomic>

#include "base/status.h"

namespace rondo {

/// Null, or a sentence; it stays. Read by every call.
extern constinit std::atomic<const char*> why_disowned;

inline bool is_disowned() { return why_disowned.load(std::memory_order_relaxed) != nullptr; }
/// InvalidUsage in such a process.
Status refuse_disowned();

/// Held by what a forked child cannot use: a child of a process that has one is disowned. Any thread.
class InUse {
 public:
  InUse();
  ~InUse() { holders.fetch_sub(1, std::memory_order_relaxed); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  static constinit std::atomic<int> holders;
};

/// The descriptors of this process are not those that Rondo opened.
void disown_descriptors();

}  // namespace rondo
