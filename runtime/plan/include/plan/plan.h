// SPDX-License-Identifier: Apache-2.0
// Plan: what an executor computes once for calls that differ only in their buffers. Such a call only binds
// its buffers to the plan. (gpu_direct and gpu_staged compute nothing in advance.)
#pragma once

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
      : name_(name), signature_(call.signature()), rule_(buffer_rule(call, rank, nranks)) {
    signature_.plan = hash;
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
  void number(uint32_t sequence) { signature_.sequence = sequence; }
  void set_hash(uint64_t hash) { signature_.plan = hash; }
  const BufferRule& rule() const { return rule_; }

 protected:
  Task* fail(Status cause) {
    failure_ = std::move(cause);
    return nullptr;
  }

 private:
  const char* name_;
  Signature signature_;
  BufferRule rule_;
  Status failure_;
};

}  // namespace rondo
