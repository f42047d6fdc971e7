// SPDX-License-Identifier: Apache-2.0
#include "rate_limited_warnings.h"

#include "base/log.h"

namespace rondo {
namespace {

constexpr int64_t kQuiet_ms = 60'000;
constexpr size_t kMaxKinds = 64;  // strangers choose part of the text

}  // namespace

RateLimitedWarnings::~RateLimitedWarnings() {
  for (const auto& [name, kind] : kinds_) {
    event_loop_.cancel(kind.timer);
    log_count(kind);
  }
}

void RateLimitedWarnings::warn(const std::string& kind, const std::string& text) {
  const bool told = kinds_.contains(kind);
  if (!told && kinds_.size() >= kMaxKinds && kind != "others") return warn("others", text);
  Complaint& entry = kinds_[kind];
  entry.text = text;
  if (told) {
    ++entry.unlogged;
    return;
  }
  log().warn("{}", text);
  entry.timer = event_loop_.after_ms(kQuiet_ms, [this, kind] { summarize(kind); });
}

void RateLimitedWarnings::summarize(const std::string& kind) {
  Complaint& entry = kinds_[kind];
  if (entry.unlogged == 0) {
    kinds_.erase(kind);
    return;
  }
  log_count(entry);
  entry.unlogged = 0;
  entry.timer = event_loop_.after_ms(kQuiet_ms, [this, kind] { summarize(kind); });
}

void RateLimitedWarnings::log_count(const Complaint& kind) {
  if (kind.unlogged != 0) log().warn("{} more like this within a minute: {}", kind.unlogged, kind.text);
}

}  // namespace rondo
