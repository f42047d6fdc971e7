/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rondo.h
 * @brief Rondo's C API: collective communication between processes and threads.
 *
 * Conventions
 * - Every function returns a ::rondo_status_t; 0 (::RONDO_OK) is success. rondo_last_error() returns
 *   a sentence that names the rank, the call and the cause, and ends with the id of its kind, as in
 *   "... [R0203]": `rondo-explain R0203` and docs/troubleshooting.md say what to do.
 * - Counts are numbers of elements of the given data type, never bytes, and may exceed 2^31. A count
 *   of 0 is legal everywhere; the buffers may then be NULL.
 * - `stream` selects how a call runs. NULL: on the caller's thread, returning when it is done. A queue
 *   from rondo_queue_create(): asynchronously, in queue order. A CUDA stream (rondo_cuda_stream()): as
 *   part of that stream. Calls on one communicator run in the order in which they are made, on the
 *   caller's thread and any queues alike: a send with a NULL stream waits for a receive that is on a queue
 *   before it. Calls overlap in groups, on duplicates, and with messages that rondo_isend() and
 *   rondo_irecv() started.
 * - Buffers are in host memory or, if the rank has a GPU (::rondo_config_t::device), in memory that
 *   this GPU can access. A collective runs on the GPU if a buffer is GPU or managed memory, if it is
 *   issued on a CUDA stream, or, on a rank with a GPU, if no buffer is in host memory; it must run on
 *   the GPU at all ranks or at none. With a NULL stream or a queue, a GPU collective runs after the
 *   work already given to the device's default stream. In GPU reductions, buffers must be aligned to
 *   their elements.
 * - In place: all_reduce, broadcast, reduce, scan, exscan, all_to_all with `sendbuf == recvbuf`;
 *   all_gather and gather with `sendbuf == recvbuf + rank * count`; reduce_scatter and scatter with
 *   `recvbuf == sendbuf + rank * count` (elements; the _v forms use their displacements, and
 *   all_to_all_v in place has the same counts and displacements for both buffers). Any other overlap
 *   of the two buffers is an error.
 * - Threads: only one thread at a time may use a communicator, except for rondo_abort(),
 *   rondo_async_error(), rondo_last_error() and others whose comment says "any thread". Different threads
 *   may use different communicators concurrently.
 * - All ranks of a communicator make the same calls in the same order. Ranks that disagree
 *   (collective, count, type, operation, root) get ::RONDO_MISMATCH and a sentence that names the
 *   ranks and both calls.
 * - rondo_split(), rondo_duplicate(), rondo_shrink(), rondo_finalize() and rondo_quiesce() are not allowed
 *   within a group.
 * - A forked child cannot use what its parent created before the fork: every call there returns
 *   ::RONDO_INVALID_USAGE at once. The same holds in a process that has closed all its descriptors.
 *   A child may start Rondo if its parent had no communicator, no queue and no unique id for which ranks
 *   were still to join, and if none of its threads was making one (rondo_init() and the like).
 * - Every wait ends: with success, when a peer dies (::RONDO_REMOTE_ERROR, within a second), when
 *   any rank calls rondo_abort(), or at the deadline (::RONDO_TIMEOUT).
 */
#ifndef RONDO_RONDO_H
#define RONDO_RONDO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this header: major * 10000 + minor * 100 + patch. */
#define RONDO_VERSION 100

/** Marks the functions that librondo.so exports. */
#define RONDO_API __attribute__((visibility("default")))

/** @name Outcomes
 * @{ */

/** The result of a call. */
typedef enum {
  RONDO_OK = 0,               /**< Success. */
  RONDO_INVALID_ARGUMENT = 1, /**< An argument is out of its range; nothing was done. */
  RONDO_INVALID_USAGE = 2,    /**< The call is not allowed in this state; nothing was done. */
  RONDO_SYSTEM_ERROR = 3,     /**< The operating system reported an error; the text says which. */
  RONDO_INTERNAL_ERROR = 4,   /**< A fault in Rondo itself. */
  RONDO_REMOTE_ERROR = 5,     /**< A peer died or left; the text names it. */
  RONDO_TIMEOUT = 6,          /**< The deadline passed; the text names the rank that did not answer. */
  RONDO_MISMATCH = 7,         /**< Ranks disagree about a call; the text names both calls. */
  RONDO_ABORTED = 8,          /**< Some rank called rondo_abort(). */
  RONDO_IN_PROGRESS = 9,      /**< Not done yet: of queries, waits with a limit, rondo_deregister(). */
  RONDO_UNSUPPORTED = 10,     /**< Legal, but this build cannot do it. */
  RONDO_OUT_OF_MEMORY = 11    /**< Out of memory. */
} rondo_status_t;

/** The name of a status, for example "RONDO_TIMEOUT". Never NULL. */
RONDO_API const char* rondo_status_string(rondo_status_t status);

/** The version of the loaded library, encoded as ::RONDO_VERSION is.
 * @param[out] version the version */
RONDO_API rondo_status_t rondo_version(int* version);
/** @} */

/** @name Communicators
 * @{ */

/** One rank's membership in a group of ranks. */
typedef struct rondo_comm* rondo_comm_t;

/** A queue of asynchronous calls; NULL means the caller's thread. */
typedef struct rondo_stream* rondo_stream_t;

/** Bytes in a ::rondo_unique_id_t. */
#define RONDO_UNIQUE_ID_BYTES 128

/** What ranks need to find and trust one another: addresses and a random secret. Treat it as a
 * password: any process that has it can join. */
typedef struct {
  char internal[RONDO_UNIQUE_ID_BYTES]; /**< Opaque. */
} rondo_unique_id_t;

