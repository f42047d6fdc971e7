#include "comm/complaints.h"

#include "base/log.h"

namespace rondo {
namespace {

constexpr int64_t kQuiet_ms = 60'000;
constexpr size_t kMostKinds = 64;  // strangers choose some of the words

}  // namespace

Complaints::~Complaints() {
  for (const auto& [name, kind] : kinds_) {
    poller_.cancel(kind.timer);
    log_count(kind);
  }
}

void Complaints::warn(const std::string& kind, const std::string& text) {
  const bool told = kinds_.contains(kind);
  if (!told && kinds_.size() >= kMostKinds && kind != "others") return warn("others", text);
  Kind& entry = kinds_[kind];
  entry.text = text;
  if (told) {
    ++entry.unlogged;
    return;
  }
  log().warn("{}", text);
  entry.timer = poller_.after_ms(kQuiet_ms, [this, kind] { summarize(kind); });
}

void Complaints::summarize(const std::string& kind) {
  Kind& entry = kinds_[kind];
  if (entry.unlogged == 0) {
    kinds_.erase(kind);
    return;
  }
  log_count(entry);
  entry.unlogged = 0;
  entry.timer = poller_.after_ms(kQuiet_ms, [this, kind] { summarize(kind); });
}

void Complaints::log_count(const Kind& kind) {
  if (kind.unlogged != 0) log().warn("{} more like this within a minute: {}", kind.unlogged, kind.text);
}

}  // namespace rondo
