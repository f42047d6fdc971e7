// SPDX-License-Identifier: Apache-2.0
// PluginAdapter: a NetPlugin over a table of one version. All that differs between versions is here and in
// abi.h.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "plugin/abi.h"
#include "plugin/net_plugin.h"

namespace rondo::plugin {

/// A LogFunction. Lines that a plugin traces are dropped, as there may be some for every message.
inline void log_of_plugin(int level, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
                          const char* format, ...) {
  if (format == nullptr || level >= kTraceLevel) return;
  char line[1024];
  va_list values;
  va_start(values, format);
  const int length = std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (length >= 0) log_plugin_line(level, line);
}

/// A ProfileFunction: plugins call it without a check.
inline int profile_nothing(void** /*event*/, int /*type*/, void* /*parent*/, int64_t /*id*/,
                           void* /*description*/) {
  return 0;
}

template <class Calls>
class PluginAdapter final : public NetPlugin {
 public:
  explicit PluginAdapter(const void* table) : PluginAdapter(*static_cast<const NetTable<Calls>*>(table)) {}

  const char* missing_function() const override;
  Status init() override;
  Status count_devices(int& count) override { return checked("devices", table_.devices(&count)); }
  Status describe(int device, NetDevice& described) override;
  Status listen(int device, void* handle, void*& comm) override;
  Status connect(int device, void* handle, void*& comm) override;
  Status accept(void* listener, void*& comm) override {
    const std::lock_guard lock(setup_);
    void* offload = nullptr;
    return checked("accept", table_.accept(listener, &comm, &offload));
  }
  Status close_listen(void* comm) override {
    const std::lock_guard lock(setup_);
    return checked("closeListen", table_.close_listen(comm));
  }
  Status close_send(void* comm) override {
    const std::lock_guard lock(setup_);
    return checked("closeSend", table_.close_send(comm));
  }
  Status close_receive(void* comm) override {
    const std::lock_guard lock(setup_);
    return checked("closeRecv", table_.close_receive(comm));
  }
  Status register_memory(void* comm, void* data, size_t bytes, void*& region) override {
    const std::lock_guard lock(setup_);
    return checked("regMr", table_.register_memory(comm, data, bytes, kHostMemory, &region));
  }
  Status deregister_memory(void* comm, void* region) override {
    const std::lock_guard lock(setup_);
    return checked("deregMr", table_.deregister_memory(comm, region));
  }
  Status send(void* comm, void* data, size_t bytes, void* region, void*& request) override;
  Status receive(void* comm, void* data, size_t bytes, void* region, void*& request) override;
  Status test(void* request, bool& is_done, int& bytes) override {
    int done = 0;
    const int result = table_.test(request, &done, &bytes);
    is_done = done != 0;
    return checked("test", result);
  }

 private:
  static constexpr int kVersion = Calls::kVersion;
  using Length = typename Calls::Length;

  explicit PluginAdapter(const NetTable<Calls>& table) : NetPlugin(table.name, kVersion), table_(table) {}

  const NetTable<Calls>& table_;
  std::mutex setup_;   // held to open and close: plugins of today dead-lock if others do so at the same time
  CommConfig config_;  // since version 10
  void* context_ = nullptr;  // since version 11
};

template <class Calls>
const char* PluginAdapter<Calls>::missing_function() const {
  const std::pair<const char*, bool> functions[] = {
      {"init", table_.init != nullptr},
      {"devices", table_.devices != nullptr},
      {"getProperties", table_.properties != nullptr},
      {"listen", table_.listen != nullptr},
      {"connect", table_.connect != nullptr},
      {"accept", table_.accept != nullptr},
      {"regMr", table_.register_memory != nullptr},
      {"deregMr", table_.deregister_memory != nullptr},
      {"isend", table_.send != nullptr},
      {"irecv", table_.receive != nullptr},
      {"test", table_.test != nullptr},
      {"closeSend", table_.close_send != nullptr},
      {"closeRecv", table_.close_receive != nullptr},
      {"closeListen", table_.close_listen != nullptr},
  };
  for (const auto& [name, is_there] : functions)
    if (!is_there) return name;
  return nullptr;
}

template <class Calls>
Status PluginAdapter<Calls>::init() {
  if constexpr (kVersion >= 11)
    return checked("init", table_.init(&context_, 0, &config_, log_of_plugin, profile_nothing));
  else if constexpr (kVersion >= 10)
    return checked("init", table_.init(log_of_plugin, profile_nothing));
  else
    return checked("init", table_.init(log_of_plugin));
}

template <class Calls>
Status PluginAdapter<Calls>::describe(int device, NetDevice& described) {
  typename Calls::Properties properties{};
  RONDO_TRY(checked("getProperties", table_.properties(device, &properties)));
  described.number = device;
  described.name = properties.name != nullptr ? properties.name : fmt::format("device {}", device);
  described.memory_kinds = properties.memory_kinds;
  described.speed_mbits = properties.speed;
  described.max_bytes = size_t{1} << 31;
  if constexpr (kVersion >= 9)
    if (properties.max_message_bytes != 0) described.max_bytes = properties.max_message_bytes;
  return {};
}

template <class Calls>
Status PluginAdapter<Calls>::listen(int device, void* handle, void*& comm) {
  const std::lock_guard lock(setup_);
  if constexpr (kVersion >= 11)
    return checked("listen", table_.listen(context_, device, handle, &comm));
  else
    return checked("listen", table_.listen(device, handle, &comm));
}

template <class Calls>
Status PluginAdapter<Calls>::connect(int device, void* handle, void*& comm) {
  const std::lock_guard lock(setup_);
  void* offload = nullptr;  // none is wanted
  if constexpr (kVersion >= 11)
    return checked("connect", table_.connect(context_, device, handle, &comm, &offload));
  else if constexpr (kVersion >= 10)
    return checked("connect", table_.connect(device, &config_, handle, &comm, &offload));
  else
    return checked("connect", table_.connect(device, handle, &comm, &offload));
}

template <class Calls>
Status PluginAdapter<Calls>::send(void* comm, void* data, size_t bytes, void* region, void*& request) {
  const auto length = static_cast<Length>(bytes);
  if constexpr (kVersion >= 10)
    return checked("isend", table_.send(comm, data, length, kNoTag, region, nullptr, &request));
  else
    return checked("isend", table_.send(comm, data, length, kNoTag, region, &request));
}

template <class Calls>
Status PluginAdapter<Calls>::receive(void* comm, void* data, size_t bytes, void* region, void*& request) {
  auto length = static_cast<Length>(bytes);
  int tag = kNoTag;
  void* event = nullptr;
  if constexpr (kVersion >= 10)
    return checked("irecv", table_.receive(comm, 1, &data, &length, &tag, &region, &event, &request));
  else
    return checked("irecv", table_.receive(comm, 1, &data, &length, &tag, &region, &request));
}

}  // namespace rondo::plugin
