// SPDX-License-Identifier: Apache-2.0
// CauseSearch: why a communicator's connection broke. Its peer has died, or has heard of a failure before
// this rank: the failure notice that names the first rank that failed may still be on its way, and a stopped
// rank may keep it from coming. So the search waits, on a thread of its own, while other work goes on. Any
// thread.
#pragma once

#include <mutex>
#include <thread>
#include <utility>

#include "diagnosis/desync_report.h"

namespace rondo {

class CauseSearch {
 public:
  explicit CauseSearch(MembershipPtr membership) : membership_(std::move(membership)) {}
  ~CauseSearch();
  CauseSearch(const CauseSearch&) = delete;
  CauseSearch& operator=(const CauseSearch&) = delete;

  /// Starts it, unless it has begun: it ends with the failure of the communicator. `cause`: what is known;
  /// `wait`: for what the connection was needed; `patience_ms`: how long a notice may take.
  void begin(const Status& cause, const PendingWait& wait, int64_t patience_ms);
  /// Waits for its end, if it has begun.
  void end();

 private:
  void run(const Status& cause, const PendingWait& wait, int64_t patience_ms);
  Status first_cause(const Status& cause, const PendingWait& wait, int64_t patience_ms) const;

  const MembershipPtr membership_;
  std::mutex mutex_;  // guards the rest
  bool has_begun_ = false;
  std::thread thread_;
};

}  // namespace rondo
