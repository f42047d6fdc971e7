// SPDX-License-Identifier: Apache-2.0
#include "variables.h"

#include <fmt/core.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "ras/address.h"

namespace rondo::nccl {
namespace {

// docs/nccl.md has the same rows; a test compares the two.
constexpr Variable kVariables[] = {
    {"NCCL_DEBUG", true, "VERSION: the banner; WARN: failures as well; INFO, TRACE: communicators as well"},
    {"NCCL_DEBUG_FILE", true, "where NCCL_DEBUG output goes; %h is the host, %p the process"},
    {"NCCL_SOCKET_IFNAME", true, "network interfaces, as RONDO_SOCKET_IFNAME"},
    {"NCCL_ALGO", true, "Ring or Tree, alone: as RONDO_ALGORITHM; other values have no effect"},
    {"NCCL_PROTO", true, "Simple, LL or LL128, alone: as RONDO_PROTOCOL; other values have no effect"},
    {"NCCL_MAX_NCHANNELS", true, "channels between two GPUs, as RONDO_CHANNELS"},
    {"NCCL_MAX_CTAS", true, "the same, if NCCL_MAX_NCHANNELS is not set"},
    {"NCCL_SHM_DISABLE", true, "1: ranks use tcp, as with RONDO_TRANSPORT=tcp"},
    {"NCCL_COMM_BLOCKING", true, "0: communicators are non-blocking, unless their config says otherwise"},
    {"NCCL_VERSION", true, "nothing: NVIDIA's container images set it to the NCCL that they contain"},
    {"NCCL_DEBUG_SUBSYS", false, "the log is not divided by subsystems"},
    {"NCCL_DEBUG_TIMESTAMP_FORMAT", false, "lines have no timestamp; those of RONDO_LOG=info do"},
    {"NCCL_SOCKET_FAMILY", false, "addresses of both families are tried; choose by RONDO_SOCKET_IFNAME"},
    {"NCCL_SOCKET_NTHREADS", false, "set RONDO_TCP_SOCKETS"},
    {"NCCL_NSOCKS_PERTHREAD", false, "set RONDO_TCP_SOCKETS"},
    {"NCCL_NET", false, "set RONDO_IB_PORTS=none for TCP between hosts"},
    {"NCCL_NET_PLUGIN", true, "network plugin to use between hosts, as RONDO_NET_PLUGIN"},
    {"NCCL_TUNER_PLUGIN", false, "tuner plugins are not loaded"},
    {"NCCL_PROFILER_PLUGIN", false, "profiler plugins are not loaded"},
    {"NCCL_TUNER_CONFIG_FILE", false, "tuner plugins are not loaded"},
    {"NCCL_COMM_ID", false, "ncclGetUniqueId() makes the id; pass it to the other ranks"},
    {"NCCL_IB_DISABLE", true, "1: as RONDO_IB_PORTS=none"},
    {"NCCL_IB_HCA", true, "InfiniBand and RoCE ports to use"},
    {"NCCL_IB_GID_INDEX", true, "the index of the GID to use"},
    {"NCCL_IB_PKEY", true, "the index of the partition key"},
    {"NCCL_IB_TC", true, "as RONDO_IB_TRAFFIC_CLASS"},
    {"NCCL_IB_SL", true, "as RONDO_IB_SL"},
    {"NCCL_IB_TIMEOUT", true, "as RONDO_IB_TIMEOUT"},
    {"NCCL_IB_RETRY_CNT", true, "as RONDO_IB_RETRY"},
    {"NCCL_IB_QPS_PER_CONNECTION", true, "as RONDO_IB_QPS"},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", false,
     "messages of 128 KiB and more are always split, shorter ones take turns"},
    {"NCCL_IB_PCI_RELAXED_ORDERING", false, "relaxed ordering is always on"},
    {"NCCL_IB_ADAPTIVE_ROUTING", false, "adaptive routing never needs to be known"},
    {"NCCL_NET_GDR_LEVEL", false, "set RONDO_IB_GPU_DIRECT"},
    {"NCCL_NET_GDR_READ", false, "GPUDirect serves both directions, or none"},
    {"NCCL_NET_SHARED_BUFFERS", false, "connections have slots of their own"},
    {"NCCL_CROSS_NIC", false, "NICs of equal numbers are joined wherever they reach one another"},
    {"NCCL_P2P_DISABLE", false, "host memory has no peer-to-peer; GPUs: set RONDO_TRANSPORT"},
    {"NCCL_P2P_LEVEL", false, "peer access is used wherever there is any; otherwise set RONDO_TRANSPORT"},
    {"NCCL_P2P_DIRECT_DISABLE", false, "memory that is not registered is not read in place"},
    {"NCCL_P2P_USE_CUDA_MEMCPY", false, "kernels copy"},
    {"NCCL_SHM_LOCALITY", false, "the kernel places memory where it is first touched"},
    {"NCCL_NVLS_ENABLE", false, "there is no multicast yet"},
    {"NCCL_NVLS_CHUNKSIZE", false, "there is no multicast yet"},
    {"NCCL_COLLNET_ENABLE", false, "there is no reduction in the network"},
    {"NCCL_MNNVL_ENABLE", false, "NVLink between hosts is not used"},
    {"NCCL_TOPO_FILE", true,
     "describes the host: for RONDO_ALGORITHM's forest and rings, and for long calls on GPUs that NVLink "
     "does not join"},
    {"NCCL_TOPO_DUMP_FILE", false, "rondo-topo --save writes such files"},
    {"NCCL_GRAPH_FILE", false,
     "plans are searched for, not read; rondo-topo --graph-load evaluates such files"},
    {"NCCL_GRAPH_DUMP_FILE", false, "rondo-topo --graph-save writes such files"},
    {"NCCL_MIN_NCHANNELS", false, "RONDO_CHANNELS sets the maximum; calls use what they need"},
    {"NCCL_MIN_CTAS", false, "RONDO_CHANNELS sets the maximum; calls use what they need"},
    {"NCCL_NCHANNELS_PER_NET_PEER", false, "a pair of hosts has one channel, of RONDO_TCP_SOCKETS sockets"},
    {"NCCL_NTHREADS", false, "kernels choose their own size"},
    {"NCCL_LL128_NTHREADS", false, "kernels choose their own size"},
    {"NCCL_MAX_CGA_CLUSTER_SIZE", false, "kernels choose their own size"},
    {"NCCL_CGA_CLUSTER_SIZE", false, "kernels choose their own size"},
    {"NCCL_BUFFSIZE", false, "set RONDO_SLOT_BYTES and RONDO_SLOTS"},
    {"NCCL_P2P_NET_CHUNKSIZE", false, "set RONDO_SLOT_BYTES and RONDO_SLOTS"},
    {"NCCL_CUMEM_ENABLE", false, "memory that peers map is always allocated as mappable"},
    {"NCCL_CUMEM_HOST_ENABLE", false, "memory that peers map is always allocated as mappable"},
    {"NCCL_GRAPH_REGISTER", false, "registered memory is used in graphs as well"},
    {"NCCL_LOCAL_REGISTER", false, "ncclCommRegister() decides"},
    {"NCCL_GRAPH_MIXING_SUPPORT", false, "graphs and other calls may always mix"},
    {"NCCL_LAUNCH_MODE", false, "ranks of a process share launches where necessary"},
    {"NCCL_LAUNCH_ORDER_IMPLICIT", false, "calls keep the order of their streams"},
    {"NCCL_CHECKS_DISABLE", false, "calls are always checked"},
    {"NCCL_CHECK_POINTERS", false, "pointers are always checked on ranks with a GPU"},
    {"NCCL_IGNORE_CPU_AFFINITY", false, "nothing is bound unless RONDO_PIN=1"},
    {"NCCL_SET_THREAD_NAME", false, "the library's threads are always called rondo-..."},
    {"NCCL_RUNTIME_CONNECT", false, "connections are always made when they are first needed"},
    {"NCCL_RAS_ENABLE", true, "0: processes do not answer ncclras"},
    {"NCCL_RAS_ADDR", true, "where they listen: localhost or an IP address, and a port; no other names"},
    {"NCCL_HOSTID", false, "hosts are identified by their kernel"},
    {"NCCL_CONF_FILE", false, "only the environment is read"},
    {"NCCL_WORK_FIFO_BYTES", false, "there is no such queue"},
    {"NCCL_DMABUF_ENABLE", false, "dmabufs are used where the driver has them"},
    {"NCCL_PXN_DISABLE", false, "messages never pass through another rank's GPU on their way to a NIC"},
    {"NCCL_NET_FORCE_FLUSH", false, "writes are flushed where the driver says that they must be"},
    {"NCCL_OOB_NET_ENABLE", false, "ranks meet over TCP"},
    {"NCCL_OOB_NET_IFNAME", false, "set NCCL_SOCKET_IFNAME"},
    {"NCCL_WIN_ENABLE", false, "there are no windows"},
    {"NCCL_SYM_CTAS", false, "there are no windows"},
};

bool same(std::string_view a, const char* b) {
  return ::strncasecmp(a.data(), b, a.size()) == 0 && a.size() == std::strlen(b);
}

/// Some variables that are read are understood only with certain values.
bool is_understood(std::string_view name) {
  if (name == "NCCL_ALGO") return !wanted_algorithm().empty();
  if (name == "NCCL_PROTO") return !wanted_protocol().empty();
  if (name == "NCCL_RAS_ADDR") return parse_ras_address(variable("NCCL_RAS_ADDR")).has_value();
  return true;
}

std::string sentence_for(const std::string& name) {
  const Variable* known = find_variable(name);
  if (known == nullptr) return name + " has no effect: Rondo does not know it";
  if (!known->read) return fmt::format("{} has no effect: {}", name, known->meaning);
  if (is_understood(name)) return {};
  return fmt::format("{}={} has no effect: {}", name, variable(name.c_str()), known->meaning);
}

}  // namespace