/** Settings of a communicator. Initialize with ::RONDO_CONFIG_INITIALIZER, then change fields. */
typedef struct {
  size_t size;             /**< sizeof(rondo_config_t) in the caller's version of this header. */
  int64_t timeout_ms;      /**< Deadline of each call; 0: RONDO_TIMEOUT or its default. */
  const char* transport;   /**< "local", "shm", "tcp", ...; NULL: RONDO_TRANSPORT or the best. */
  const char* algorithm;   /**< In RONDO_ALGORITHM's syntax, e.g. "all_reduce=ring", or with the executor,
                                "all_reduce=ring@connections", by size, "all_reduce=two_shot:64K,ring", or in
                                a file, "@rules.txt", which is read now; NULL: RONDO_ALGORITHM. */
  const char* name;        /**< Appears in every message about the communicator. NULL: "world"; for a split
                                or duplicate, "parent's name/number of the split.color"; for a shrunk one,
                                "parent's name/shrunk". */
  const char* device;      /**< The rank's GPU: "host" (none), "cuda:N", "cuda" (the thread's current device,
                                or the first), "cuda:0,1" (these devices, assigned to rondo_init_all()'s ranks
                                in turn); NULL: RONDO_DEVICE, or the thread's current device if it has one. */
  int64_t init_timeout_ms; /**< Deadline of initialization; 0: RONDO_INIT_TIMEOUT or its default. */
  const char* protocol;    /**< Between GPUs: "simple", "ll" or "ll128"; NULL: RONDO_PROTOCOL. */
  int channels;            /**< Maximum number between two GPUs; 0: RONDO_CHANNELS or its default. */
  int traffic_class;       /**< Of InfiniBand and RoCE packets, 1 to 255, unless RONDO_IB_TRAFFIC_CLASS or
                                NCCL_IB_TC is set; 0: the default. */
} rondo_config_t;

/** A ::rondo_config_t with every setting at its default. */
#define RONDO_CONFIG_INITIALIZER \
  { sizeof(rondo_config_t), 0, NULL, NULL, NULL, NULL, 0, NULL, 0, 0 }

/** Makes a unique id and starts listening for the ranks that will use it. The calling process must
 * live until all ranks have joined; it usually hosts rank 0. One id makes one communicator.
 * @param[out] id the id; the caller distributes it to every rank */
RONDO_API rondo_status_t rondo_get_unique_id(rondo_unique_id_t* id);

/** Joins a communicator; returns once all ranks have joined.
 * @param[out] comm the communicator; NULL on failure
 * @param nranks number of ranks, at least 1
 * @param id the same at all ranks
 * @param rank this rank, 0 to nranks - 1
 * @param config settings, or NULL */
RONDO_API rondo_status_t rondo_init_rank(rondo_comm_t* comm, int nranks, const rondo_unique_id_t* id,
                                         int rank, const rondo_config_t* config);

/** Makes a communicator whose ranks all live in this process.
 * @param[out] comms array of nranks communicators; all NULL on failure
 * @param nranks number of ranks, at least 1
 * @param config settings, or NULL */
RONDO_API rondo_status_t rondo_init_all(rondo_comm_t* comms, int nranks, const rondo_config_t* config);

/** Joins the communicator of all processes of this job.
 * @param[out] comm the communicator; NULL on failure
 * @param method how to find the others: "env://" (also NULL) reads RANK, WORLD_SIZE, MASTER_ADDR and
 *   MASTER_PORT, or the variables that Open MPI, MPICH or Slurm set; "tcp://host:port?rank=R&size=N" or
 *   "file:///path?rank=R&size=N" (rank and size default to the environment's; other keys are errors).
 *   With "env://", a process started alone forms a communicator of one rank.
 * @param config settings, or NULL */
RONDO_API rondo_status_t rondo_init(rondo_comm_t* comm, const char* method, const rondo_config_t* config);

/** The color of a rank that gets no communicator from rondo_split(). */
#define RONDO_NO_COLOR (-1)

/** Splits a communicator by color; collective.
 * @param comm the communicator to split; stays usable
 * @param color at least 0; ranks of the same color form one communicator. ::RONDO_NO_COLOR: none
 * @param key orders the new ranks; ties are broken by the old rank
 * @param[out] newcomm the new communicator; NULL for ::RONDO_NO_COLOR
 * @param config settings, or NULL for those of @p comm */
RONDO_API rondo_status_t rondo_split(rondo_comm_t comm, int color, int key, rondo_comm_t* newcomm,
                                     const rondo_config_t* config);

/** Duplicates a communicator; collective. Calls on one never match calls on the other.
 * @param comm the communicator to duplicate
 * @param[out] newcomm the duplicate */
RONDO_API rondo_status_t rondo_duplicate(rondo_comm_t comm, rondo_comm_t* newcomm);

/** For rondo_shrink(): leaves out the ranks that rondo_gone_ranks() names. */
#define RONDO_THE_GONE (-1)

/** Makes a communicator of the remaining ranks, even after a rank has died or @p comm has failed or was
 * aborted. Every rank that is not excluded makes the call, with the same list; excluded ranks do not. All
 * calls on @p comm must be complete; it is left unchanged and must still be freed with rondo_destroy().
 * @param comm the communicator whose ranks to use
 * @param excluded ranks to leave out; the others keep their order
 * @param nexcluded number of ranks in @p excluded. ::RONDO_THE_GONE: @p excluded is not used, and all ranks
 * that live make the call; if one of them dies meanwhile, the others go on without it
 * @param[out] newcomm the new communicator; NULL on failure
 * @param config settings, or NULL for those of @p comm
 * @return ::RONDO_REMOTE_ERROR if a rank that was not excluded is known to be dead, ::RONDO_TIMEOUT if one
 * does not make the call within RONDO_INIT_TIMEOUT */
RONDO_API rondo_status_t rondo_shrink(rondo_comm_t comm, const int* excluded, int nexcluded,
                                      rondo_comm_t* newcomm, const rondo_config_t* config);

