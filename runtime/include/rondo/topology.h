/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file topology.h
 * @brief Rondo's C API for machines: what joins their GPUs and NICs, and how fast collectives can be on them.
 *
 * Conventions are those of rondo.h. Any number of threads may use one topology at once; only
 * rondo_topology_load_graphs() adds to it. Strings belong to the topology and live as long as it does.
 * Bandwidths are GB/s, 10^9 bytes a second in one direction; those of collectives are bus bandwidths, as
 * nccl-tests defines them. Errors are in rondo_last_error(NULL).
 *
 * Elements of lists have indices from 0. If a function returns their number, as rondo_topology_counts(),
 * rondo_topology_rings() and rondo_topology_load_graphs() do, any other index is ::RONDO_INVALID_ARGUMENT.
 * Lists without one (known machines, hops of a plan or of rings, findings) end with an element whose string
 * is NULL or whose tree or channel is -1, as is that of any index outside.
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
 * guessed, and rondo_topology_remark() says so. If RONDO_TOPO_FILE or else NCCL_TOPO_FILE names a
 * description, that is read instead, as by rondo_topology_load(); if NCCL_TOPO_DUMP_FILE names a file, the
 * host's description is written there.
 * @param[out] topology the topology; NULL on failure
 * @param config settings, or NULL
 * @return ::RONDO_SYSTEM_ERROR, with the file, if /sys cannot be read or a file cannot be written;
 * ::RONDO_INVALID_ARGUMENT, with the variable, if its file is not a description */
RONDO_API rondo_status_t rondo_topology_detect(rondo_topology_t* topology,
                                               const rondo_topology_config_t* config);

/** Detects the hosts of a communicator's ranks; collective. The first rank of each host describes it as
 * rondo_topology_detect() does, with all GPUs that its control group shows, whatever CUDA_VISIBLE_DEVICES
 * says there; descriptions of equal hosts travel once. Hosts are in the order of their first ranks. Lines in
 * remarks and errors are those of what rondo_topology_save() writes.
 * @param[out] topology the topology, the same at every rank; NULL on failure
 * @param comm the communicator; not within a group
 * @param config settings, the same at every rank, or NULL; its hosts must be 1
 * @return what rondo_topology_detect() returns on any of the hosts, with its first rank;
 * ::RONDO_INVALID_ARGUMENT if there are more GPUs than a topology can have (1,024) */
