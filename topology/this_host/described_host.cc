// SPDX-License-Identifier: Apache-2.0
#include "this_host/described_host.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/per_process.h"
#include "base/settings.h"
#include "base/words.h"
#include "detect/complete_template.h"
#include "formats/host_kind.h"
#include "formats/machine_file.h"
#include "graph/missing_parts.h"

namespace rondo {
namespace {

/// A template is completed if it is one of this host.
Result<Machine> read_machine(const char* path) {
  RONDO_TRY_ASSIGN(Machine machine, machine_from_file(path));
  if (missing_parts(machine).empty()) return machine;
  if (const auto host = detect_machine({}); host.ok()) complete_template(machine, host.value());
  return machine;
}

/// The variable that names a description of this host, if one does.
std::optional<Setting> variable_of_this_host() {
  for (const Setting which : {Setting::TopoFile, Setting::NcclTopoFile})
    if (setting(which)) return which;
  return std::nullopt;
}

/// Says what the machine lacks.
Machine with_missing_parts(Machine machine, const char* missing) {
  for (const std::string& part : missing_parts(machine))
    machine.repairs.push_back(fmt::format("{}{} {}", machine.source, missing, part));
  return machine;
}

struct HostHashes {
  std::mutex mutex;
  std::map<std::string, uint64_t> by_file;
};

}  // namespace

Result<Machine> described_machine(const char* path) {
  RONDO_TRY_ASSIGN(Machine machine, read_machine(path));
  return with_missing_parts(std::move(machine), ": a template, which has");
}

Result<Machine> described_host(const DetectOptions& options) {
  const auto variable = variable_of_this_host();
  if (!variable) {
    RONDO_TRY_ASSIGN(Machine machine, detect_machine(options));
    return with_missing_parts(std::move(machine), " has");
  }
  auto machine = described_machine(setting(*variable)->c_str());
  if (!machine.ok()) return machine.status().within(std::string(setting_info(*variable).variable));
  return machine;
}

uint64_t hash_of_this_host() {
  auto& known = per_process<HostHashes>();
  const auto variable = variable_of_this_host();
  const std::lock_guard lock(known.mutex);
  const auto [hash, is_new] = known.by_file.try_emplace(variable ? setting(*variable).value_or("") : "");
  if (!is_new) return hash->second;
  DetectOptions options;
  options.visible_devices.reset();
  if (auto machine = described_host(options); machine.ok())
    hash->second = hash_text(host_kind_text(machine.take()));
  return hash->second;
}

}  // namespace rondo