std::span<const Variable> all_variables() { return kVariables; }

const Variable* find_variable(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kVariables), std::end(kVariables),
                                         [&](const Variable& row) { return row.name == name; });
  return found == std::end(kVariables) ? nullptr : found;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

long number_variable(const char* name, long otherwise) {
  const std::string text = variable(name);
  long value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size() ? value : otherwise;
}

std::vector<std::string> variables_without_effect() {
  std::vector<std::string> sentences;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (!text.starts_with("NCCL_") || equals == std::string_view::npos || equals + 1 == text.size()) continue;
    if (std::string sentence = sentence_for(std::string(text.substr(0, equals))); !sentence.empty())
      sentences.push_back(std::move(sentence));
  }
  std::sort(sentences.begin(), sentences.end());
  return sentences;
}

std::string wanted_algorithm() {
  const std::string wanted = variable("NCCL_ALGO");
  if (same(wanted, "ring"))
    return "all_reduce=ring;all_gather=ring;reduce_scatter=ring;broadcast=chain;reduce=chain";
  if (same(wanted, "tree")) return "all_reduce=double_binary_tree";
  return {};
}

std::string wanted_protocol() {
  const std::string wanted = variable("NCCL_PROTO");
  for (const char* name : {"simple", "ll", "ll128"})
    if (same(wanted, name)) return name;
  return {};
}

}  // namespace rondo::nccl
