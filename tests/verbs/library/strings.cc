// SPDX-License-Identifier: Apache-2.0
// Texts of codes, and rates.
#include <array>
#include <iterator>

#include "context.h"

namespace rondo::fabric {
namespace {

template <size_t N>
const char* text_of(const std::array<const char*, N>& texts, int code) {
  return code >= 0 && static_cast<size_t>(code) < N ? texts[static_cast<size_t>(code)] : "unknown";
}

constexpr std::array kStatuses = {"success",
                                  "local length error",
                                  "local QP operation error",
                                  "local EE context operation error",
                                  "local protection error",
                                  "Work Request Flushed Error",
                                  "memory management operation error",
                                  "bad response error",
                                  "local access error",
                                  "remote invalid request error",
                                  "remote access error",
                                  "remote operation error",
                                  "transport retry counter exceeded",
                                  "RNR retry counter exceeded",
                                  "local RDD violation error",
                                  "remote invalid RD request",
                                  "aborted error",
                                  "invalid EE context number",
                                  "invalid EE context state",
                                  "fatal error",
                                  "response timeout error",
                                  "general error",
                                  "TM error",
                                  "TM software rendezvous"};

constexpr std::array kEvents = {"CQ error",
                                "local work queue catastrophic error",
                                "invalid request local work queue error",
                                "local access violation work queue error",
                                "communication established",
                                "send queue drained",
                                "path migrated",
                                "path migration request error",
                                "local catastrophic error",
                                "port active",
                                "port error",
                                "LID change",
                                "P_Key change",
                                "SM change",
                                "SRQ catastrophic error",
                                "SRQ limit reached",
                                "last WQE reached",
                                "client reregistration",
                                "GID table change",
                                "WQ fatal"};

constexpr std::array kNodes = {"unknown",           "InfiniBand channel adapter",
                               "InfiniBand switch", "InfiniBand router",
                               "iWARP NIC",         "usNIC",
                               "usNIC UDP",         "unspecified"};

constexpr std::array kPortStates = {"invalid state", "PORT_DOWN",   "PORT_INIT",
                                    "PORT_ARMED",    "PORT_ACTIVE", "PORT_ACTIVE_DEFER"};

struct Rate {
  ibv_rate rate;
  int mult;  // of 2.5 Gbit/s
  int mbps;
};

constexpr Rate kRates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500},     {IBV_RATE_5_GBPS, 2, 5000},       {IBV_RATE_10_GBPS, 4, 10'000},
    {IBV_RATE_14_GBPS, 6, 14'062},    {IBV_RATE_20_GBPS, 8, 20'000},    {IBV_RATE_25_GBPS, 10, 25'781},
    {IBV_RATE_28_GBPS, 11, 28'125},   {IBV_RATE_30_GBPS, 12, 30'000},   {IBV_RATE_40_GBPS, 16, 40'000},
    {IBV_RATE_50_GBPS, 20, 53'125},   {IBV_RATE_56_GBPS, 23, 56'250},   {IBV_RATE_60_GBPS, 24, 60'000},
    {IBV_RATE_80_GBPS, 32, 80'000},   {IBV_RATE_100_GBPS, 41, 103'125}, {IBV_RATE_112_GBPS, 45, 112'500},
    {IBV_RATE_120_GBPS, 48, 120'000}, {IBV_RATE_200_GBPS, 80, 206'250}, {IBV_RATE_400_GBPS, 160, 425'000}};

}  // namespace
}  // namespace rondo::fabric

using namespace rondo::fabric;

EXPORTED const char* ibv_wc_status_str(ibv_wc_status status) { return text_of(kStatuses, status); }
EXPORTED const char* ibv_event_type_str(ibv_event_type event) { return text_of(kEvents, event); }
EXPORTED const char* ibv_node_type_str(ibv_node_type type) { return text_of(kNodes, type); }
EXPORTED const char* ibv_port_state_str(ibv_port_state state) { return text_of(kPortStates, state); }

EXPORTED int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& row : kRates)
    if (row.rate == rate) return row.mult;
  return -1;
}

EXPORTED int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& row : kRates)
    if (row.rate == rate) return row.mbps;
  return -1;
}

EXPORTED ibv_rate mult_to_ibv_rate(int mult) {
  for (const Rate& row : kRates)
    if (row.mult == mult) return row.rate;
  return IBV_RATE_MAX;
}

EXPORTED ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& row : kRates)
    if (row.mbps == mbps) return row.rate;
  return IBV_RATE_MAX;
}