RONDO_API rondo_status_t rondo_topology_detect_all(rondo_topology_t* topology, rondo_comm_t comm,
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
 * @param topology the topology; its hosts must be equal, as also for reviews
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
 * @param root a GPU's position among all GPUs, by host and then by dev, for collectives that have a root
 * @param all_links 0: NVLink or xGMI links alone, if they join all GPUs, as is usual; 1: always all links
 * @param[in,out] limit the limit */
RONDO_API rondo_status_t rondo_topology_limit(rondo_topology_t topology, const char* collective, int root,
                                              int all_links, rondo_topology_limit_t* limit);

/** All_reduce by NVSwitches that combine and copy (NVLS). Set size before use. */
typedef struct {
  size_t size;      /**< sizeof(rondo_topology_stars_t) in the caller's version of this header. */
  double bandwidth; /**< Bus bandwidth in GB/s: for every part of the vector there is a GPU, its head, that
                         reads the sum and writes it to all. */
  double ceiling;   /**< Bus bandwidth in GB/s that no plan exceeds on such switches. */
  int heads;        /**< Number of GPUs that are heads. */
} rondo_topology_stars_t;

/** What all_reduce of all GPUs could have if NVSwitches combine and copy at the speed of their links: a model
 * that has not been compared with hardware. Nothing carries it out yet.
 * @param topology the topology
 * @param[in,out] stars the model's figures
 * @return ::RONDO_UNSUPPORTED if no NVSwitch of GPUs of compute capability 9.0 or later joins all GPUs */
RONDO_API rondo_status_t rondo_topology_stars(rondo_topology_t topology, rondo_topology_stars_t* stars);

/** A plan for all_gather (and, with the links turned around, reduce_scatter). Set size before use. */
typedef struct {
  size_t size;        /**< sizeof(rondo_topology_plan_t) in the caller's version of this header. */
  double bandwidth;   /**< Bus bandwidth in GB/s. */
  int trees;          /**< Spanning trees, each of which carries a part of its root's block. */
  int parts_per_root; /**< Equal parts that a block is divided into; a tree carries one or several. */
  int depth;          /**< Most edges from a root to another GPU. */
  int complete;       /**< 1: no plan of at most eight parts a block is faster by 0.1%; 0: the search ran out
                           of time, and the plan may be far from the limit. */
} rondo_topology_plan_t;

/** Searches for the fastest plan of all GPUs, for less than a second, which 16 GPUs do not need and 64 may
 * exceed. More than 128 GPUs get a plan of the shortest ways alone. Communicators carry such plans out as
 * the algorithm "forest" (docs/algorithms.md).
 * @param topology the topology
 * @param all_links as in rondo_topology_limit()
 * @param[in,out] plan the plan
 * @return ::RONDO_UNSUPPORTED if there are more than 256 GPUs */
RONDO_API rondo_status_t rondo_topology_plan(rondo_topology_t topology, int all_links,
                                             rondo_topology_plan_t* plan);

/** A link that an edge of a plan's tree crosses. Set size before use. */
typedef struct {
  size_t size;      /**< sizeof(rondo_topology_plan_hop_t) in the caller's version of this header. */
  int tree;         /**< From 0; trees are sorted by root. -1: there is no such hop. */
  int parts;        /**< Parts of the root's block that the tree carries, of the plan's parts_per_root. */
  int root;         /**< Node: the GPU whose block it is. */
  int parent;       /**< Node: the GPU that the edge leaves. */
  int child;        /**< Node: the GPU that it leads to. */
  int depth;        /**< Edges from the root to the child. */
  int link;         /**< The link. Of an edge that crosses switches they follow one another. */
  double bandwidth; /**< What it carries of this edge, GB/s. */
} rondo_topology_plan_hop_t;

/** A link that the plan of rondo_topology_plan() crosses. The plan is searched for once and kept.
 * @param topology the topology
 * @param all_links as in rondo_topology_limit()
 * @param index from 0
 * @param[in,out] hop the hop; its tree is -1 from the last one's index + 1 on */
RONDO_API rondo_status_t rondo_topology_plan_hop(rondo_topology_t topology, int all_links, int index,
                                                 rondo_topology_plan_hop_t* hop);
/** @} */

/** @name Trees over hosts
 * @{ */

/** The place of a host in two binary trees over all hosts, each of which carries half of a vector. A host has
 * children in one of them at most, so that none sends more than a vector. Set size before use. */
typedef struct {
  size_t size;    /**< sizeof(rondo_topology_host_place_t) in the caller's version of this header. */
  int parents[2]; /**< The host above it in each tree; -1: it is the root. */
} rondo_topology_host_place_t;

/** Where a host is in these trees. They follow the order of the hosts alone, whatever joins these. Nothing
 * carries them out yet.
 * @param topology the topology
 * @param host from 0
 * @param[in,out] place its place */
RONDO_API rondo_status_t rondo_topology_host_place(rondo_topology_t topology, int host,
                                                   rondo_topology_host_place_t* place);
/** @} */

/** @name Reviews
 * @{ */

/** What two topologies differ in, or what is wrong with one. The topologies may be freed before. */
typedef struct rondo_topology_review* rondo_topology_review_t;

/** A finding of a review, and the limits (of NVLink or xGMI alone, if it joins all GPUs) of the machine with
 * this one change, or this fault repaired. Set size before use. */
typedef struct {
  size_t size;        /**< sizeof(rondo_topology_finding_t) in the caller's version of this header. */
  const char* text;   /**< "1 NVLink instead of 2 between gpu0 and gpu3". */
  const char* advice; /**< What to do; "" if it is a mere difference. */
  double all_gather;  /**< Limit of all_gather's bus bandwidth in GB/s; 0: fewer than two GPUs are left; -1:
                           not known, since descriptions cannot state the change, or the limits of the
                           findings before took more than a second. */
  double all_reduce;  /**< The same of all_reduce. */
} rondo_topology_finding_t;

/** How a second topology differs from a first: devices, places and speeds of PCIe links, NVLinks and
 * xGMI links, ports. Devices of equal bus ids are the same, then those of equal names. The limit of a
 * finding is that of the first topology, with its settings, with this difference alone; if it has several
 * hosts, each of them is changed.
 * @param[out] review the review; NULL on failure
 * @param a the first topology
 * @param b the second topology */
RONDO_API rondo_status_t rondo_topology_compare(rondo_topology_review_t* review, rondo_topology_t a,
                                                rondo_topology_t b);

/** What is wrong with a machine, as far as its description shows it, worst first: links that equal devices
 * have faster or more of, links that go one way, hidden PCI trees and the like, with what to do. The limit of
 * a finding is that of the topology with this fault repaired; if it has several hosts, on each of them.
 * @param[out] review the review; NULL on failure
 * @param topology the topology */
RONDO_API rondo_status_t rondo_topology_diagnose(rondo_topology_review_t* review, rondo_topology_t topology);

/** What on a running host slows collectives down and no description shows: ACS of PCI switches, IOMMU, limits
 * of this process and its control group. No limits are known of these findings.
 * @param[out] review the review; NULL on failure
 * @param root a folder with sys and proc of another host; NULL: this host
 * @return ::RONDO_INVALID_ARGUMENT if the folder has neither */
RONDO_API rondo_status_t rondo_topology_diagnose_host(rondo_topology_review_t* review, const char* root);

/** A finding of a review.
 * @param review the review, to which the strings belong
 * @param index from 0
 * @param[in,out] finding the finding; its text is NULL from the last one's index + 1 on */
RONDO_API rondo_status_t rondo_topology_finding(rondo_topology_review_t review, int index,
                                                rondo_topology_finding_t* finding);

/** Frees a review.
 * @param review the review, or NULL */
RONDO_API rondo_status_t rondo_topology_review_free(rondo_topology_review_t review);
/** @} */

/** @name Rings
 * @{ */

/** The fastest rings that were found. Set size before use. */
typedef struct {
  size_t size;      /**< sizeof(rondo_topology_rings_t) in the caller's version of this header. */
  double bandwidth; /**< Bus bandwidth of all channels in GB/s. */
  double ceiling;   /**< Bus bandwidth in GB/s that no rings exceed, by the narrowest cut; they need not reach
                       it. */
  int channels;     /**< Rings side by side. */
  int optimal;      /**< 1: no rings over the best paths are faster; 0: faster ones may exist. */
} rondo_topology_rings_t;

/** One ring. Set size before use. */
typedef struct {
  size_t size;      /**< sizeof(rondo_topology_ring_t) in the caller's version of this header. */
  double bandwidth; /**< Of each hop, GB/s. */
  const int* nodes; /**< In the order of the ring, each GPU, and between hosts the NICs by which it leaves one
                       and enters the next; the last leads to the first. Belongs to the topology. */
  int length;       /**< Number of nodes. */
} rondo_topology_ring_t;

/** Searches for the fastest rings through all GPUs, as rondo_topology_plan() does for trees.
 * @param topology the topology
 * @param all_links as in rondo_topology_limit()
 * @param[in,out] rings the rings */
RONDO_API rondo_status_t rondo_topology_rings(rondo_topology_t topology, int all_links,
                                              rondo_topology_rings_t* rings);

/** One of these rings.
 * @param topology the topology
 * @param all_links as in rondo_topology_limit()
 * @param index from 0
 * @param[in,out] ring the ring */
RONDO_API rondo_status_t rondo_topology_ring(rondo_topology_t topology, int all_links, int index,
                                             rondo_topology_ring_t* ring);

/** A link that a hop of a ring crosses. Set size before use. */
typedef struct {
  size_t size;      /**< sizeof(rondo_topology_ring_hop_t) in the caller's version of this header. */
  int channel;      /**< Index of the ring. -1: there is no such hop. */
  int from;         /**< Node: one of the ring's nodes. */
  int to;           /**< Node: the one after it. */
  int link;         /**< The link. Those from one node to the next follow one another. */
  double bandwidth; /**< What it carries of this hop, GB/s. */
} rondo_topology_ring_hop_t;

/** A link that these rings cross, by channel and then along the ring.
 * @param topology the topology
 * @param all_links as in rondo_topology_limit()
 * @param index from 0
 * @param[in,out] hop the hop; its channel is -1 from the last one's index + 1 on */
RONDO_API rondo_status_t rondo_topology_ring_hop(rondo_topology_t topology, int all_links, int index,
                                                 rondo_topology_ring_hop_t* hop);

/** Writes the part of these rings on the first host as NCCL's graph XML, which NCCL_GRAPH_FILE names: as
 * channels of equal speed, of one NVLink or xGMI link at most.
 * @param topology the topology
 * @param all_links as in rondo_topology_limit()
 * @param path the file; "-": standard output */
RONDO_API rondo_status_t rondo_topology_save_graph(rondo_topology_t topology, int all_links,
                                                   const char* path);

/** What a graph of NCCL gives on the machine. Set size before use. */
typedef struct {
  size_t size;         /**< sizeof(rondo_topology_graph_t) in the caller's version of this header. */
  int id;              /**< NCCL's number. */
  const char* pattern; /**< "ring", "tree", "balanced tree", "split tree", "NVLS" or "collnet". */
  int channels;        /**< Number of channels. */
  double stated;       /**< GB/s of all channels as the file states them. */
  double bandwidth;  /**< Bus bandwidth in GB/s that the links allow for these orders, channels as fast as the
                          file has them in proportion; 0: see limit. */
  const char* limit; /**< The busiest link, or why there is no bandwidth. */
} rondo_topology_graph_t;

/** Reads NCCL's graph XML (NCCL_GRAPH_DUMP_FILE) and evaluates each graph on the machine. If that has several
 * hosts, data goes through each host as the file has it.
 * @param topology the topology
 * @param path the file
 * @param all_links as in rondo_topology_limit()
 * @param[out] first index of its first graph, for rondo_topology_graph()
 * @param[out] count number of its graphs
 * @return ::RONDO_INVALID_ARGUMENT, with file, line and what was expected, if it is not such a file, or has
 * GPUs or ports that the machine does not have */
RONDO_API rondo_status_t rondo_topology_load_graphs(rondo_topology_t topology, const char* path,
                                                    int all_links, int* first, int* count);

/** A graph that was read.
 * @param topology the topology
 * @param index from rondo_topology_load_graphs()
 * @param[in,out] graph the graph */
RONDO_API rondo_status_t rondo_topology_graph(rondo_topology_t topology, int index,
                                              rondo_topology_graph_t* graph);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RONDO_TOPOLOGY_H */