/** Completes all calls of this communicator and checks for messages that were never received; collective.
 * Afterwards only rondo_destroy() and the queries are allowed.
 *
 * While the rank has other communicators from the same initialization (made by rondo_split() or
 * rondo_duplicate()), it waits for no other rank: a rank that finalizes its communicators in another order
 * may need this one. When finalizing the last of them, it waits, until the deadline, for the other ranks of
 * @p comm to finalize it too, so that calls made by only some ranks are detected. It does not wait for ranks
 * that have left, or that are in a call of another communicator or are finalizing one. It then tells the
 * other ranks that it is leaving, in at most half a second, so that they do not take its exit for a death.
 * @param comm the communicator
 * @return ::RONDO_TIMEOUT if a rank has not finalized; the text names it and says what it is doing.
 *   ::RONDO_MISMATCH if a message was not received, or a send of this rank that its receiver has to take part
 *   in was not complete; the text names both ranks. A message that fits in one slot, from a rank of this
 * process from which this rank has never received, may go unnoticed */
RONDO_API rondo_status_t rondo_finalize(rondo_comm_t comm);

/** Changes the deadline of later calls. Calls already waiting may keep theirs. Any thread may call this.
 * @param comm the communicator
 * @param timeout_ms at least 1 */
RONDO_API rondo_status_t rondo_set_timeout(rondo_comm_t comm, int64_t timeout_ms);

/** Completes all calls of this communicator without waiting for other ranks to end theirs. Afterwards only
 * rondo_leave(), rondo_destroy() and the queries are allowed.
 * @param comm the communicator */
RONDO_API rondo_status_t rondo_quiesce(rondo_comm_t comm);

/** Frees a communicator. Finalizes it first, as rondo_finalize() does, unless that was done or it has failed;
 * only that step waits for other ranks. Works in every state; NULL is allowed. If the rank's last
 * communicator has failed, the rank leaves the job at once (rank 0 within 1 s, if ranks are still starting),
 * and any communicators that other ranks still share with it fail too.
 * @param comm the communicator */
RONDO_API rondo_status_t rondo_destroy(rondo_comm_t comm);

/** Frees a communicator as rondo_destroy() does, but does not wait for the other ranks to finalize it. From
 * then on their calls that need this rank fail, within seconds rather than at once, since a call that it took
 * part in may still be completing.
 * @param comm the communicator; NULL is allowed */
RONDO_API rondo_status_t rondo_leave(rondo_comm_t comm);

/** Ends all calls in flight, here and at every other rank, with ::RONDO_ABORTED. Needs no cooperation from
 * peers. Any thread may call it. The communicator must still be freed with rondo_destroy().
 * @param comm the communicator */
RONDO_API rondo_status_t rondo_abort(rondo_comm_t comm);

/** The caller's rank in the communicator.
 * @param comm the communicator
 * @param[out] rank 0 to size - 1 */
RONDO_API rondo_status_t rondo_rank(rondo_comm_t comm, int* rank);

/** The number of ranks in the communicator.
 * @param comm the communicator
 * @param[out] size at least 1 */
RONDO_API rondo_status_t rondo_size(rondo_comm_t comm, int* size);

/** The GPU of the caller's rank.
 * @param comm the communicator
 * @param[out] device CUDA device number in this process; -1: the rank uses none */
RONDO_API rondo_status_t rondo_device(rondo_comm_t comm, int* device);

/** The GPU that "cuda" means in ::rondo_config_t::device on the calling thread.
 * @param[out] device the thread's current device, or else the first; -1 if this process sees none */
RONDO_API rondo_status_t rondo_current_device(int* device);

/** A sentence that describes the last error, with the id of its kind at the end: "[R0203]". Ids keep their
 * meaning in later versions, in which an error may have a more specific one; programs decide by status codes.
 * @param comm a communicator, or NULL for the last error of any call by this thread; an error returned to
 * this thread by a function without a communicator that ends calls (rondo_group_end(), rondo_group_cancel(),
 * and those that wait for a queue, ask about it or destroy it) counts for every communicator
 * @return a string, empty if nothing failed; valid until the next call on @p comm (or by this
 *   thread). Never NULL. */
RONDO_API const char* rondo_last_error(rondo_comm_t comm);

/** The algorithms that any communicator's collective can be asked to use, for rondo_config_t::algorithm.
 * docs/algorithms.md has those that depend on its machine or on a file: "forest", "rings", "file:PATH".
 * @param collective "all_reduce", "broadcast", ...
 * @param[out] names their names, separated by commas; a static string */
RONDO_API rondo_status_t rondo_algorithm_names(const char* collective, const char** names);

/** The algorithm of the communicator's latest collective. Any thread.
 * @param comm the communicator
 * @param[out] name its name; a static string. Calls on GPU memory within a host mostly use no algorithm and
 * report "gpu_direct" (one process), "gpu_staged" (several), or "gpu_windows" if peers read all of this
 * rank's data in its registered memory. "" before the first call. */
RONDO_API rondo_status_t rondo_last_algorithm(rondo_comm_t comm, const char** name);

/** The transport between the caller and another rank of the communicator. Any thread.
 * @param comm the communicator
 * @param peer the other rank
 * @param[out] name "local", "shm", "tcp" ...; "self" for the caller's own rank; a static string */
RONDO_API rondo_status_t rondo_transport(rondo_comm_t comm, int peer, const char** name);

/** Whether something has failed outside a call: a peer's death, an abort, a failed queue.
 * @param comm the communicator
 * @param[out] status ::RONDO_OK, or the first error, which is sticky */
RONDO_API rondo_status_t rondo_async_error(rondo_comm_t comm, rondo_status_t* status);

/** The ranks that are known here to have died or left. After a call has failed with ::RONDO_REMOTE_ERROR
 * because of a death, that rank is among them; others may not know of it yet. A rank that is only late, or
 * stopped, is not gone. Any thread.
 * @param comm the communicator, also one that has failed
 * @param[out] ranks room for as many as @p comm has ranks; they are in ascending order
 * @param[out] nranks how many there are */
RONDO_API rondo_status_t rondo_gone_ranks(rondo_comm_t comm, int* ranks, int* nranks);

/** Writes the latest 256 calls of each of this process's communicators to a file, as happens by itself once a
 * communicator fails if RONDO_FLIGHT_FILE is set; `rondo-flight` makes one story of the files of all ranks.
 * Waits for no rank and disturbs no call. Any thread.
 * @param file its path; %h in it stands for the host's name, %p for the process id, %r for the rank in the
 *   process's first communicator, %% for a percent sign. An existing file is replaced. NULL: the file that
 *   RONDO_FLIGHT_FILE named when a communicator was last created */
