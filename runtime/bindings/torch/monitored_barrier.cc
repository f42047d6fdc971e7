// SPDX-License-Identifier: Apache-2.0
// A barrier that names the missing ranks. It uses only torch's store, so it works even when the group's own
// calls hang, which is when it is needed.
#include <set>
#include <sstream>
#include <thread>

#include "backend.h"
#include "failures.h"

namespace rondo::torch_binding {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLookEvery{2};
constexpr const char* kPassed = "passed";

bool has(c10d::Store& store, const std::string& key) { return store.check({key}); }

/// Checks at least once, even after the deadline.
bool wait_for(c10d::Store& store, const std::string& key, HostExecutor::Clock::time_point deadline) {
  while (!has(store, key)) {
    if (HostExecutor::Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLookEvery);
  }
  return true;
}

void set_text(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

std::string text_of(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

/// "Rank 3 failed" or "Ranks 1, 3 failed", as torch's own barrier words it.
std::string missing_text(const std::vector<int>& missing, milliseconds timeout) {
  std::ostringstream text;
  text << (missing.size() == 1 ? "Rank " : "Ranks ");
  for (size_t i = 0; i < missing.size(); ++i) text << (i == 0 ? "" : ", ") << missing[i];
  text << " failed to pass monitoredBarrier in " << timeout.count() << " ms";
  return text.str();
}

[[noreturn]] void fail(const std::string& text) { C10_THROW_ERROR(DistBackendError, text); }

/// Rank 0 checks for the others in rank order.
void look_for_all(c10d::Store& store, const std::string& name, int size, milliseconds timeout,
                  bool wait_for_all) {
  const auto deadline = HostExecutor::Clock::now() + timeout;
  std::vector<int> missing;
  for (int rank = 1; rank < size; ++rank) {
    if (missing.empty() && timeout <= milliseconds(0))
      fail("Rank 0 timed out in monitoredBarrier after " + std::to_string(timeout.count()) + " ms.");
    if (wait_for(store, name + std::to_string(rank), deadline)) continue;
    missing.push_back(rank);
    if (!wait_for_all) break;
  }
  const std::string failed = missing.empty() ? "" : missing_text(missing, timeout);
  set_text(store, name + "outcome", missing.empty() ? kPassed : failed);
  if (!missing.empty()) fail(failed);
}

void look_for_outcome(c10d::Store& store, const std::string& name, int rank, milliseconds timeout) {
  set_text(store, name + std::to_string(rank), "here");
  const bool known = wait_for(store, name + "outcome", HostExecutor::Clock::now() + timeout);
  const std::string outcome =
      known ? text_of(store, name + "outcome") : "rank 0 did not say within the timeout";
  if (outcome == kPassed) return;
  fail("Rank " + std::to_string(rank) +
       " successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. "
       "Please "
       "check rank 0 logs for faulty rank. Cause: " +
       outcome);
}

}  // namespace

void RondoBackend::monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_for_all) {
  const milliseconds timeout = opts.timeout == c10d::kUnsetTimeout ? options_->timeout : opts.timeout;
  const std::string name = "rondo/monitored_barrier/" + std::to_string(++monitored_barriers_) + "/";
  if (getRank() == 0)
    look_for_all(*store_, name, getSize(), timeout, wait_for_all);
  else
    look_for_outcome(*store_, name, getRank(), timeout);
}

}  // namespace rondo::torch_binding
