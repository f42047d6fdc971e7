// SPDX-License-Identifier: Apache-2.0
#include "common/giving_up.h"

#include <algorithm>

#include "base/error_kinds.h"

namespace rondo {

WireText wire_text(const std::string& text) {
  WireText wire{};
  std::transform(text.begin(), text.begin() + static_cast<ptrdiff_t>(std::min(text.size(), wire.size() - 1)),
                 wire.begin(), [](char c) { return c < ' ' || c > '~' ? '?' : c; });
  return wire;
}

WireText wire_text(const Status& reason) {
  constexpr size_t kMaxSentence = sizeof(WireText) - sizeof " [R0000]";
  const std::string& sentence = reason.message();
  return wire_text(sentence.size() <= kMaxSentence
                       ? reason.text()
                       : fmt::format("{} [{}]", sentence.substr(0, kMaxSentence), reason.id()));
}

Status reason_of(const WireText& text) { return Status::of_text(Code::Unsupported, text.data()); }

Status nonsense(const char* field, uint64_t value) {
  return error(ErrorKind::MessageBroken, "the peer's handshake has {} in the field {}", value, field);
}

/// Reasons are printable, so that a log line stays a line, and end in time.
Status check_giving_up(uint32_t gives_up, const WireText& reason) {
  if (gives_up > kFails) return nonsense("gives_up", gives_up);
  const auto end = std::find(reason.begin(), reason.end(), '\0');
  if (end == reason.end()) return nonsense("reason", static_cast<uint8_t>(reason.back()));
  for (auto at = reason.begin(); at != end; ++at)
    if (*at < ' ' || *at > '~') return nonsense("reason", static_cast<uint8_t>(*at));
  return {};
}

}  // namespace rondo
