// SPDX-License-Identifier: Apache-2.0
// Settings: every environment variable that Rondo reads, in one table. docs/environment.md documents the same
// rows, and a test compares the two. Read on use, so a program may set them before its first call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rondo {

// X(enumerator, variable, meaning)
#define RONDO_SETTINGS(X)                                                                                  \
  X(Log, "RONDO_LOG", "log level: trace, debug, info, warn, error or off, in any case")                    \
  X(LogFile, "RONDO_LOG_FILE", "a file for the log; %h is the host's name, %p the process id")             \
  X(FlightFile, "RONDO_FLIGHT_FILE", "a file for the latest calls if one fails; %r is the rank")           \
  X(Stacks, "RONDO_STACKS", "0: errors and files do not say where the program is")                         \
  X(Metrics, "RONDO_METRICS", "a file for counts of calls, bytes and failures in Prometheus's format")     \
  X(Ps, "RONDO_PS", "0: this process does not answer rondo-ps")                                            \
  X(Trace, "RONDO_TRACE", "a file for a timeline of all calls, for Perfetto and rondo-trace")              \
  X(TraceBytes, "RONDO_TRACE_BYTES", "the limit of that file's size, as in 1G")                            \
  X(NcclDebug, "NCCL_DEBUG", "log level if RONDO_LOG is not set, by NCCL's names")                         \
  X(Timeout, "RONDO_TIMEOUT", "deadline of a call, in seconds")                                            \
  X(InitTimeout, "RONDO_INIT_TIMEOUT", "how long start-up waits for all ranks, in seconds")                \
  X(Device, "RONDO_DEVICE", "the GPU of a rank: host, cuda, cuda:N or cuda:0,1")                           \
  X(Transport, "RONDO_TRANSPORT", "the transport for all pairs of ranks, instead of the best")             \
  X(Algorithm, "RONDO_ALGORITHM", "algorithms by collective: all_reduce=ring;scan=@shm_pull")              \
  X(Reproducible, "RONDO_REPRODUCIBLE", "1: the bits of reductions depend on ranks, type and op alone")    \
  X(Group, "RONDO_GROUP", "sizes of the groups of nearby consecutive ranks, as in 4,16; 1: no groups")     \
  X(Protocol, "RONDO_PROTOCOL", "how GPUs send to one another: simple, ll or ll128")                       \
  X(Channels, "RONDO_CHANNELS", "channels between two GPUs, at most")                                      \
  X(SlotBytes, "RONDO_SLOT_BYTES", "bytes of a connection's slot")                                         \
  X(ExchangeBytes, "RONDO_EXCHANGE_BYTES", "the longest vector exchanged in memory that all ranks see")    \
  X(StreamBytes, "RONDO_STREAM_BYTES", "the longest vector whose results are kept in caches")              \
  X(Slots, "RONDO_SLOTS", "slots of a connection")                                                         \
  X(ReadPeer, "RONDO_READ_PEER", "1: read long messages in the peer's process; 0: copy them to slots")     \
  X(TcpSockets, "RONDO_TCP_SOCKETS", "sockets of a tcp connection")                                        \
  X(StagingBytes, "RONDO_STAGING_BYTES", "bytes that a rank stages for GPUs of other processes")           \
  X(Pin, "RONDO_PIN", "1: bind the thread that starts a rank to a core")                                   \
  X(Unreachable, "RONDO_UNREACHABLE", "seconds without an answer after which another host counts as lost") \
  X(Secret, "RONDO_SECRET", "the job's secret, which every rank must know")                                \
  X(SecretFile, "RONDO_SECRET_FILE", "a file that holds the job's secret")                                 \
  X(SocketIfname, "RONDO_SOCKET_IFNAME", "network interfaces to use: eth,ib or =eth0 or ^docker,lo")       \
  X(NcclSocketIfname, "NCCL_SOCKET_IFNAME", "the same if RONDO_SOCKET_IFNAME is not set")                  \
  X(NetPlugin, "RONDO_NET_PLUGIN", "NCCL's network plugin to use: NAME or FILE; none: no plugin")          \
  X(NcclNetPlugin, "NCCL_NET_PLUGIN", "the same if RONDO_NET_PLUGIN is not set")                           \
  X(IbPorts, "RONDO_IB_PORTS", "InfiniBand and RoCE ports to use: mlx5_0:1,mlx5_1 or ^mlx5_4")             \
  X(NcclIbHca, "NCCL_IB_HCA", "the same by beginnings of names, if RONDO_IB_PORTS is not set")             \
  X(NcclIbDisable, "NCCL_IB_DISABLE", "1: no InfiniBand and RoCE, if RONDO_IB_PORTS is not set")           \
  X(SysfsPath, "SYSFS_PATH", "where libibverbs, and Rondo before it, looks for devices")                   \
  X(IbGid, "RONDO_IB_GID", "the index of the GID to use, or v1 or v2")                                     \
  X(NcclIbGidIndex, "NCCL_IB_GID_INDEX", "the same if RONDO_IB_GID is not set")                            \
  X(IbPkey, "RONDO_IB_PKEY", "the key of the InfiniBand partition to use: 0x8001")                         \
  X(NcclIbPkey, "NCCL_IB_PKEY", "its index, if RONDO_IB_PKEY is not set")                                  \
  X(IbSl, "RONDO_IB_SL", "the InfiniBand service level")                                                   \
  X(NcclIbSl, "NCCL_IB_SL", "the same if RONDO_IB_SL is not set")                                          \
  X(IbTrafficClass, "RONDO_IB_TRAFFIC_CLASS", "the traffic class of RoCE packets")                         \
  X(NcclIbTc, "NCCL_IB_TC", "the same if RONDO_IB_TRAFFIC_CLASS is not set")                               \
  X(IbTimeout, "RONDO_IB_TIMEOUT", "N: an InfiniBand packet is sent again after 4.096 us x 2^N")           \
  X(NcclIbTimeout, "NCCL_IB_TIMEOUT", "the same if RONDO_IB_TIMEOUT is not set")                           \
  X(IbRetry, "RONDO_IB_RETRY", "how often an InfiniBand packet is sent again")                             \
  X(IbBytes, "RONDO_IB_BYTES", "how many bytes InfiniBand may pin")                                        \
  X(IbGpuDirect, "RONDO_IB_GPU_DIRECT", "1: to and from memory of the GPU, however far; 0: never")         \
  X(IbOdp, "RONDO_IB_ODP", "1: InfiniBand reads all memory by paging on demand")                           \
  X(NcclIbRetryCnt, "NCCL_IB_RETRY_CNT", "the same if RONDO_IB_RETRY is not set")                          \
  X(IbQps, "RONDO_IB_QPS", "queue pairs of an InfiniBand connection")                                      \
  X(NcclIbQps, "NCCL_IB_QPS_PER_CONNECTION", "the same if RONDO_IB_QPS is not set")                        \
  X(TopoFile, "RONDO_TOPO_FILE", "a description of this host, read instead of detecting it")               \
  X(NcclTopoFile, "NCCL_TOPO_FILE", "the same if RONDO_TOPO_FILE is not set")                              \
  X(NcclTopoDumpFile, "NCCL_TOPO_DUMP_FILE", "where to write this host's description once it is detected") \
  X(Calibration, "RONDO_CALIBRATION", "a file of rondo-topo --calibrate instead of this host's; 0: none")  \
  X(XdgCacheHome, "XDG_CACHE_HOME", "the folder in which rondo-topo --calibrate keeps its file")           \
  X(Home, "HOME", "the folder with .cache, if XDG_CACHE_HOME is not set")                                  \
  X(SimSeed, "RONDO_SIM_SEED", "seed of the sim transport's delays")                                       \
  X(SimDelay, "RONDO_SIM_DELAY_US", "longest delay of a message on the sim transport, microseconds")       \
  X(Rank, "RANK", "this process's rank, as torchrun and rondo-run set it")                                 \
  X(WorldSize, "WORLD_SIZE", "number of ranks, likewise")                                                  \
  X(LocalRank, "LOCAL_RANK", "rank among the processes of this host, likewise")                            \
  X(LocalWorldSize, "LOCAL_WORLD_SIZE", "number of ranks on this host, likewise")                          \
  X(MasterAddr, "MASTER_ADDR", "host of rank 0, likewise")                                                 \
  X(MasterPort, "MASTER_PORT", "port on which rank 0 accepts the others, likewise")                        \
  X(AgentStore, "TORCHELASTIC_USE_AGENT_STORE", "True: torchrun itself listens at MASTER_PORT")            \
  X(OmpiRank, "OMPI_COMM_WORLD_RANK", "Open MPI's rank")                                                   \
  X(OmpiSize, "OMPI_COMM_WORLD_SIZE", "Open MPI's number of ranks")                                        \
  X(OmpiLocalRank, "OMPI_COMM_WORLD_LOCAL_RANK", "Open MPI's rank on this host")                           \
  X(OmpiLocalSize, "OMPI_COMM_WORLD_LOCAL_SIZE", "Open MPI's number of ranks on this host")                \
  X(PmixNamespace, "PMIX_NAMESPACE", "Open MPI's name of the job")                                         \
  X(PmiRank, "PMI_RANK", "MPICH's rank")                                                                   \
  X(PmiSize, "PMI_SIZE", "MPICH's number of ranks")                                                        \
  X(MpiLocalRank, "MPI_LOCALRANKID", "MPICH's rank on this host")                                          \
  X(MpiLocalSize, "MPI_LOCALNRANKS", "MPICH's number of ranks on this host")                               \
  X(SlurmRank, "SLURM_PROCID", "Slurm's rank")                                                             \
  X(SlurmSize, "SLURM_NTASKS", "Slurm's number of ranks")                                                  \
  X(SlurmLocalRank, "SLURM_LOCALID", "Slurm's rank on this host")                                          \
  X(SlurmJob, "SLURM_JOB_ID", "Slurm's name of the job")                                                   \
  X(SlurmStep, "SLURM_STEP_ID", "Slurm's name of the step")                                                \
  X(SlurmNodes, "SLURM_NODELIST", "Slurm's hosts; the first has rank 0")

enum class Setting {
#define X(enumerator, variable, meaning) enumerator,
  RONDO_SETTINGS(X)
#undef X
};

struct SettingInfo {
  std::string_view variable;
  std::string_view meaning;
};

/// All rows, in table order.
std::span<const SettingInfo> all_settings();
const SettingInfo& setting_info(Setting setting);

/// The variable's value; nothing if it is unset or empty.
std::optional<std::string> setting(Setting setting);

/// The variable's value as an integer in [least, most], or `otherwise` if it is not set.
Result<int64_t> number_setting(Setting setting, int64_t least, int64_t most, int64_t otherwise);

/// The variable's value as bytes, as parse_size() reads them.
Result<int64_t> size_setting(Setting setting, int64_t least, int64_t most, int64_t otherwise);

/// The variable's value as a switch, as parse_switch() reads it.
Result<bool> switch_setting(Setting setting, bool otherwise);

/// The variable's value in seconds (fractions allowed) as milliseconds, at least 1 ms.
Result<int64_t> seconds_setting_ms(Setting setting, int64_t otherwise_ms);

/// A sentence for each set variable that begins with RONDO_ but that neither Rondo nor its tools read.
std::vector<std::string> unknown_variables();

}  // namespace rondo
