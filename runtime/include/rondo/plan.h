/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plan.h
 * @brief Rondo's C API for plans: what the ranks of a collective do, step by step, and how long that takes.
 *
 * A plan is what one algorithm does for one collective at all ranks. It comes from the table of algorithms,
 * from the links of a machine, or from a file in MSCCL's XML. It can be read, verified, simulated and written
 * to such a file; nothing here carries it out. A communicator uses an algorithm by RONDO_ALGORITHM.
 *
 * Conventions are those of rondo.h. Any number of threads may use one plan, or one simulation, at once.
 * Strings belong to what they came from and live as long as it does. Times are in seconds, sizes in bytes,
 * bandwidths in GB/s, 10^9 bytes a second in one direction; those of collectives are bus bandwidths, as
 * nccl-tests defines them. Errors are in rondo_last_error(NULL). Elements of lists have indices from 0.
 */
#ifndef RONDO_PLAN_H
#define RONDO_PLAN_H

#include <rondo/rondo.h>
#include <rondo/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What all ranks do in one collective. */
typedef struct rondo_plan* rondo_plan_t;

/** @name Making plans
 * @{ */

/** The call that a plan is for. Initialize with ::RONDO_PLAN_CALL_INITIALIZER, then change fields. */
typedef struct {
  size_t size;            /**< sizeof(rondo_plan_call_t) in the caller's version of this header. */
  const char* collective; /**< "all_reduce", "broadcast", ... */
  int ranks;              /**< Number of ranks, 1 to 256. */
  int root;               /**< The root's rank, for collectives that have one. */
  int group; /**< For algorithms over levels: consecutive ranks that are close to one another, such as
                  those of a host; 1: all are alike. */
  const int* weights; /**< How many equal parts of a vector each rank of a group carries between groups:
                           as many numbers as a group has ranks, 1 to 64 each; NULL: one part each. */
} rondo_plan_call_t;

/** A ::rondo_plan_call_t of all_reduce with every other setting at its default. */
#define RONDO_PLAN_CALL_INITIALIZER \
  { sizeof(rondo_plan_call_t), "all_reduce", 2, 0, 1, NULL }

/** The plan of an algorithm of the table.
 * @param[out] plan the plan; NULL on failure
 * @param call the call
 * @param algorithm one of rondo_algorithm_names()'s
 * @return ::RONDO_UNSUPPORTED if the algorithm does not serve such calls */
RONDO_API rondo_status_t rondo_plan_named(rondo_plan_t* plan, const rondo_plan_call_t* call,
                                          const char* algorithm);

/** The plan that a communicator would search for by the links of a host (docs/algorithms.md): ranks are its
 * GPUs in order. The search takes tenths of a second on most machines.
 * @param[out] plan the plan; NULL on failure
 * @param call the call; its ranks are as many GPUs, the first ones, and its group is 1
 * @param algorithm "forest" or "rings"
 * @param topology the host; it may be freed before the plan
 * @return ::RONDO_UNSUPPORTED if there is no such plan: the collective has none, or there are several hosts
 */
RONDO_API rondo_status_t rondo_plan_found(rondo_plan_t* plan, const rondo_plan_call_t* call,
                                          const char* algorithm, rondo_topology_t topology);

/** Reads an algorithm in MSCCL's XML. That it does what its collective is for is left to rondo_plan_verify().
 * @param[out] plan the plan; NULL on failure
 * @param path the file
 * @return ::RONDO_INVALID_ARGUMENT, with file, line and what was expected, if it is no such file, or its
 * steps cannot all run; ::RONDO_UNSUPPORTED if it is too large */
RONDO_API rondo_status_t rondo_plan_import(rondo_plan_t* plan, const char* path);

/** Writes a plan in MSCCL's XML. A sum of several operands becomes several sums of two, which may
 * change its order.
 * @param plan the plan
 * @param path the file; "-": standard output
 * @return ::RONDO_UNSUPPORTED, with what and where, if such files cannot say what it does: for other
 * collectives than all_reduce, all_gather, reduce_scatter and all_to_all, or if a step waits for the tile
 * before */
RONDO_API rondo_status_t rondo_plan_export(rondo_plan_t plan, const char* path);

/** Frees a plan, and all strings that came from it.
 * @param plan the plan, or NULL */
RONDO_API rondo_status_t rondo_plan_free(rondo_plan_t plan);
/** @} */

/** @name Reading plans
 * @{ */

/** What a plan is. Set size before use. */
typedef struct {
  size_t size;            /**< sizeof(rondo_plan_info_t) in the caller's version of this header. */
  const char* name;       /**< Of its algorithm: "ring"; of a file the one that it states. */
  const char* collective; /**< "all_reduce", ... */
  int ranks;              /**< Number of ranks. */
  int root;               /**< The root's rank, 0 for collectives without one. */
  int parts;              /**< Equal parts that each block of a buffer, or the vector, is divided into. */
  int chunks;             /**< Parts of the longer of a rank's buffers. */
} rondo_plan_info_t;

