#include "comm/greetings.h"

#include <algorithm>

namespace rondo {
namespace {

constexpr size_t kMost = 1024;

}  // namespace

bool Greetings::add(Fd fd, const Address& from) {
  if (waiting_.size() >= kMost) return false;
  waiting_.push_back(std::make_unique<Greeting>(poller_, std::move(fd), from, desk_));
  waiting_.back()->on_ready();  // the first bytes of a rank come with its connection
  return true;
}

void Greetings::erase(const Greeting* greeting) {
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& one) { return one.get() == greeting; });
  if (found == waiting_.end()) return;
  // It says so from its own handler, so it is freed a moment later.
  poller_.post([last = std::shared_ptr<Greeting>(std::move(*found))] {});
  waiting_.erase(found);
}

}  // namespace rondo
