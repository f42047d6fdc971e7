// SPDX-License-Identifier: Apache-2.0
// PluginSlots: one direction of a connection: a comm of the plugin, and memory for slots, each with a
// SlotHeader in front, that is registered with it. Single owner; used by the connection's thread.
#pragma once

#include <memory>

#include "plugin/terms.h"

namespace rondo::plugin {

class PluginSlots {
 public:
  enum class CommUse { Send, Receive };
  /// Takes over the comm, and closes it even if this fails.
  static Result<std::unique_ptr<PluginSlots>> make(const PluginTerms& terms, CommUse use, void* comm);
  /// Ends everything; requests may be outstanding.
  ~PluginSlots();
  PluginSlots(const PluginSlots&) = delete;
  PluginSlots& operator=(const PluginSlots&) = delete;

  const PluginTerms& terms() const { return terms_; }
  /// The header of a message's slot; its bytes follow.
  SlotHeader* slot(uint64_t message) const {
    return reinterpret_cast<SlotHeader*>(memory_ + layout_.offset(message));
  }
  size_t max_message_bytes() const { return sizeof(SlotHeader) + layout_.slot_bytes; }

  // The outgoing direction, the incoming one, and either. A null request: again later.
  Status send(uint64_t message, size_t bytes, void*& request) {
    return terms_.net().send(comm_, slot(message), bytes, region_, request);
  }
  Status receive(uint64_t message, void*& request) {
    return terms_.net().receive(comm_, slot(message), max_message_bytes(), region_, request);
  }
  Status test(void* request, bool& is_done, int& bytes) { return terms_.net().test(request, is_done, bytes); }

 private:
  PluginSlots(const PluginTerms& terms, CommUse use, void* comm)
      : terms_(terms), layout_(terms.layout()), use_(use), comm_(comm) {}
  Status prepare();
  Status close();

  const PluginTerms terms_;
  const SlotLayout layout_;
  const CommUse use_;
  void* const comm_;
  std::byte* memory_ = nullptr;
  void* region_ = nullptr;  // some plugins' regions are null
  bool is_registered_ = false;
};

}  // namespace rondo::plugin
