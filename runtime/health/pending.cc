// SPDX-License-Identifier: Apache-2.0
#include "health/pending.h"

#include <fmt/core.h>

#include <algorithm>

namespace rondo {
namespace {

std::string text_of(const char* verb, const char* direction, const MessageNote& note) {
  const std::string peer = note.peer == kAny ? "any source" : fmt::format("{}", note.peer);
  const std::string tag = note.tag == kAny ? "any tag" : fmt::format("tag {}", note.tag);
  return fmt::format("{}({} {}, {})", verb, direction, peer, tag);
}

bool is_other_end(const MessageNote& mine, int self, const MessageNote& theirs) {
  return (theirs.peer == self || theirs.peer == kAny) &&
         (theirs.tag == mine.tag || theirs.tag == kAny || mine.tag == kAny);
}

}  // namespace

bool PendingMessages::is_first_met_by(int self, const PendingMessages& others) const {
  const bool receives_first = receives.count != 0;
  const MessageNote& mine = receives_first ? receives.kept[0] : sends.kept[0];
  const MessageNotes& theirs = receives_first ? others.sends : others.receives;
  const auto end = theirs.kept.begin() + std::min<ptrdiff_t>(theirs.count, MessageNotes::kMaxKept);
  return std::any_of(theirs.kept.begin(), end,
                     [&](const MessageNote& note) { return is_other_end(mine, self, note); });
}

std::string describe(const PendingMessages& messages) {
  if (messages.none()) return "a send or receive";
  const std::string first = messages.receives.count != 0 ? text_of("recv", "from", messages.receives.kept[0])
                                                         : text_of("send", "to", messages.sends.kept[0]);
  const uint32_t others = messages.receives.count + messages.sends.count - 1;
  return others == 0 ? first : fmt::format("{} and {} more", first, others);
}

std::string describe_unexpected(const PendingMessages& messages) {
  const MessageNotes& unexpected = messages.unexpected;
  if (unexpected.count == 0) return {};
  const auto [peer, tag] = unexpected.kept[0];
  const std::string others = unexpected.count == 1 ? "" : fmt::format(", nor {} more", unexpected.count - 1);
  return fmt::format("; a message with tag {} from rank {} has arrived, but no receive matches it{}", tag,
                     peer, others);
}

}  // namespace rondo
