// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace rondo::doctor {
namespace {

/// Pairs of equal links differ by less.
constexpr double kSlow = 0.5, kLate = 3;
constexpr double kMinLate_us = 20;
/// Beyond what a round trip can hide, and what logs are read with.
constexpr double kWrongClock_s = 0.1;

/// "0-3, 6"
std::string rank_list(const std::vector<int>& ranks) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    parts.push_back(end - begin == 1 ? fmt::format("{}", ranks[begin])
                                     : fmt::format("{}-{}", ranks[begin], ranks[end - 1]));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

double median_of(std::span<const HostPair> pairs, double HostPair::*figure) {
  std::vector<double> values;
  for (const HostPair& pair : pairs) values.push_back(pair.*figure);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// What network tools take for the host: its name without what tells it from others of that name.
std::string address_of(const DoctorHost& host) { return host.name.substr(0, host.name.find('/')); }

std::vector<HostPair> measured(std::span<const HostPair> pairs) {
  std::vector<HostPair> whole;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(whole),
               [](const HostPair& pair) { return pair.failure == FailedMessage::None; });
  return whole;
}

}  // namespace

std::string roster_text(std::span<const DoctorHost> hosts) {
  std::size_t ranks = 0;
  std::vector<std::string> names;
  for (const DoctorHost& host : hosts) {
    ranks += host.ranks.size();
    names.push_back(fmt::format("{} ({})", host.name, rank_list(host.ranks)));
  }
  return fmt::format("{} on {}: {}\n", counted(ranks, "rank"), counted(hosts.size(), "host"),
                     fmt::join(names, ", "));
}

std::string findings_text(std::span<const DoctorHost> hosts, std::span<const DoctorFindings> findings) {
  struct CommonFinding {
    DoctorFinding finding;
    std::vector<std::string> hosts;
  };
  std::vector<CommonFinding> all;
  for (std::size_t host = 0; host < findings.size(); ++host) {
    for (const DoctorFinding& finding : findings[host]) {
      auto found = std::find_if(all.begin(), all.end(),
                                [&](const CommonFinding& one) { return one.finding == finding; });
      if (found == all.end()) found = all.insert(all.end(), CommonFinding{finding, {}});
      found->hosts.push_back(hosts[host].name);
    }
  }
  std::string text;
  for (const CommonFinding& one : all)
    text += fmt::format("{}: {}\n-> {}\n", fmt::join(one.hosts, ", "), one.finding.text, one.finding.advice);
  return text;
}

std::string pairs_text(std::span<const HostPair> pairs, const std::string& transports) {
  if (pairs.empty()) return "";
  const std::vector<HostPair> whole = measured(pairs);
  if (whole.empty())
    return fmt::format("between hosts by {}: {}, all of which failed\n", transports,
                       counted(pairs.size(), "pair"));
  return fmt::format("between hosts by {}: {}; median {:.1f} us one way, {:.2f} GB/s\n", transports,
                     counted(pairs.size(), "pair"), median_of(whole, &HostPair::latency_us),
                     median_of(whole, &HostPair::bandwidth));
}

DoctorFindings pair_findings(std::span<const DoctorHost> hosts, std::span<const HostPair> pairs) {
  DoctorFindings findings;
  const std::vector<HostPair> whole = measured(pairs);
  if (whole.empty()) return findings;
  const double usual_us = median_of(whole, &HostPair::latency_us),
               usual = median_of(whole, &HostPair::bandwidth);
  for (const HostPair& pair : whole) {
    const std::string& first = hosts[static_cast<std::size_t>(pair.first)].name;
    const std::string& second = hosts[static_cast<std::size_t>(pair.second)].name;
    const auto look =
        fmt::format("compare the links of both: ethtool, ip -s link; on the way between them: tracepath {}",
                    address_of(hosts[static_cast<std::size_t>(pair.second)]));
    if (pair.bandwidth < kSlow * usual)
      findings.push_back(
          {fmt::format("{} and {}: {:.2f} GB/s, where pairs of hosts usually have {:.2f}: a ring that "
                       "crosses this link is no faster",
                       first, second, pair.bandwidth, usual),
           look});
    if (pair.latency_us > kLate * usual_us && pair.latency_us > usual_us + kMinLate_us)
      findings.push_back(
          {fmt::format("{} and {}: {:.1f} us one way, where pairs of hosts usually have {:.1f}: short "
                       "calls take at least that much longer",
                       first, second, pair.latency_us, usual_us),
           look});
    if (std::abs(pair.ahead_s) > kWrongClock_s && pair.first == 0)
      findings.push_back(
          {fmt::format("the clock of {} is {:.1f} s {} that of {}: their logs and traces do not fit together",
                       second, std::abs(pair.ahead_s), pair.ahead_s > 0 ? "ahead of" : "behind", first),
           "set it: chronyc makestep, or timedatectl set-ntp true"});
  }
  return findings;
}

DoctorFindings failed_pairs(std::span<const DoctorHost> hosts, std::span<const HostPair> pairs,
                            std::chrono::milliseconds limit) {
  DoctorFindings findings;
  for (const HostPair& pair : pairs) {
    if (pair.failure == FailedMessage::None) continue;
    const std::string& first = hosts[static_cast<std::size_t>(pair.first)].name;
    const std::string& second = hosts[static_cast<std::size_t>(pair.second)].name;
    if (pair.failure == FailedMessage::Short)
      findings.push_back(
          {fmt::format("{} and {} exchange no messages: {}", first, second, pair.cause.data()),
           "allow all TCP ports between the two, in both directions; ping, ip route, nft list ruleset"});
    else
      findings.push_back(
          {fmt::format("{} and {}: 8 bytes arrive, and 4 MiB do not within {:g} s: long packets may be lost "
                       "on the way",
                       first, second, std::chrono::duration<double>(limit).count()),
           fmt::format("compare the MTU of the interfaces and switches between them: ip link; "
                       "ping -M do -s 1472 {0}; tracepath {0}",
                       address_of(hosts[static_cast<std::size_t>(pair.second)]))});
  }
  return findings;
}

}  // namespace rondo::doctor
