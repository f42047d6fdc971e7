// SPDX-License-Identifier: Apache-2.0
// FewCpus: restricts the calling thread, and threads that it starts, to a few CPUs for as long as it lives,
// and says how much others use them. Used by one thread.
#pragma once

#include <chrono>
#include <vector>

#include "base/status.h"

namespace rondo::calibrate {

/// CPUs that the calling thread may use, of cores of their own that share a last-level cache; no more than
/// the control groups allow to run at once.
Result<std::vector<int>> close_cpus(size_t at_most);

class FewCpus {
 public:
  explicit FewCpus(std::vector<int> cpus);
  FewCpus(const FewCpus&) = delete;
  FewCpus& operator=(const FewCpus&) = delete;
  ~FewCpus();

  int count() const { return static_cast<int>(cpus_.size()); }
  /// The share of these CPUs' time that other processes, and other virtual machines, have taken since the
  /// last call.
  double used_by_others();

 private:
  /// In seconds: of these CPUs together and of this process.
  struct UsedTime {
    double busy = 0, own = 0;
    std::chrono::steady_clock::time_point at;
  };
  UsedTime now() const;

  std::vector<int> cpus_, before_;
  UsedTime last_;
};

}  // namespace rondo::calibrate
