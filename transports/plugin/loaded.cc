// SPDX-License-Identifier: Apache-2.0
#include "plugin/loaded.h"

#include <dlfcn.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "base/error_kinds.h"
#include "base/log.h"
#include "base/settings.h"
#include "plugin/abi.h"

namespace rondo::plugin {
namespace {

using LoadedResult = Result<std::shared_ptr<const LoadedPlugin>>;

/// A forked child leaves its parent's alone, lock included, and makes its own.
struct PluginRegistry {
  const pid_t owner = ::getpid();
  std::mutex mutex;
  std::map<std::string, LoadedResult> by_file;
};

PluginRegistry& plugin_registry() {
  static std::atomic<PluginRegistry*> current = nullptr;
  PluginRegistry* found = current.load(std::memory_order_acquire);
  if (found != nullptr && found->owner == ::getpid()) return *found;
  auto made = std::make_unique<PluginRegistry>();
  // Pairs with the acquire loads: the registry is complete.
  if (current.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *found;
}

std::string symbol_of(int version) { return fmt::format("ncclNetPlugin_v{}", version); }

/// Why a library that has no table of a version that Rondo knows is no use.
Status no_table(void* library) {
  const std::string known =
      fmt::format("versions {} to {} of NCCL's interface are supported", kOldestVersion, kNewestVersion);
  for (int version = kOldestVersion - 1; version > 0; --version)
    if (::dlsym(library, symbol_of(version).c_str()) != nullptr)
      return error(ErrorKind::PluginOld, "its newest table is {}; {}", symbol_of(version), known);
  return error(ErrorKind::NoPluginTable, "it has no ncclNetPlugin_vN; {}", known);
}

Result<std::unique_ptr<NetPlugin>> open_plugin(const std::string& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return error(ErrorKind::PluginNotLoaded, "{}", why != nullptr ? why : "dlopen() failed");
  }
  for (int version = kNewestVersion; version >= kOldestVersion; --version) {
    const void* const table = ::dlsym(library, symbol_of(version).c_str());
    if (table == nullptr) continue;
    auto net = adapted(version, table);
    if (const char* const missing = net->missing_function())
      return error(ErrorKind::PluginIncomplete, "its {} has no function {}", symbol_of(version), missing);
    return net;
  }
  return no_table(library);
}

/// The fastest of those that take host memory: rails of one kind, as a rule.
Result<std::vector<NetDevice>> usable_devices(NetPlugin& net) {
  int count = 0;
  RONDO_TRY(net.count_devices(count));
  if (count <= 0) return error(ErrorKind::PluginWithoutDevice, "it has no device");
  std::vector<NetDevice> devices(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) RONDO_TRY(net.describe(i, devices[static_cast<size_t>(i)]));
  std::erase_if(devices, [](const NetDevice& one) { return (one.memory_kinds & kHostMemory) == 0; });
  if (devices.empty())
    return error(ErrorKind::PluginWithoutDevice, "none of its {} devices takes host memory", count);
  const auto slower = [](const NetDevice& a, const NetDevice& b) { return a.speed_mbits < b.speed_mbits; };
  const int fastest = std::max_element(devices.begin(), devices.end(), slower)->speed_mbits;
  std::erase_if(devices, [&](const NetDevice& one) { return one.speed_mbits != fastest; });
  return devices;
}

LoadedResult load(const std::string& file) {
  auto loaded = std::make_shared<LoadedPlugin>();
  RONDO_TRY_ASSIGN(loaded->net, open_plugin(file));
  RONDO_TRY(loaded->net->init());
  RONDO_TRY_ASSIGN(loaded->devices, usable_devices(*loaded->net));
  std::string names;
  for (const NetDevice& one : loaded->devices) names += (names.empty() ? "" : ", ") + one.name;
  log().info("the network plugin {} is loaded: {}, version {}, {} Mbit/s: {}", file, loaded->net->name(),
             loaded->net->version(), loaded->devices[0].speed_mbits, names);
  return std::shared_ptr<const LoadedPlugin>(std::move(loaded));
}

}  // namespace

std::string wanted_file() {
  auto wanted = setting(Setting::NetPlugin);
  if (!wanted) wanted = setting(Setting::NcclNetPlugin);
  if (!wanted || ::strcasecmp(wanted->c_str(), "none") == 0) return {};
  const bool is_file = wanted->find('/') != std::string::npos || wanted->find(".so") != std::string::npos;
  return is_file ? *wanted : fmt::format("libnccl-net-{}.so", *wanted);
}

LoadedResult loaded_plugin(const std::string& file) {
  PluginRegistry& shared = plugin_registry();
  const std::lock_guard lock(shared.mutex);
  const auto found = shared.by_file.find(file);
  if (found != shared.by_file.end()) return found->second;
  LoadedResult loaded = load(file);
  if (!loaded.ok())
    loaded = error(ErrorKind::PluginNotLoaded, "the network plugin {} cannot be used: {}", file,
                   loaded.status().message())
                 .because(loaded.status().kind());
  return shared.by_file.emplace(file, std::move(loaded)).first->second;
}

}  // namespace rondo::plugin