RONDO_API rondo_status_t rondo_write_flight_file(const char* file);
/** @} */

/** @name Types and operations
 * @{ */

/** The type of an element: one of the values below, or one made by rondo_type_create(). */
typedef int rondo_type_t;

/** Element types. Floats of 8 and 16 bits are reduced in float32. */
enum {
  RONDO_INT8 = 0,         /**< int8_t */
  RONDO_UINT8 = 1,        /**< uint8_t */
  RONDO_INT16 = 2,        /**< int16_t */
  RONDO_UINT16 = 3,       /**< uint16_t */
  RONDO_INT32 = 4,        /**< int32_t */
  RONDO_UINT32 = 5,       /**< uint32_t */
  RONDO_INT64 = 6,        /**< int64_t */
  RONDO_UINT64 = 7,       /**< uint64_t */
  RONDO_FLOAT16 = 8,      /**< IEEE 754 binary16 */
  RONDO_BFLOAT16 = 9,     /**< the upper half of a float32 */
  RONDO_FLOAT8_E4M3 = 10, /**< OCP FP8 E4M3: no infinities, largest 448 */
  RONDO_FLOAT8_E5M2 = 11, /**< OCP FP8 E5M2 */
  RONDO_FLOAT32 = 12,     /**< float */
  RONDO_FLOAT64 = 13,     /**< double */
  RONDO_COMPLEX64 = 14,   /**< two floats, real part first */
  RONDO_COMPLEX128 = 15,  /**< two doubles, real part first */
  RONDO_BOOL = 16         /**< one byte, 0 or 1; any other value reads as 1 */
};

/** A reduction: one of the values below, or one made by rondo_op_create() and its siblings. */
typedef int rondo_op_t;

/** Reductions. Integer sums and products wrap. min and max return NaN if any operand is NaN, and
 * order -0 before +0. A result of one operand is a copy of it, since nothing is combined: with a single rank,
 * of a scan at rank 0, and of an exscan at rank 1. */
enum {
  RONDO_SUM = 0,         /**< a + b; logical or on bool */
  RONDO_PROD = 1,        /**< a * b; logical and on bool */
  RONDO_MIN = 2,         /**< the lesser; not on complex */
  RONDO_MAX = 3,         /**< the greater; not on complex */
  RONDO_AVG = 4,         /**< the sum, then one division by the number of ranks (integers: towards
                              zero); not on bool */
  RONDO_BIT_AND = 5,     /**< integers and bool */
  RONDO_BIT_OR = 6,      /**< integers and bool */
  RONDO_BIT_XOR = 7,     /**< integers and bool */
  RONDO_LOGICAL_AND = 8, /**< integers and bool; combining two or more operands gives 0 or 1 */
  RONDO_LOGICAL_OR = 9,  /**< integers and bool; combining two or more operands gives 0 or 1 */
  RONDO_LOGICAL_XOR = 10 /**< integers and bool; combining two or more operands gives 0 or 1 */
};

/** The size of a type in bytes.
 * @param type the type
 * @param[out] bytes its size */
RONDO_API rondo_status_t rondo_type_size(rondo_type_t type, size_t* bytes);

/** Makes a type of any size: contiguous bytes that Rondo moves but never interprets. Its reductions
 * need a user-defined operation, and are refused with ::RONDO_UNSUPPORTED if an element is longer than a slot
 * (RONDO_SLOT_BYTES, by default 64 KiB, between hosts 256 KiB), unless all ranks are on one host and the
 * whole vector is at most RONDO_EXCHANGE_BYTES long.
 * @param bytes size, at least 1 and at most 1 GiB
 * @param[out] type the new type */
RONDO_API rondo_status_t rondo_type_create(size_t bytes, rondo_type_t* type);

/** Frees a type; calls in flight keep it.
 * @param type one from rondo_type_create() */
RONDO_API rondo_status_t rondo_type_destroy(rondo_type_t type);

/** A user-defined reduction: accumulator[i] = accumulator[i] (op) operand[i] for count elements. It
 * must be associative. It runs on a thread that makes a call with it, or on a queue's thread. Elements may be
 * in Rondo's own memory, which is aligned for max_align_t at most (16 bytes): copy those that need more.
 * @param accumulator left operand and result
 * @param operand right operand
 * @param count number of elements
 * @param type their type
 * @param user the pointer given to rondo_op_create() */
typedef void (*rondo_reduce_fn)(void* accumulator, const void* operand, size_t count, rondo_type_t type,
                                void* user);

/** Makes a user-defined reduction.
 * @param fn the function
 * @param commutative nonzero: operands may be combined in any order; 0: always in rank order
 * @param user passed to @p fn; may be NULL
 * @param[out] op the new operation */
RONDO_API rondo_status_t rondo_op_create(rondo_reduce_fn fn, int commutative, void* user, rondo_op_t* op);

/** Makes a pre-multiplied sum: each rank's input is multiplied by that rank's scalar, rounded to the type,
 * then summed.
 * @param scalar one element of @p type, in host or GPU memory; read during this call, after the work already
 * given to the GPU's default stream
 * @param type a built-in type other than bool; the type of the calls that will use the operation
 * @param[out] op the new operation */
RONDO_API rondo_status_t rondo_op_create_premul_sum(const void* scalar, rondo_type_t type, rondo_op_t* op);

/** Frees an operation; calls in flight keep it.
 * @param op one from rondo_op_create() or rondo_op_create_premul_sum() */
RONDO_API rondo_status_t rondo_op_destroy(rondo_op_t op);
/** @} */

/** @name Collectives
 * Every rank of @p comm makes the call. `sendbuf` is read, `recvbuf` written.
 * @{ */

