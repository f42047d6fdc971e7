// SPDX-License-Identifier: Apache-2.0
// Executor: one way to carry out a communicator's calls, as a row of a table like an Algorithm: its name, the
// calls and algorithms that it supports, what they cost, and how it makes a Plan. A communicator lists its
// executors in order of preference.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "algorithms/algorithm.h"
#include "plan/plan.h"

namespace rondo {

/// An executor's prediction for a call by one algorithm.
struct Prediction {
  double us = std::numeric_limits<double>::infinity();  // infinite: the executor cannot carry it out
  std::string_view obstacle;  // static; why it is not chosen unless requested; empty: no obstacle
  size_t chunk_bytes = 0;     // the longest chunk; 0: the call is not divided
};

struct Executor {
  const char* name = "";
  bool on_gpu = false;  // takes calls on GPU memory, and none on host memory
  std::string terms;    // what its predictions are based on, for human readers
  /// Why it does not take a call, a static string; empty: it does.
  std::function<std::string_view(const Call& call, const Shape& shape)> obstacle;
  /// The time of a call by an algorithm. Null: the executor uses its own plans, not the table's algorithms.
  std::function<Prediction(const Algorithm& algorithm, const Call& call, const Shape& shape)> predict;
  /// `algorithm`: null if the executor uses its own plans. Unsupported, at all ranks alike, if it cannot make
  /// the call after all.
  std::function<Result<std::unique_ptr<Plan>>(const Call& call, const Algorithm* algorithm)> prepare;
};

/// The names of all executors.
inline constexpr std::string_view kExecutorNames[] = {"shm_pull", "connections", "gpu_direct", "gpu_staged",
                                                      "gpu_connections"};

}  // namespace rondo