/** What a rank does. Set size before use. */
typedef struct {
  size_t size;      /**< sizeof(rondo_plan_rank_t) in the caller's version of this header. */
  int lanes;        /**< Lists of steps that run side by side. */
  int steps;        /**< Steps of all of them. */
  int scratch;      /**< Chunks of memory beside the caller's. */
  int64_t messages; /**< Messages that it sends. */
  int64_t sent;     /**< Chunks in these. */
} rondo_plan_rank_t;

/** What a plan is.
 * @param plan the plan
 * @param[in,out] info what it is */
RONDO_API rondo_status_t rondo_plan_info(rondo_plan_t plan, rondo_plan_info_t* info);

/** What a rank does in it.
 * @param plan the plan
 * @param rank from 0
 * @param[in,out] of_rank what it does */
RONDO_API rondo_status_t rondo_plan_rank(rondo_plan_t plan, int rank, rondo_plan_rank_t* of_rank);

/** A step as text: "recv 3 + input[2] -> output[2], send 1".
 * @param plan the plan
 * @param rank from 0
 * @param lane from 0
 * @param index from 0
 * @param[out] text the step; NULL from the lane's last one's index + 1 on */
RONDO_API rondo_status_t rondo_plan_step(rondo_plan_t plan, int rank, int lane, int index, const char** text);

/** What is proved of a plan. Set size before use. */
typedef struct {
  size_t size;  /**< sizeof(rondo_plan_proof_t) in the caller's version of this header. */
  int verifies; /**< 1: with some number of slots, 8 at most, every rank gets what it should; else 0. */
  int slots;    /**< The fewest slots of a connection with which it does; 0: it does not. */
  int in_place; /**< 1: also if input and output share memory. */
  const char*
      association;   /**< The order in which results combine operands: "own order", "rank order" or "one fold"
                          (rank order, rounded once); "" if it does not reduce, or does not verify. */
  const char* fault; /**< If it does not verify, what is wrong and where; else "". */
} rondo_plan_proof_t;

/** Verifies a plan by running it with symbols for data, once; later calls return the same.
 * @param plan the plan
 * @param[in,out] proof what is proved
 * @return ::RONDO_UNSUPPORTED if the plan is too large to be verified */
RONDO_API rondo_status_t rondo_plan_verify(rondo_plan_t plan, rondo_plan_proof_t* proof);
/** @} */

/** @name Choosing plans
 * @{ */

/** Ranks that need not exist. Initialize with ::RONDO_PLAN_JOB_INITIALIZER, then change fields. */
typedef struct {
  size_t size; /**< sizeof(rondo_plan_job_t) in the caller's version of this header. */
  int ranks;   /**< Number of ranks, 1 to 256. */
  int hosts;   /**< Number of hosts, of equally many consecutive ranks each. */
  int cpus;    /**< Number of CPUs that the ranks of a host may use; 0: as many as the calling thread. */
  int group;   /**< Consecutive ranks that are close to one another; 0: as RONDO_GROUP has it, or else those
                    of a host. */
  rondo_topology_t topology; /**< The host that "forest" and "rings" follow, if RONDO_ALGORITHM requests them;
                                  NULL: this one. */
} rondo_plan_job_t;

/** A ::rondo_plan_job_t of two ranks of this host. */
#define RONDO_PLAN_JOB_INITIALIZER \
  { sizeof(rondo_plan_job_t), 2, 1, 0, 0, NULL }

/** Explains how a communicator of these ranks would make a call on host memory, in the words of
 * rondo_explain(). Environment variables such as RONDO_ALGORITHM have their effect; messages cost what they
 * were measured to cost on this host, and between hosts what is built in for TCP.
 * @param job the ranks
 * @param collective "all_reduce", "broadcast", ...
 * @param count elements, as the collective counts them
 * @param type their type
 * @param op the operation, if the collective reduces
 * @param root the root, if it has one
 * @param[out] text the explanation, with times in us or a unit beside them, sizes in bytes and bandwidths in
 * GB/s; valid until this thread's next rondo_plan_choice()
 * @param[out] algorithm the name of the chosen algorithm, valid forever; or NULL
 * @return ::RONDO_UNSUPPORTED, with the reason, if the call could not be made */
RONDO_API rondo_status_t rondo_plan_choice(const rondo_plan_job_t* job, const char* collective, size_t count,
                                           rondo_type_t type, rondo_op_t op, int root, const char** text,
                                           const char** algorithm);
/** @} */

/** @name Simulating plans
 * @{ */