/** recvbuf[i] = reduction over the ranks of sendbuf[i], at every rank.
 * @param sendbuf count elements
 * @param recvbuf count elements
 * @param count elements per rank
 * @param type their type
 * @param op the reduction
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_reduce(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                          rondo_op_t op, rondo_comm_t comm, rondo_stream_t stream);

/** recvbuf = the root's sendbuf, at every rank.
 * @param sendbuf count elements; read at the root only
 * @param recvbuf count elements
 * @param count elements
 * @param type their type
 * @param root the rank that sends
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_broadcast(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                         int root, rondo_comm_t comm, rondo_stream_t stream);

/** Like rondo_all_reduce(), with the result at the root only.
 * @param sendbuf count elements
 * @param recvbuf count elements; written at the root only, elsewhere it may be NULL
 * @param count elements per rank
 * @param type their type
 * @param op the reduction
 * @param root the rank that gets the result
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_reduce(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                      rondo_op_t op, int root, rondo_comm_t comm, rondo_stream_t stream);

/** recvbuf = the concatenation of all ranks' sendbufs.
 * @param sendbuf sendcount elements
 * @param recvbuf size * sendcount elements
 * @param sendcount elements per rank
 * @param type their type
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_gather(const void* sendbuf, void* recvbuf, size_t sendcount,
                                          rondo_type_t type, rondo_comm_t comm, rondo_stream_t stream);

/** Like rondo_all_gather(), with a length for each rank.
 * @param sendbuf recvcounts[rank] elements
 * @param recvbuf rank r's elements go to recvbuf + displs[r]
 * @param recvcounts elements of each rank, the same at every rank
 * @param displs offsets in elements, or NULL: contiguous in rank order
 * @param type their type
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_gather_v(const void* sendbuf, void* recvbuf, const size_t* recvcounts,
                                            const size_t* displs, rondo_type_t type, rondo_comm_t comm,
                                            rondo_stream_t stream);

/** recvbuf[i] = reduction over the ranks of sendbuf[rank * recvcount + i].
 * @param sendbuf size * recvcount elements
 * @param recvbuf recvcount elements
 * @param recvcount elements each rank gets
 * @param type their type
 * @param op the reduction
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_reduce_scatter(const void* sendbuf, void* recvbuf, size_t recvcount,
                                              rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                              rondo_stream_t stream);

/** Like rondo_reduce_scatter(), with a length for each rank; the parts are contiguous in rank order.
 * @param sendbuf the sum of recvcounts elements
 * @param recvbuf recvcounts[rank] elements
 * @param recvcounts elements that each rank gets, the same at every rank
 * @param type their type
 * @param op the reduction
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_reduce_scatter_v(const void* sendbuf, void* recvbuf, const size_t* recvcounts,
                                                rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                                rondo_stream_t stream);

/** Block r of recvbuf = block `rank` of rank r's sendbuf.
 * @param sendbuf size * count elements
 * @param recvbuf size * count elements
 * @param count elements per block
 * @param type their type
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_to_all(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                          rondo_comm_t comm, rondo_stream_t stream);

/** Like rondo_all_to_all(), with a length for each pair of ranks.
 * @param sendbuf sendcounts[r] elements for rank r, from sendbuf + sdispls[r]
 * @param sendcounts elements for each rank
 * @param sdispls offsets in elements, or NULL: contiguous in rank order
 * @param recvbuf recvcounts[r] elements from rank r, at recvbuf + rdispls[r]
 * @param recvcounts elements from each rank; must equal what that rank sends
 * @param rdispls offsets in elements, or NULL: contiguous in rank order
 * @param type their type
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_to_all_v(const void* sendbuf, const size_t* sendcounts,
                                            const size_t* sdispls, void* recvbuf, const size_t* recvcounts,
                                            const size_t* rdispls, rondo_type_t type, rondo_comm_t comm,
                                            rondo_stream_t stream);

/** Like rondo_all_gather(), with the result at the root only.
 * @param sendbuf sendcount elements
 * @param recvbuf size * sendcount elements; root only, elsewhere it may be NULL
 * @param sendcount elements per rank
 * @param type their type
 * @param root the rank that gets the result
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_gather(const void* sendbuf, void* recvbuf, size_t sendcount, rondo_type_t type,
                                      int root, rondo_comm_t comm, rondo_stream_t stream);

/** Like rondo_gather(), with a length for each rank.
 * @param sendbuf sendcount elements
 * @param sendcount elements of this rank
 * @param recvbuf rank r's elements go to recvbuf + displs[r]; root only
 * @param recvcounts elements of each rank; root only
 * @param displs offsets in elements, or NULL: contiguous in rank order; root only
 * @param type their type
 * @param root the rank that gets the result
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_gather_v(const void* sendbuf, size_t sendcount, void* recvbuf,
                                        const size_t* recvcounts, const size_t* displs, rondo_type_t type,
                                        int root, rondo_comm_t comm, rondo_stream_t stream);

/** recvbuf = block `rank` of the root's sendbuf.
 * @param sendbuf size * recvcount elements; root only, elsewhere it may be NULL
 * @param recvbuf recvcount elements
 * @param recvcount elements per rank
 * @param type their type
 * @param root the rank that sends
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_scatter(const void* sendbuf, void* recvbuf, size_t recvcount,
                                       rondo_type_t type, int root, rondo_comm_t comm, rondo_stream_t stream);

/** Like rondo_scatter(), with a length for each rank.
 * @param sendbuf rank r's elements, from sendbuf + displs[r]; root only
 * @param sendcounts elements for each rank; root only
 * @param displs offsets in elements, or NULL: contiguous in rank order; root only
 * @param recvbuf recvcount elements
 * @param recvcount elements for this rank
 * @param type their type
 * @param root the rank that sends
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_scatter_v(const void* sendbuf, const size_t* sendcounts, const size_t* displs,
                                         void* recvbuf, size_t recvcount, rondo_type_t type, int root,
                                         rondo_comm_t comm, rondo_stream_t stream);

/** Returns once every rank has entered.
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_barrier(rondo_comm_t comm, rondo_stream_t stream);

/** recvbuf = reduction of the sendbufs of ranks 0 to `rank`, in that order.
 * @param sendbuf count elements
 * @param recvbuf count elements
 * @param count elements per rank
 * @param type their type
 * @param op the reduction; avg is not allowed
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_scan(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                    rondo_op_t op, rondo_comm_t comm, rondo_stream_t stream);

/** Like rondo_scan(), without the rank's own sendbuf; rank 0's recvbuf is left unchanged.
 * @param sendbuf count elements
 * @param recvbuf count elements
 * @param count elements per rank
 * @param type their type
 * @param op the reduction; avg is not allowed
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_exscan(const void* sendbuf, void* recvbuf, size_t count, rondo_type_t type,
                                      rondo_op_t op, rondo_comm_t comm, rondo_stream_t stream);

/** Explains how a call on host memory would run: the chosen algorithm and what its predicted time consists
 * of, the predicted times of the others or why they are ruled out, and the order in which the ranks' operands
 * are combined and rounded, and how often; then how long a plan that follows the links of the ranks' machine
 * takes on these, and by what this rank is connected to ranks of other hosts, as far as earlier calls have
 * connected them. Human-readable; sends nothing. No call may be in flight on @p comm.
 * @param comm the communicator
 * @param collective "all_reduce", "broadcast", ...
 * @param count elements, as the collective counts them
 * @param type their type
 * @param op the operation, if the collective reduces
 * @param root the root, if it has one
 * @param[out] text the explanation; valid until this thread's next rondo_explain()
 * @return ::RONDO_UNSUPPORTED, with the reason, if the call could not be made */
