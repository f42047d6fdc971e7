// SPDX-License-Identifier: Apache-2.0
#include "base/error_kinds.h"
#include "bootstrap/rendezvous.h"

#include "base/settings.h"

namespace rondo {
namespace {

struct Dialect {
  Setting rank;
  Setting size;
  Setting local_rank;
  std::optional<Setting> local_size;
};

constexpr Dialect kDialects[] = {
    {Setting::Rank, Setting::WorldSize, Setting::LocalRank, Setting::LocalWorldSize},
    {Setting::OmpiRank, Setting::OmpiSize, Setting::OmpiLocalRank, Setting::OmpiLocalSize},
    {Setting::PmiRank, Setting::PmiSize, Setting::MpiLocalRank, Setting::MpiLocalSize},
    {Setting::SlurmRank, Setting::SlurmSize, Setting::SlurmLocalRank, std::nullopt},
};

constexpr int kMaxRanks = 1 << 24;
constexpr int kMaxPort = 65535;

Result<std::optional<int>> optional_number(Setting which, int least, int most) {
  if (!setting(which)) return std::optional<int>();
  RONDO_TRY_ASSIGN(const int64_t value, number_setting(which, least, most, 0));
  return std::optional<int>(static_cast<int>(value));
}

Status read_dialect(const Dialect& dialect, LauncherEnv& launch) {
  RONDO_TRY_ASSIGN(const auto size, optional_number(dialect.size, 1, kMaxRanks));
  if (!size)
    return error(ErrorKind::LauncherIncomplete, "{} is set, but {} is not",
                 setting_info(dialect.rank).variable, setting_info(dialect.size).variable);
  launch.size = *size;
  RONDO_TRY_ASSIGN(const auto rank, optional_number(dialect.rank, 0, launch.size - 1));
  launch.rank = *rank;
  RONDO_TRY_ASSIGN(launch.local_rank, optional_number(dialect.local_rank, 0, kMaxRanks));
  if (dialect.local_size) {
    RONDO_TRY_ASSIGN(launch.local_size, optional_number(*dialect.local_size, 1, kMaxRanks));
  }
  return {};
}

std::string job_name() {
  if (const auto name = setting(Setting::PmixNamespace)) return *name;
  if (const auto job = setting(Setting::SlurmJob))
    return *job + "." + setting(Setting::SlurmStep).value_or("0");
  return {};
}

}  // namespace

std::string first_slurm_host(const std::string& list) {
  const size_t bracket = list.find('[');
  const size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const size_t end = list.find_first_of(",-]", bracket + 1);
  return list.substr(0, bracket) +
         list.substr(bracket + 1, end == std::string::npos ? end : end - bracket - 1);
}

Result<std::optional<LauncherEnv>> read_launch() {
  for (const Dialect& dialect : kDialects) {
    if (!setting(dialect.rank)) continue;
    LauncherEnv launch;
    RONDO_TRY(read_dialect(dialect, launch));
    launch.master_host = setting(Setting::MasterAddr).value_or("");
    if (launch.master_host.empty() && dialect.rank == Setting::SlurmRank)
      launch.master_host = first_slurm_host(setting(Setting::SlurmNodes).value_or(""));
    RONDO_TRY_ASSIGN(const auto port, optional_number(Setting::MasterPort, 1, kMaxPort));
    launch.master_port = port.value_or(0);
    launch.agent_at_port = setting(Setting::AgentStore) == "True";
    launch.job = job_name();
    return std::optional<LauncherEnv>(launch);
  }
  return std::optional<LauncherEnv>();
}

}  // namespace rondo
