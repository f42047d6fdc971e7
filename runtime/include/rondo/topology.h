/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file topology.h
 * @brief Rondo's C API for machines: what joins their GPUs and NICs, and how fast collectives can be on them.
 *
 * Conventions are those of rondo.h. A topology does not change after it was made: any number of threads may
 * read it at once. Strings belong to the topology and live as long as it does. Bandwidths are GB/s, 10^9
 * bytes a second in one direction; those of collectives are bus bandwidths, as nccl-tests defines them.
 * Errors are in rondo_last_error(NULL).
 */
#ifndef RONDO_TOPOLOGY_H
#define RONDO_TOPOLOGY_H

#include <rondo/rondo.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The links of one host, or of several hosts joined by a network. */
typedef struct rondo_topology* rondo_topology_t;

/** @name Making topologies
 * @{ */

/** Settings of a topology. Initialize with ::RONDO_TOPOLOGY_CONFIG_INITIALIZER, then change fields. */
typedef struct {
  size_t size;            /**< sizeof(rondo_topology_config_t) in the caller's version of this header. */
  int p2p_below_switches; /**< Whether GPUs below one PCI switch reach one another there: 1, 0, or -1: as
                               the description says, and if it does not, they do. */
  int hosts;              /**< Number of such hosts, joined by a network that never blocks; at least 1. */
} rondo_topology_config_t;

/** A ::rondo_topology_config_t with every setting at its default. */
#define RONDO_TOPOLOGY_CONFIG_INITIALIZER \
  { sizeof(rondo_topology_config_t), -1, 1 }

/** Reads a description of a host: NCCL's topology XML (NCCL_TOPO_DUMP_FILE), hwloc's XML (lstopo), or the
 * output of `nvidia-smi topo -m`; the content decides which. A template, which leaves out GPUs and network
 * ports, gets this host's if the bus ids agree.
 * @param[out] topology the topology; NULL on failure
 * @param path the file
 * @param config settings, or NULL
 * @return ::RONDO_INVALID_ARGUMENT, with file, line and what was expected, if it is none of these */
RONDO_API rondo_status_t rondo_topology_load(rondo_topology_t* topology, const char* path,
                                             const rondo_topology_config_t* config);

/** Detects this host as the process can use it: processors, PCI devices, network ports and AMD's GPUs by
 * /sys, NVIDIA's GPUs and their NVLinks by NVML, if there is libnvidia-ml.so.1. GPUs are those that CUDA
 * shows to the process, with its numbers. What the host hides, as virtual machines and containers do, is
 * guessed, and rondo_topology_remark() says so. Communicators never call it.
 * @param[out] topology the topology; NULL on failure
 * @param config settings, or NULL
 * @return ::RONDO_SYSTEM_ERROR, with the file, if /sys cannot be read */
RONDO_API rondo_status_t rondo_topology_detect(rondo_topology_t* topology,
                                               const rondo_topology_config_t* config);

/** A well-known machine, such as "hgx-h100".
 * @param[out] topology the topology; NULL on failure
 * @param name one of rondo_topology_known()'s
 * @param config settings, or NULL */
RONDO_API rondo_status_t rondo_topology_named(rondo_topology_t* topology, const char* name,
                                              const rondo_topology_config_t* config);

/** The well-known machines.
 * @param index from 0
 * @param[out] name its name; NULL from the last one's index + 1 on
 * @param[out] summary one line, or NULL */
RONDO_API rondo_status_t rondo_topology_known(int index, const char** name, const char** summary);

/** Writes the description of one of the hosts as NCCL's topology XML.
 * @param topology the topology
 * @param path the file; "-": standard output */
RONDO_API rondo_status_t rondo_topology_save(rondo_topology_t topology, const char* path);

/** Frees a topology, and all strings that came from it.
 * @param topology the topology, or NULL */
RONDO_API rondo_status_t rondo_topology_free(rondo_topology_t topology);
/** @} */

/** @name Nodes, links and paths
 * @{ */

/** A GPU, NUMA node, PCI switch, NVSwitch, NIC or network. Set size before use. */
typedef struct {
  size_t size;        /**< sizeof(rondo_topology_node_t) in the caller's version of this header. */
  const char* kind;   /**< "GPU", "NUMA", "PCI switch", "NVSwitch", "NIC" or "network". */
  const char* name;   /**< Unique: "gpu0", "nic mlx5_0"; if there are several hosts, "host1/gpu0". */
  const char* bus_id; /**< "0000:3b:00.0"; "" if it is no PCI function. */
  int host;           /**< From 0. */
  int dev;            /**< A GPU's number on its host, else -1. */
} rondo_topology_node_t;