RONDO_API rondo_status_t rondo_explain(rondo_comm_t comm, const char* collective, size_t count,
                                       rondo_type_t type, rondo_op_t op, int root, const char** text);
/** @} */

/** @name Point to point
 * A message may go from host memory to GPU memory or vice versa. A receive into GPU memory, or on a
 * CUDA stream, must have exactly the message's length. On a CUDA stream, a send reads the buffer when
 * the stream reaches it, and a receive blocks later work on the stream until it completes. Messages
 * that cross must be in one group there, as on the caller's thread.
 * @{ */

/** For rondo_recv(): match any sender. */
#define RONDO_ANY_SOURCE (-1)
/** For rondo_recv(): match any tag. */
#define RONDO_ANY_TAG (-1)

/** What a receive matched. */
typedef struct {
  int source;   /**< the rank that sent it */
  int tag;      /**< its tag */
  size_t count; /**< elements */
} rondo_receipt_t;

/** Sends a message. May or may not return before it is received; only grouped calls are guaranteed not
 * to deadlock when ranks send in a ring.
 * @param buf count elements
 * @param count elements
 * @param type their type
 * @param peer the rank to send to; may be the caller
 * @param tag at least 0
 * @param comm the communicator
 * @param stream a queue, a CUDA stream, or NULL */
RONDO_API rondo_status_t rondo_send(const void* buf, size_t count, rondo_type_t type, int peer, int tag,
                                    rondo_comm_t comm, rondo_stream_t stream);

/** Receives a message. Messages with the same sender and tag arrive in the order sent. A message longer
 * than @p count, or with a type of another size, is an error that names both calls.
 * @param buf count elements
 * @param count capacity of @p buf in elements; the message may be shorter
 * @param type their type
 * @param peer the rank to receive from, or ::RONDO_ANY_SOURCE
 * @param tag the tag, or ::RONDO_ANY_TAG
 * @param comm the communicator
 * @param stream a queue, a CUDA stream, or NULL
 * @param[out] receipt what arrived, written by the time the call is complete; may be NULL, and must be
 *   on a CUDA stream */
RONDO_API rondo_status_t rondo_recv(void* buf, size_t count, rondo_type_t type, int peer, int tag,
                                    rondo_comm_t comm, rondo_stream_t stream, rondo_receipt_t* receipt);

/** A send or receive that was started, or prepared calls (rondo_group_prepare()). */
typedef struct rondo_request* rondo_request_t;

/** Starts a send and returns. Its order among the communicator's messages is fixed by this call; it
 * progresses in the background, even if no thread waits for it. Not allowed on streams or within a group.
 * @param buf count elements; must not be written until the message is complete
 * @param count elements
 * @param type their type
 * @param peer the rank to send to; may be the caller
 * @param tag at least 0
 * @param comm the communicator
 * @param[out] request to be freed by rondo_request_free(); NULL on failure */
RONDO_API rondo_status_t rondo_isend(const void* buf, size_t count, rondo_type_t type, int peer, int tag,
                                     rondo_comm_t comm, rondo_request_t* request);

/** Starts a receive and returns, like rondo_isend().
 * @param buf count elements; must not be accessed until the message is complete
 * @param count capacity of @p buf in elements; the message may be shorter
 * @param type their type
 * @param peer the rank to receive from, or ::RONDO_ANY_SOURCE
 * @param tag the tag, or ::RONDO_ANY_TAG
 * @param comm the communicator
 * @param[out] receipt what arrived, written when the message is complete; or NULL
 * @param[out] request to be freed by rondo_request_free(); NULL on failure */
RONDO_API rondo_status_t rondo_irecv(void* buf, size_t count, rondo_type_t type, int peer, int tag,
                                     rondo_comm_t comm, rondo_receipt_t* receipt, rondo_request_t* request);

/** Waits until the message is complete, or the prepared calls as they were started last. Any number of
 * threads may wait at once.
 * @param request the request
 * @param timeout_ms stops waiting after this time, without affecting the message; 0: waits until it is
 *   complete, which the communicator's own timeout bounds
 * @return the message's status; ::RONDO_IN_PROGRESS once timeout_ms have passed */
RONDO_API rondo_status_t rondo_request_wait(rondo_request_t request, int64_t timeout_ms);

/** Whether the message is complete. Any thread.
 * @param request the request
 * @return the message's status, or ::RONDO_IN_PROGRESS */
RONDO_API rondo_status_t rondo_request_query(rondo_request_t request);

/** Completion callback. It must not wait, nor finalize or free the communicator.
 * @param status the message's status
 * @param text a sentence that describes the failure; empty on success
 * @param user the pointer given to rondo_request_tell() */
