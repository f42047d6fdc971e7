// SPDX-License-Identifier: Apache-2.0
// Executor: one way to carry out a communicator's calls, as a row of a table like an Algorithm: its name, the
// calls and algorithms that it supports, what they cost, and how it makes a Plan. A communicator lists its
// executors in order of preference.
// Plan: everything that an executor computes once for calls that differ only in their buffers. Such a call
// only binds its buffers to the plan.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.h"
#include "base/time_text.h"
#include "call/call.h"

namespace rondo {

class Task;

/// What differs between the calls of a Plan.
struct CallBuffers {
  const void* send = nullptr;
  void* recv = nullptr;
  CallPlace place = {};
};

class Plan {
 public:
  /// `name`: the algorithm's, or the executor's if it uses its own plans; static. `hash`: see Signature.
  Plan(const char* name, uint64_t hash, const Call& call, int rank, int nranks)
      : name_(name),
        signature_(call.signature()),
        recorded_(signature_),
        rule_(buffer_rule(call, rank, nranks)) {
    recorded_.count = call.own_elements();
    set_hash(hash);
  }
  virtual ~Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// Prepares a call, numbered as in the signature, to run. The task is valid until the communicator starts
  /// its next call. Null on failure: see failure().
  virtual Task* start(const CallBuffers& buffers) = 0;
  const Status& failure() const { return failure_; }

  const char* name() const { return name_; }
  /// The signature of the call numbered last.
  const Signature& signature() const { return signature_; }
  /// The same for the flight recorder: that of a _v form has this rank's own number of elements.
  const Signature& recorded() const { return recorded_; }
  void number(uint32_t sequence) { signature_.sequence = recorded_.sequence = sequence; }
  void set_hash(uint64_t hash) { signature_.plan = recorded_.plan = hash; }
  /// Says that it cannot serve calls in place; its rule then allows none.
  void forbid_in_place() {
    rule_.in_place.reset();
    is_apart_ = true;
  }
  /// Whether it serves calls with these buffers, which are allowed to other plans.
  bool serves(const void* send, const void* recv) const { return !is_apart_ || rule_.allow(send, recv); }
  const BufferRule& rule() const { return rule_; }

 protected:
  Task* fail(Status cause) {
    failure_ = std::move(cause);
    return nullptr;
  }

 private:
  const char* name_;
  Signature signature_;
  Signature recorded_;
  BufferRule rule_;
  bool is_apart_ = false;  // needs buffers that do not overlap
  Status failure_;
};

/// An executor's prediction for a call by one algorithm.
struct Prediction {
  double us = std::numeric_limits<double>::infinity();  // infinite: the executor cannot carry it out
  std::string_view obstacle;    // static; why it is not chosen unless requested; empty: no obstacle
  bool is_last_resort = false;  // chosen only if nothing else can make the call, unless requested
  bool is_outdone = false;  // by a later executor: chosen only if that cannot make the call, unless requested
  size_t chunk_bytes = 0;   // the longest chunk; 0: the call is not divided
};

struct Executor {
  const char* name = "";
  bool on_gpu = false;  // takes calls on GPU memory, and none on host memory
  std::string terms;    // what its predictions are based on, for human readers
  /// Why it does not take a call, a static string; empty: it does.
  std::function<std::string_view(const Call& call, const Shape& shape)> obstacle;
  /// The time of a call by an algorithm. Null: the executor uses its own plans, not the table's algorithms.
  std::function<Prediction(const Algorithm& algorithm, const Call& call, const Shape& shape)> predict;
  /// What the time that predict() returns consists of, for human readers; null: it is not told.
  std::function<std::vector<TimePart>(const Algorithm& algorithm, const Call& call, const Shape& shape)>
      parts;
  /// The time of a call by its own plan, us; null: not known.
  std::function<double(const Call& call)> predict_own;
  /// Algorithms that are candidates besides the table's; null: none.
  std::function<std::vector<const Algorithm*>(const Call& call, const Shape& shape)> found;
  /// Whether it is chosen by the predicted time, among the executors of which that holds. Otherwise the first
  /// in the list that can make a call, and is not outdone, does.
  bool competes = false;
  /// `algorithm`: null if the executor uses its own plans. Unsupported, at all ranks alike, if it cannot make
  /// the call after all.
  std::function<Result<std::unique_ptr<Plan>>(const Call& call, const Algorithm* algorithm)> prepare;
};

/// The names of all executors, in the order in which they are preferred.
inline constexpr std::string_view kExecutorNames[] = {"shm_pull", "connections", "gpu_direct", "gpu_staged",
                                                      "gpu_connections"};

}  // namespace rondo