/** A link in one direction. Set size before use. */
typedef struct {
  size_t size;            /**< sizeof(rondo_topology_link_t) in the caller's version of this header. */
  int from;               /**< Node. */
  int to;                 /**< Node. */
  const char* link_class; /**< "NVLink", "xGMI", "C2C", "PCIe", "socket" or "network". */
  int count;              /**< Physical links; of PCIe lanes. */
  double bandwidth;       /**< Of all together, GB/s. */
} rondo_topology_link_t;

/** The best path from a GPU. Set size before use. */
typedef struct {
  size_t size;            /**< sizeof(rondo_topology_path_t) in the caller's version of this header. */
  const char* path_class; /**< As NCCL has it: LOC NVL NVB C2C PIX PXB P2C PXN PHB SYS NET, or DIS: none. */
  double bandwidth;       /**< Of its narrowest link, GB/s; 0 for LOC and DIS. */
  int hops;               /**< Links. */
} rondo_topology_path_t;

/** How many nodes, links and remarks there are; each may be NULL.
 * @param topology the topology
 * @param[out] nodes number of nodes
 * @param[out] links number of links
 * @param[out] remarks number of remarks */
RONDO_API rondo_status_t rondo_topology_counts(rondo_topology_t topology, int* nodes, int* links,
                                               int* remarks);

/** A node.
 * @param topology the topology
 * @param index from 0
 * @param[in,out] node the node */
RONDO_API rondo_status_t rondo_topology_node(rondo_topology_t topology, int index,
                                             rondo_topology_node_t* node);

/** A link.
 * @param topology the topology
 * @param index from 0
 * @param[in,out] link the link */
RONDO_API rondo_status_t rondo_topology_link(rondo_topology_t topology, int index,
                                             rondo_topology_link_t* link);

/** The best path from a GPU to another GPU, a NIC or a NUMA node.
 * @param topology the topology
 * @param from a GPU's node
 * @param to a node
 * @param[in,out] path the path */
RONDO_API rondo_status_t rondo_topology_path(rondo_topology_t topology, int from, int to,
                                             rondo_topology_path_t* path);

/** What the description or the host lacked or contradicted itself in, and what was made of it: a sentence
 * with file and line.
 * @param topology the topology
 * @param index from 0
 * @param[out] text the sentence */
RONDO_API rondo_status_t rondo_topology_remark(rondo_topology_t topology, int index, const char** text);
/** @} */

/** @name Limits
 * @{ */

/** The limit of a collective. Set size before use. */
typedef struct {
  size_t size;       /**< sizeof(rondo_topology_limit_t) in the caller's version of this header. */
  double bandwidth;  /**< Bus bandwidth in GB/s that plans reach. */
  double ceiling;    /**< Bus bandwidth in GB/s that no plan exceeds: bandwidth itself on most machines, more
                          if bandwidth supposes that switches without P2P share their links evenly or, in
                          all_reduce, that all GPUs combine blocks of equal size. */
  int reached;       /**< 1: plans reach bandwidth; 0: whether they do is not known (all_to_all). */
  const char* limit; /**< What limits it: "6 NVLinks into gpu0, 120.0 GB/s, as for each of 8 GPUs". */
} rondo_topology_limit_t;

/** The limit of a collective of all GPUs.
 * @param topology the topology
 * @param collective "all_reduce", "broadcast", ...; not "barrier", which moves nothing
 * @param root a GPU's position among all GPUs, for collectives that have a root
 * @param all_links 0: NVLink or xGMI links alone, if they join all GPUs, as is usual; 1: always all links
 * @param[in,out] limit the limit */
RONDO_API rondo_status_t rondo_topology_limit(rondo_topology_t topology, const char* collective, int root,
                                              int all_links, rondo_topology_limit_t* limit);

/** A plan for all_gather (and, with the links turned around, reduce_scatter). Set size before use. */
typedef struct {
  size_t size;        /**< sizeof(rondo_topology_plan_t) in the caller's version of this header. */
  double bandwidth;   /**< Bus bandwidth in GB/s. */
  int trees;          /**< Spanning trees, each of which carries a part of its root's block. */
  int parts_per_root; /**< Equal parts that a block is divided into; a tree carries one or several. */
  int depth;          /**< Most edges from a root to another GPU. */
  int complete;       /**< 1: the search was completed; 0: it ran out of time, and the plan may be far from
                           the limit. */
} rondo_topology_plan_t;

/** Searches for the fastest plan of all GPUs, for a second at most, which 16 GPUs do not need and 64 may
 * exceed. Nothing carries plans out yet.
 * @param topology the topology
 * @param all_links as in rondo_topology_limit()
 * @param[in,out] plan the plan */
RONDO_API rondo_status_t rondo_topology_plan(rondo_topology_t topology, int all_links,
                                             rondo_topology_plan_t* plan);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RONDO_TOPOLOGY_H */