typedef void (*rondo_request_fn)(rondo_status_t status, const char* text, void* user);

/** Calls @p fn once, when the message completes: on the thread that detects completion or, if it is already
 * complete, on this one before returning.
 * @param request the request
 * @param fn the function
 * @param user passed to @p fn; may be NULL */
RONDO_API rondo_status_t rondo_request_tell(rondo_request_t request, rondo_request_fn fn, void* user);

/** Frees a request; NULL is allowed. An incomplete message continues. One still incomplete when its
 * communicator ends fails with ::RONDO_INVALID_USAGE. Prepared calls that are under way are not freed.
 * @param request the request
 * @return ::RONDO_INVALID_USAGE for prepared calls that are under way: wait for them first */
RONDO_API rondo_status_t rondo_request_free(rondo_request_t request);
/** @} */

/** @name Groups
 * @{ */

/** Starts a group on this thread: the calls that follow are collected. Groups nest. Calls of one
 * group make progress together, so neither crossing sends and receives nor communicators that ranks
 * use in different orders can deadlock. */
RONDO_API rondo_status_t rondo_group_start(void);

/** Ends a group; the outermost end runs its calls. Returns once those with a NULL stream are done; those on
 * queues are enqueued. If a collective, send or receive of the group was refused, none of the group's calls
 * is made, and the outermost end returns the status of the first refused one. */
RONDO_API rondo_status_t rondo_group_end(void);

/** Ends the group and all enclosing groups, and discards their calls: none of them is made. */
RONDO_API rondo_status_t rondo_group_cancel(void);
/** @} */

/** @name Prepared calls
 * What MPI calls persistent: the calls of a group are prepared once, then made any number of times.
 *
 *     rondo_request_t halo = NULL;
 *     rondo_group_start();
 *     rondo_send(edge, n, RONDO_FLOAT64, right, 0, comm, NULL);
 *     rondo_recv(halo_points, n, RONDO_FLOAT64, left, 0, comm, NULL, NULL);
 *     rondo_group_prepare(&halo);
 *     for (int step = 0; step != steps; ++step) {
 *       rondo_request_start(halo);
 *       compute_inner_points();
 *       rondo_request_wait(halo, 0);
 *       compute_outer_points();
 *     }
 *     rondo_request_free(halo);
 *
 * The arguments are checked, algorithms chosen and lengths in arrays copied when the calls are prepared;
 * buffers and receipts are used each time the calls are made, and must last as long as the request is used.
 * Each time, the calls behave as if the group were made then: ranks match by the order in which they make
 * calls, whether these were prepared or not, and a rank may prepare what another one does not. User-defined
 * types and operations may be destroyed once the calls are prepared.
 * @{ */

/** Ends the group, as rondo_group_end() does, and prepares its calls instead of making them. They must be on
 * one communicator and have a NULL stream. A group without calls is allowed. Sends nothing; waits for earlier
 * calls of the communicator, such as those on queues, if the group has collectives.
 * @param[out] request to be freed by rondo_request_free(); NULL on failure
 * @return the status of the first call that was refused. ::RONDO_INVALID_USAGE within another group, which is
 *   left as it is */
RONDO_API rondo_status_t rondo_group_prepare(rondo_request_t* request);

/** Starts the prepared calls and returns. They progress in the background, even if no thread waits for them.
 * Without collectives among the calls, the order of messages is fixed by this call, as by rondo_isend(). If
 * there are any, all of the calls, messages too, take their place in the order of the communicator's calls,
 * and later calls on it wait until they are complete; messages that are started meanwhile do not wait, and
 * may come before these. rondo_request_wait(), rondo_request_query() or rondo_request_tell() says when the
 * calls are complete; they must have done so before the calls are started again. Of a request that was never
 * started, these report success. This is a call on the communicator: one thread at a time. Not allowed within
 * a group.
 * @param request from rondo_group_prepare()
 * @return ::RONDO_INVALID_USAGE if the calls are under way, or after rondo_finalize() or rondo_destroy(); the
 *   cause, if the communicator has failed */
RONDO_API rondo_status_t rondo_request_start(rondo_request_t request);

/** Makes the prepared calls on the caller's thread and returns when they are done, as rondo_group_end()
 * would. Less work than rondo_request_start() and rondo_request_wait(), which hand the calls to another
 * thread. Otherwise like rondo_request_start().
 * @param request from rondo_group_prepare()
 * @return as rondo_group_end(), and as rondo_request_start() */
RONDO_API rondo_status_t rondo_request_run(rondo_request_t request);
/** @} */

/** @name Queues and events
 * @{ */

/** Makes a queue: calls on it run in order, on its own thread.
 * @param[out] queue the queue */
RONDO_API rondo_status_t rondo_queue_create(rondo_stream_t* queue);

/** Waits until all calls on the queue are done.
 * @param queue the queue
 * @return the first error of a call since the last synchronization */
RONDO_API rondo_status_t rondo_queue_synchronize(rondo_stream_t queue);

/** Whether all calls on the queue are done.
 * @param queue the queue
 * @return ::RONDO_OK, ::RONDO_IN_PROGRESS, or the first error */
RONDO_API rondo_status_t rondo_queue_query(rondo_stream_t queue);

/** Completes the calls on the queue and frees it; NULL is allowed.
 * @param queue the queue */
RONDO_API rondo_status_t rondo_queue_destroy(rondo_stream_t queue);

/** Wraps a CUDA stream for use as the `stream` of a collective on GPU memory. Such a call is enqueued on
 * the stream and returns at once; it may be captured into a CUDA graph. Ranks that share a process wait
 * on the host until all of them have made the call (ranks on one thread must make it in a group), and
 * are captured into one graph, or, if rondo_last_algorithm() names an algorithm, into one for each GPU. The
 * handle need not be freed.
 * @param cuda_stream a cudaStream_t or CUstream of the rank's device; NULL: its default stream
 * @return the handle; the queue functions do not accept it */
RONDO_API rondo_stream_t rondo_cuda_stream(void* cuda_stream);

/** A point in a queue. */
typedef struct rondo_event* rondo_event_t;

