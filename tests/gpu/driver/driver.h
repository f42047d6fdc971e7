// SPDX-License-Identifier: Apache-2.0
// Driver: the state of the stand-in driver, one per process, and how its calls begin.
//
// May be called on any thread. A call holds Driver::mutex except while it waits for work. The Driver is never
// destroyed: threads of streams outlive main().
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "allocation.h"
#include "context.h"
#include "settings.h"

namespace rondo::standin {

struct Capture;

/// Objects behind handles, until the user destroys them.
template <class T>
class Handles {
 public:
  T* add(std::shared_ptr<T> object) {
    T* handle = object.get();
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<T> find(T* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  bool remove(T* handle) { return objects_.erase(handle) != 0; }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
  }

 private:
  std::unordered_map<T*, std::shared_ptr<T>> objects_;
};

struct Driver {
  const Settings settings = settings_from_environment();
  std::atomic<bool> initialized = false;
  std::atomic<bool> ended = false;    // the process is in exit()
  std::atomic<bool> foreign = false;  // a forked child, in which nothing works

  std::mutex mutex;  // guards the following members
  std::vector<std::unique_ptr<Device>> devices;
  Handles<CUstream_st> streams;
  Handles<CUevent_st> events;
  Handles<CUgraph_st> graphs;
  Handles<CUgraphExec_st> execs;
  Handles<CUuserObject_st> user_objects;
  Handles<CUlib_st> libraries;
  Handles<CUkern_st> kernels;
  Handles<CUfunc_st> functions;
  Handles<CUlinkState_st> links;
  Allocations allocations;
  std::vector<std::shared_ptr<Capture>> captures;  // in progress
  uint64_t last_id = 0;

  uint64_t next_id() { return ++last_id; }
};

Driver& driver();

using Lock = std::unique_lock<std::mutex>;

/// Whether a call may proceed: the driver is initialized and no fault was requested.
CUresult admit(const char* function);
/// The same for calls allowed before cuInit().
CUresult admit_early(const char* function);

/// The requested error, if this is the call that has to fail.
CUresult asked_fault(const char* function);

/// True in a host function of a stream, which must not call the driver.
bool& in_host_function();

template <class Body>
CUresult call(const char* function, Body body) {
  if (const CUresult refused = admit(function); refused != CUDA_SUCCESS) return refused;
  Lock lock(driver().mutex);
  return body(lock);
}

}  // namespace rondo::standin

/// Returns from the enclosing function with the CUresult of `expression` unless that is success.
#define STANDIN_TRY(expression)                                                                     \
  do {                                                                                              \
    if (const CUresult standin_try = (expression); standin_try != CUDA_SUCCESS) return standin_try; \
  } while (false)

#define STANDIN_REQUIRE(condition, otherwise) \
  do {                                        \
    if (!(condition)) return (otherwise);     \
  } while (false)
