// SPDX-License-Identifier: Apache-2.0
#include "failure.h"

#include <utility>

namespace rondo::perf {
namespace {

thread_local std::string kept;

}  // namespace

rondo_status_t noted(const Status& status) {
  if (!status.ok()) kept = status.message();
  return static_cast<rondo_status_t>(status.code());
}

void note_failure(std::string sentence) { kept = std::move(sentence); }

std::string take_failure() {
  std::string sentence = std::exchange(kept, {});
  return sentence.empty() ? rondo_last_error(nullptr) : sentence;
}

}  // namespace rondo::perf
