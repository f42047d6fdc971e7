// SPDX-License-Identifier: Apache-2.0
#include "calibration.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "base/file_contents.h"
#include "base/saved_costs.h"
#include "base/settings.h"
#include "calibrate/cost_fit.h"
#include "calibrate/measure.h"
#include "program.h"

namespace rondo::topo {
namespace {

/// Also makes the folder, so that what cannot be saved is not measured first.
std::string writable_path() {
  const auto path = saved_costs_path();
  if (!path.ok()) tool::fail(path.status().message());
  std::error_code failure;
  const auto folder = std::filesystem::path(path.value()).parent_path();
  const mode_t before = ::umask(077);  // as the XDG Base Directory Specification wants it
  if (!folder.empty()) std::filesystem::create_directories(folder, failure);
  ::umask(before);
  if (failure) tool::fail(fmt::format("cannot make the folder {}: {}", folder.string(), failure.message()));
  return path.value();
}

/// What users have set for their jobs is not to change what is measured.
void forget_settings() {
  for (const SettingInfo& setting : all_settings())
    if (setting.variable.starts_with("RONDO_") && setting.variable != "RONDO_LOG")
      ::unsetenv(setting.variable.data());
  ::setenv("RONDO_CALIBRATION", "0", 1);
}

}  // namespace

void calibrate_host(int seconds) {
  const std::string path = writable_path();
  forget_settings();
  fmt::print("{}: measuring for {} s ...\n", processor_text(), seconds);
  std::fflush(stdout);
  const auto measured = calibrate::measure(seconds);
  if (!measured.ok()) tool::fail(measured.status().message());
  const auto& cells = measured.value();
  const CostTable fitted = calibrate::fitted(CostTable(), cells);
  const std::string date = fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr)));
  if (const Status saved = replace_file(path, saved_costs_text(host_costs(fitted), date)); !saved.ok())
    tool::fail(saved.message());
  fmt::print("{}\nsaved: {}\n", calibrate::comparison(fitted, cells), path);
}

}  // namespace rondo::topo
