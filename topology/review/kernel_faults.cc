// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <sstream>

#include "base/file_contents.h"
#include "host_parts.h"

namespace rondo {
namespace {

/// Drivers with a governor of this name keep the lowest frequency; those that choose it themselves do not.
void find_governor(HostParts& host, Faults& faults) {
  constexpr const char* kPolicy = "devices/system/cpu/cpu0/cpufreq/";
  const auto line = [&](const char* file) { return host.sys->line(std::string(kPolicy) + file); };
  if (!host.sys || line("scaling_governor") != "powersave") return;
  if (const std::string driver = line("scaling_driver");
      driver.starts_with("intel_pstate") || driver.starts_with("amd-pstate-epp"))
    return;
  double lowest_khz = 0, highest_khz = 0;
  std::istringstream(line("scaling_min_freq")) >> lowest_khz;
  std::istringstream(line("cpuinfo_max_freq")) >> highest_khz;
  if (lowest_khz <= 0 || lowest_khz >= highest_khz) return;
  faults.push_back({fmt::format("the governor powersave keeps the CPUs at {:.1f} of {:.1f} GHz",
                                lowest_khz * 1e-6, highest_khz * 1e-6),
                    "cpupower frequency-set -g performance",
                    {}});
}

/// What TCP may have on its way on a connection is the third number of these files.
void find_tcp_window(const std::string& root, const char* file, const char* usual, Faults& faults) {
  constexpr double kLittle = 1 << 20;
  double least = 0, first = 0, most = 0;
  std::istringstream(file_contents(root + "/proc/sys/net/ipv4/" + file)) >> least >> first >> most;
  if (most <= 0 || most >= kLittle) return;
  faults.push_back(
      {fmt::format("net.ipv4.{} lets a TCP connection have {:.0f} KiB on its way: no more than {:.2f} GB/s "
                   "where a round trip takes a millisecond",
                   file, most / 1024, most * 1e-6),
       fmt::format("sysctl -w net.ipv4.{}='{}'", file, usual),
       {}});
}

}  // namespace

void find_kernel_faults(HostParts& host, Faults& faults) {
  find_governor(host, faults);
  find_tcp_window(host.root, "tcp_rmem", "4096 131072 6291456", faults);
  find_tcp_window(host.root, "tcp_wmem", "4096 16384 4194304", faults);
}

}  // namespace rondo