/** What a plan runs on. Initialize with ::RONDO_PLAN_NETWORK_INITIALIZER, then change fields. */
typedef struct {
  size_t size;               /**< sizeof(rondo_plan_network_t) in the caller's version of this header. */
  rondo_topology_t topology; /**< Messages share the links of this machine, whose first GPUs are the ranks;
                                NULL: each rank has a port out and one in, of equal bandwidth. */
  int all_links;             /**< With a topology, as in rondo_topology_limit(). */
  double bandwidth;          /**< Of a port, GB/s; not used with a topology. */
  double latency;            /**< From the last byte's departure to its arrival, in seconds. */
  int slots;    /**< Messages that a connection holds until its receiver takes them, 1 to 1,024. */
  double bytes; /**< Of the vector: the longer of a rank's input and output. */
  int tiles;    /**< Stretches of the vector for each of which the plan runs once, 1 to 65,536. */
} rondo_plan_network_t;

/** As many tiles as programs usually predict the time of a call in, unless it moves nothing. */
#define RONDO_PLAN_TILES 8

/** A ::rondo_plan_network_t of ports of 25 GB/s and 2 microseconds, for 64 MiB in one tile. */
#define RONDO_PLAN_NETWORK_INITIALIZER \
  { sizeof(rondo_plan_network_t), NULL, 0, 25.0, 2e-6, 2, 67108864.0, 1 }

/** A run of a plan in simulated time. */
typedef struct rondo_plan_run* rondo_plan_run_t;

/** How long a plan takes, and why. Set size before use. */
typedef struct {
  size_t size;    /**< sizeof(rondo_plan_time_t) in the caller's version of this header. */
  double seconds; /**< Until the last rank has done its last step. */
  double rounds;  /**< Messages that follow one another, of the longest such sequence in a tile. */
  double latency; /**< That many latencies, in seconds. */
  const char*
      busiest; /**< The link, or port, that takes longest for what it carries: "NVLink gpu0 -> gpu3". */
  double busiest_bytes; /**< What it carries. */
  double busiest_time;  /**< How long that takes at its bandwidth, in seconds. */
  double waits;     /**< The rest of the seconds: waiting for other ranks, filling of pipelines. Negative: so
                         much of the rounds passes while the busiest link is busy. */
  double bandwidth; /**< Bus bandwidth, GB/s; 0 of a barrier, and of no bytes. */
  double limit;     /**< With a topology: the bus bandwidth that plans reach on it, GB/s, as
                         rondo_topology_limit() has it; 0: there is none. */
  int messages;     /**< Number of messages. */
} rondo_plan_time_t;

/** A message of a run. Set size before use. */
typedef struct {
  size_t size; /**< sizeof(rondo_plan_message_t) in the caller's version of this header. */
  int from;    /**< Rank. */
  int to;      /**< Rank. */
  int port;    /**< Which of their connections. */
  int lane;    /**< Of the sender, as is step: see rondo_plan_step(). */
  int step;    /**< The step that sends it. */
  int tile;    /**< From 0. */
  int chunk; /**< The first chunk that it carries, of the longer buffer of a rank (see rondo_plan_info_t). */
  int count; /**< Chunks. */
  double bytes;   /**< Its length. */
  double begins;  /**< When its first byte leaves. */
  double ends;    /**< When its last byte leaves. */
  double arrives; /**< When it arrives. */
} rondo_plan_message_t;

/** Runs a plan in simulated time. Arithmetic takes none.
 * @param[out] run the run; NULL on failure
 * @param plan the plan; it may be freed before the run
 * @param network what it runs on, or NULL for the defaults
 * @return ::RONDO_INTERNAL_ERROR, with the step, if it never ends; ::RONDO_UNSUPPORTED if two of its GPUs
 * have no path, or there are more than 1,000,000 messages */
RONDO_API rondo_status_t rondo_plan_simulate(rondo_plan_run_t* run, rondo_plan_t plan,
                                             const rondo_plan_network_t* network);

/** How long it took.
 * @param run the run
 * @param[in,out] time how long, and why */
RONDO_API rondo_status_t rondo_plan_time(rondo_plan_run_t run, rondo_plan_time_t* time);

/** Says in several lines what the time consists of: rounds, the busiest link and the rest, each in
 * seconds and percent of the time; then the bus bandwidth in GB/s, and percent of the machine's limit.
 * @param run the run
 * @param[out] text the explanation */
RONDO_API rondo_status_t rondo_plan_explain(rondo_plan_run_t run, const char** text);

/** A message, in the order in which the last bytes of messages leave.
 * @param run the run
 * @param index from 0 to below the number of rondo_plan_time_t
 * @param[in,out] message the message */
RONDO_API rondo_status_t rondo_plan_message(rondo_plan_run_t run, int index, rondo_plan_message_t* message);

/** Frees a run.
 * @param run the run, or NULL */
RONDO_API rondo_status_t rondo_plan_run_free(rondo_plan_run_t run);
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* RONDO_PLAN_H */