/** Makes an event; it counts as complete until it is recorded.
 * @param[out] event the event */
RONDO_API rondo_status_t rondo_event_create(rondo_event_t* event);

/** Records the event: it completes when all calls now on the queue are done. May be recorded again.
 * @param event the event
 * @param queue the queue */
RONDO_API rondo_status_t rondo_event_record(rondo_event_t event, rondo_stream_t queue);

/** Makes later calls on the queue wait for the event as it is recorded now.
 * @param queue the queue
 * @param event the event */
RONDO_API rondo_status_t rondo_queue_wait_event(rondo_stream_t queue, rondo_event_t event);

/** Whether the event is complete.
 * @param event the event
 * @return ::RONDO_OK or ::RONDO_IN_PROGRESS */
RONDO_API rondo_status_t rondo_event_query(rondo_event_t event);

/** Waits for the event.
 * @param event the event */
RONDO_API rondo_status_t rondo_event_synchronize(rondo_event_t event);

/** Frees an event; NULL is allowed.
 * @param event the event */
RONDO_API rondo_status_t rondo_event_destroy(rondo_event_t event);
/** @} */

/** @name Memory
 * Calls accept any memory; memory allocated here or registered lets them avoid copies.
 * @{ */

/** Allocates memory that other processes can map. In calls longer than a few KiB, ranks in other processes of
 * the host read their data directly from it, without an intermediate copy, and InfiniBand and RoCE devices
 * send it from there; ranks in the same process read from any memory.
 * @param[out] ptr page-aligned; NULL for 0 bytes
 * @param bytes size */
RONDO_API rondo_status_t rondo_mem_alloc(void** ptr, size_t bytes);

/** Allocates GPU memory, as cudaMalloc() does. Once it is registered, peers read it in place. It may be
 * deregistered and freed at any time: the library keeps it for as long as peers have it open.
 * @param[out] ptr start of the memory; NULL for 0 bytes
 * @param bytes size
 * @param device CUDA device number in this process */
RONDO_API rondo_status_t rondo_cuda_mem_alloc(void** ptr, size_t bytes, int device);

/** Frees memory from rondo_mem_alloc() or rondo_cuda_mem_alloc(); NULL is allowed. Deregister it first. A
 * forked process shares memory from rondo_mem_alloc() with its parent until the parent frees it.
 * @param ptr the pointer that function returned */
RONDO_API rondo_status_t rondo_mem_free(void* ptr);

/** Allocates memory as malloc() does. A block of 256 KiB or more (the environment's `RONDO_HEAP_FROM`) is one
 * that ranks in other processes of the host read in place, like memory of rondo_mem_alloc(), while a fork
 * means what it does to memory of malloc(): parent and child have a copy each. Blocks that exist at a fork
 * are no longer read in place. Shorter blocks are malloc()'s own, as are all where the process may not have
 * such memory; a line in the log (RONDO_LOG=info) then says why. Any thread, at any time. It does not change
 * rondo_last_error().
 * @param bytes size
 * @return a block for rondo_free(); NULL, with errno set, if there is no memory */
RONDO_API void* rondo_malloc(size_t bytes);

/** The same as calloc() does: zeros.
 * @param count number of elements
 * @param bytes size of each
 * @return as of rondo_malloc() */
RONDO_API void* rondo_calloc(size_t count, size_t bytes);

/** The same as aligned_alloc() does, for any size.
 * @param alignment a power of two
 * @param bytes size
 * @return as of rondo_malloc(); NULL, with errno EINVAL, for any other alignment */
RONDO_API void* rondo_aligned_alloc(size_t alignment, size_t bytes);

/** Makes a block longer or shorter, as realloc() does.
 * @param ptr a block from rondo_malloc(), rondo_calloc(), rondo_aligned_alloc() or rondo_realloc(), or of
 * malloc(); or NULL
 * @param bytes the new size
 * @return the block, perhaps moved; NULL, with errno set, if there is no memory; the old one remains */
RONDO_API void* rondo_realloc(void* ptr, size_t bytes);

/** Frees a block, as free() does.
 * @param ptr what one of the four functions before returned, or malloc(); or NULL */
RONDO_API void rondo_free(void* ptr);

/** These functions as NumPy expects them (NEP 49): a `PyDataMem_Handler` of version 1, for
 * `PyDataMem_SetHandler()` in a capsule named "mem_handler". rondo.lend_arrays() of the Python package does
 * that.
 * @return valid forever */
RONDO_API const void* rondo_numpy_handler(void);

/** Registers memory with a communicator. If the communicator's ranks are processes of one host, and this is
 * memory of the rank's GPU from rondo_cuda_mem_alloc() or cudaMalloc(), peers open it in the background and
 * then read this rank's data directly from it, without an intermediate copy (see rondo_last_algorithm()).
 * Peers open up to 64 pieces of each rank at a time; further ones wait until others are deregistered. Host
 * memory is sent by InfiniBand and RoCE devices from where it is, as memory from rondo_mem_alloc() is without
 * being registered; it must be deregistered before it is freed. Other memory may be registered to no effect.
 * Ranks register independently of one another.
 * @param comm the communicator
 * @param ptr start; may be anywhere in a GPU allocation
 * @param bytes size, at least 1; within the allocation
 * @param[out] handle for rondo_deregister() */
RONDO_API rondo_status_t rondo_register(rondo_comm_t comm, void* ptr, size_t bytes, void** handle);

/** Undoes rondo_register(). No call, and no CUDA graph that will be launched again, may be using the memory.
 * Waits until peers have closed memory from cudaMalloc(), which must not be freed before then.
 * @param comm the communicator
 * @param handle from rondo_register()
 * @return ::RONDO_IN_PROGRESS if a peer can close it only once its stream advances, which depends on a call
 * that this rank has yet to make; ::RONDO_TIMEOUT, naming the peer, if one has not closed it within the
 * communicator's timeout. Either way, calls no longer use the memory, and the handle stays valid: call again
 * before freeing the memory */
RONDO_API rondo_status_t rondo_deregister(rondo_comm_t comm, void* handle);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
