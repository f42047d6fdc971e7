// SPDX-License-Identifier: Apache-2.0
#include "verbs/fabrics.h"

#include <filesystem>
#include <mutex>

#include "base/log.h"
#include "base/settings.h"
#include "verbs/slot_memory.h"

namespace rondo::verbs {
namespace {

/// Where libibverbs looks, too.
bool has_device() {
  const std::string folder = setting(Setting::SysfsPath).value_or("/sys") + "/class/infiniband";
  std::error_code failure;
  return std::filesystem::directory_iterator(folder, failure) != std::filesystem::directory_iterator();
}

Result<uint64_t> fabrics_of_ports(const VerbsSettings& settings, const SlotLayout& layout) {
  RONDO_TRY_ASSIGN(const auto devices, Devices::open());
  RONDO_TRY_ASSIGN(const auto ports, devices->ports(settings));
  RONDO_TRY_ASSIGN(const auto device, devices->named(ports.front().device));
  RONDO_TRY_ASSIGN(const auto domain, device->domain(0, settings.max_pinned));
  RONDO_TRY_ASSIGN(const auto pages, SlotPages::make(layout));
  RONDO_TRY_ASSIGN(const auto outgoing, SlotMemory::make(domain, pages, SlotMemory::WrittenBy::Owner));
  RONDO_TRY(SlotMemory::make(domain, pages, SlotMemory::WrittenBy::Peer).status());
  return fabrics_of(ports);
}

}  // namespace

Result<uint64_t> find_fabrics(const VerbsSettings& settings, const SlotLayout& layout) {
  if (settings.disabled || !has_device()) return uint64_t{0};
  auto found = fabrics_of_ports(settings, layout);
  if (found.ok() || found.status().code() == Code::InvalidArgument) return found;
  static std::once_flag told;
  std::call_once(told, [&] {
    log().warn("InfiniBand and RoCE are not used: {}; RONDO_IB_PORTS=none silences this",
               found.status().message());
  });
  return uint64_t{0};
}

}  // namespace rondo::verbs
