/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rondo.h
 * @brief Rondo's C API: collective communication between processes and threads.
 *
 * Conventions
 * - Every function returns a ::rondo_status_t; 0 (::RONDO_OK) is success. rondo_last_error() gives
 *   a sentence that names the rank, the call and the cause.
 * - Counts are numbers of elements of the given data type, never bytes, and may exceed 2^31. A count
 *   of 0 is legal everywhere, and then buffers may be NULL.
 * - `stream` selects how a call runs: NULL runs it on the caller's thread and returns when it is
 *   done; a queue from rondo_queue_create() makes it asynchronous, in the order of the queue; a
 *   CUDA stream (rondo_cuda_stream()) makes it part of that stream.
 * - Buffers lie in host memory or, where the rank has a GPU (::rondo_config_t::device), in memory
 *   that this GPU reaches. A collective is the GPU's where a buffer is GPU or managed memory, where
 *   it is put on a CUDA stream, or, on a rank with a GPU, where no buffer says otherwise; it is the
 *   GPU's at all ranks or at none. With a NULL stream or a queue it comes after what the device's
 *   default stream was given. Buffers of reductions are then aligned to their elements.
 * - In place: all_reduce, broadcast, reduce, scan, exscan, all_to_all with `sendbuf == recvbuf`;
 *   all_gather and gather with `sendbuf == recvbuf + rank * count`; reduce_scatter and scatter with
 *   `recvbuf == sendbuf + rank * count` (elements; the _v forms use their displacements, and
 *   all_to_all_v in place has the same counts and displacements for both buffers). Any other overlap
 *   of the two buffers is an error.
 * - Threads: a communicator is used by one thread at a time, except rondo_abort(),
 *   rondo_async_error() and rondo_last_error(), which any thread may call at any time. Different
 *   communicators may be used by different threads at once.
 * - All ranks of a communicator make the same calls in the same order. Ranks that disagree
 *   (collective, count, type, operation, root) get ::RONDO_MISMATCH and a sentence that names the
 *   ranks and both calls.
 * - rondo_split(), rondo_duplicate(), rondo_shrink() and rondo_finalize() are not allowed within a group.
 * - A forked child uses nothing that its parent made before the fork: every call there returns
 *   ::RONDO_INVALID_USAGE at once, and so it is in a process that has closed all its descriptors.
 *   A child of a process that has no communicator and no queue may start Rondo.
 * - Every wait ends: with success, when a peer dies (::RONDO_REMOTE_ERROR, within a second), when
 *   anyone calls rondo_abort(), or at the deadline (::RONDO_TIMEOUT).
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

/** What a call came to. */
typedef enum {
  RONDO_OK = 0,               /**< Success. */
  RONDO_INVALID_ARGUMENT = 1, /**< An argument is out of its range; nothing was done. */
  RONDO_INVALID_USAGE = 2,    /**< The call is not allowed in this state; nothing was done. */
  RONDO_SYSTEM_ERROR = 3,     /**< The operating system refused something; the text says what. */
  RONDO_INTERNAL_ERROR = 4,   /**< A fault in Rondo itself. */
  RONDO_REMOTE_ERROR = 5,     /**< A peer died or left; the text names it. */
  RONDO_TIMEOUT = 6,          /**< The deadline passed; the text names who did not answer. */
  RONDO_MISMATCH = 7,         /**< Ranks disagree about a call; the text names both calls. */
  RONDO_ABORTED = 8,          /**< Some rank called rondo_abort(). */
  RONDO_IN_PROGRESS = 9,      /**< Not done yet (queries only). */
  RONDO_UNSUPPORTED = 10,     /**< Legal, but this build cannot do it. */
  RONDO_OUT_OF_MEMORY = 11    /**< Out of memory. */
} rondo_status_t;

/** The name of a status, for example "RONDO_TIMEOUT". Never NULL. */
RONDO_API const char* rondo_status_string(rondo_status_t status);

/** The version of the library that runs, in the form of ::RONDO_VERSION.
 * @param[out] version where to write it */
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

/** What ranks need to find and trust one another: addresses and a random secret. Treat as a
 * password: whoever has it can join. */
typedef struct {
  char internal[RONDO_UNIQUE_ID_BYTES]; /**< Opaque. */
} rondo_unique_id_t;

/** Settings of a communicator. Initialise with ::RONDO_CONFIG_INITIALIZER, then change fields. */
typedef struct {
  size_t size;           /**< sizeof(rondo_config_t) as the caller was compiled. */
  int64_t timeout_ms;    /**< Deadline of each call; 0: RONDO_TIMEOUT or its default. */
  const char* transport; /**< "local", "shm", "tcp", ...; NULL: RONDO_TRANSPORT or the best. */
  const char* algorithm; /**< As RONDO_ALGORITHM, for example "all_reduce=ring"; NULL: that. */
  const char* name;      /**< Stands in every message about the communicator; NULL: "world", of a split or duplicate
                              "parent's name/number of the split.color", of a shrunk one "parent's name/shrunk". */
  const char* device;    /**< The rank's GPU: "host" (none), "cuda:N", "cuda" (the thread's current device,
                              or the first), "cuda:0,1" (those, for rondo_init_all()'s ranks in turn);
                              NULL: RONDO_DEVICE, or the current device of a thread that has one. */
  int64_t init_timeout_ms; /**< Deadline of the start; 0: RONDO_INIT_TIMEOUT or its default. */
  const char* protocol;  /**< Between GPUs, as RONDO_PROTOCOL: "simple", "ll" or "ll128"; NULL: that. */
  int channels;          /**< Between two GPUs, at most; 0: RONDO_CHANNELS or its default. */
} rondo_config_t;

/** A ::rondo_config_t with every setting at its default. */
#define RONDO_CONFIG_INITIALIZER {sizeof(rondo_config_t), 0, NULL, NULL, NULL, NULL, 0, NULL, 0}

/** Makes a unique id and starts listening for the ranks that will use it. The process that called
 * this must live until all ranks have joined; it usually hosts rank 0. One id makes one communicator.
 * @param[out] id to be carried to every rank by means of the caller's choice */
RONDO_API rondo_status_t rondo_get_unique_id(rondo_unique_id_t* id);

/** Joins a communicator; returns when all ranks have joined.
 * @param[out] comm the communicator; NULL on failure
 * @param nranks number of ranks, at least 1
 * @param id the same for all ranks
 * @param rank this rank, 0 to nranks - 1
 * @param config settings, or NULL */
RONDO_API rondo_status_t rondo_init_rank(rondo_comm_t* comm, int nranks, const rondo_unique_id_t* id,
                                         int rank, const rondo_config_t* config);

/** Makes a communicator whose ranks all live in this process.
 * @param[out] comms room for nranks communicators; on failure all are NULL
 * @param nranks number of ranks, at least 1
 * @param config settings, or NULL */
RONDO_API rondo_status_t rondo_init_all(rondo_comm_t* comms, int nranks, const rondo_config_t* config);

/** Joins the communicator of all processes of this job.
 * @param[out] comm the communicator; NULL on failure
 * @param method how to find the others: "env://" (also NULL) reads RANK, WORLD_SIZE, MASTER_ADDR and
 *   MASTER_PORT, or what Open MPI, MPICH or Slurm set; "tcp://host:port?rank=R&size=N" and
 *   "file:///path?rank=R&size=N" (rank and size default to the environment's; other keys are errors).
 *   With "env://" a process started alone becomes a communicator of one.
 * @param config settings, or NULL */
RONDO_API rondo_status_t rondo_init(rondo_comm_t* comm, const char* method,
                                    const rondo_config_t* config);

/** The colour of a rank that wants no communicator from rondo_split(). */
#define RONDO_NO_COLOR (-1)

/** Splits a communicator by colour; collective.
 * @param comm the communicator to split; stays usable
 * @param color ranks of the same colour, at least 0, form one; ::RONDO_NO_COLOR: none
 * @param key ranks are ordered by key, ties by their old rank
 * @param[out] newcomm the new communicator; NULL for ::RONDO_NO_COLOR
 * @param config settings, or NULL for those of @p comm */
RONDO_API rondo_status_t rondo_split(rondo_comm_t comm, int color, int key, rondo_comm_t* newcomm,
                                     const rondo_config_t* config);

/** Duplicates a communicator; collective. Calls on the two never meet.
 * @param comm the communicator to duplicate
 * @param[out] newcomm the duplicate */
RONDO_API rondo_status_t rondo_duplicate(rondo_comm_t comm, rondo_comm_t* newcomm);

/** Makes a communicator of those ranks that are left, also after a rank has died, or when @p comm has failed or was
 * aborted. Every rank that is not excluded makes the call, with the same list; the others make none. Calls on @p comm
 * must be over; it stays as it is, and rondo_destroy() is still due.
 * @param comm the communicator to take the ranks from
 * @param excluded ranks that are not part of the new one; the others keep their order
 * @param nexcluded how many
 * @param[out] newcomm the new communicator; NULL on failure
 * @param config settings, or NULL for those of @p comm
 * @return ::RONDO_REMOTE_ERROR where a rank that was not excluded is known to be dead, ::RONDO_TIMEOUT where one does
 *   not come within RONDO_INIT_TIMEOUT */
RONDO_API rondo_status_t rondo_shrink(rondo_comm_t comm, const int* excluded, int nexcluded,
                                      rondo_comm_t* newcomm, const rondo_config_t* config);

/** Completes all calls of this communicator, and looks for messages that nobody received; collective. After
 * it only rondo_destroy() and the queries are allowed.
 *
 * While the rank has other communicators of the same start (made by rondo_split() or rondo_duplicate()), it waits
 * for no other rank: one that ends its communicators in another order may need this rank. At the last of them it
 * waits, until the deadline, for the other ranks of @p comm to come to its end too, so that calls which only some
 * ranks made are found. It does not wait for ranks that have left, and not for those that are in a call of another
 * communicator or at the end of one. Then the other ranks are told that this one leaves, which takes half a second
 * at most; its end is no death to them.
 * @param comm the communicator
 * @return ::RONDO_TIMEOUT where a rank has not come; the text names it, and says what it does */
RONDO_API rondo_status_t rondo_finalize(rondo_comm_t comm);

/** Changes the deadline of the calls that follow. Calls that wait already may keep theirs. Any thread.
 * @param comm the communicator
 * @param timeout_ms at least 1 */
RONDO_API rondo_status_t rondo_set_timeout(rondo_comm_t comm, int64_t timeout_ms);

/** Completes all calls of this communicator, and waits for no other rank. After it only rondo_leave(), rondo_destroy()
 * and the queries are allowed.
 * @param comm the communicator */
RONDO_API rondo_status_t rondo_quiesce(rondo_comm_t comm);

/** Frees a communicator, after rondo_finalize() if that was not called and nothing has failed; that waits as it says,
 * and nothing else does.
 * Works in every state; NULL is allowed. A rank whose last communicator had failed leaves the job at
 * once, and what communicators the others still have with it fail as well.
 * @param comm the communicator */
RONDO_API rondo_status_t rondo_destroy(rondo_comm_t comm);

/** Frees a communicator as rondo_destroy() does, but does not wait for the other ranks to come to its end. The others'
 * calls that need this rank fail from then on: not at once, since one that it took part in may still be completing,
 * but within seconds.
 * @param comm the communicator; NULL is allowed */
RONDO_API rondo_status_t rondo_leave(rondo_comm_t comm);

/** Ends all calls in flight, here and at every other rank, with ::RONDO_ABORTED. Needs no peer's
 * help and may be called from any thread. rondo_destroy() is still due.
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
 * @param[out] device by CUDA's number in this process; -1: the rank uses none */
RONDO_API rondo_status_t rondo_device(rondo_comm_t comm, int* device);

/** The GPU that "cuda" stands for in ::rondo_config_t::device on the calling thread.
 * @param[out] device the thread's current device, or else the first; -1 where this process sees none */
RONDO_API rondo_status_t rondo_current_device(int* device);

/** A sentence about the last error.
 * @param comm a communicator, or NULL for the last error of any call by this thread; what rondo_group_end() and
 *   rondo_group_cancel() have returned to this thread counts for every communicator
 * @return a string, empty where nothing failed; valid until the next call on @p comm (or by this
 *   thread). Never NULL. */
RONDO_API const char* rondo_last_error(rondo_comm_t comm);

/** The algorithms that a collective can be asked to use, for rondo_config_t::algorithm.
 * @param collective "all_reduce", "broadcast", ...
 * @param[out] names their names, separated by commas; static */
RONDO_API rondo_status_t rondo_algorithm_names(const char* collective, const char** names);

/** The algorithm of the communicator's latest collective. Any thread.
 * @param comm the communicator
 * @param[out] name its name; for calls on GPU memory within a host, which have none, "joint", "phased" or, of these,
 *   "direct" where peers read all that this rank gives in its registered memory; "" before the first; static */
RONDO_API rondo_status_t rondo_last_algorithm(rondo_comm_t comm, const char** name);

/** What carries data between the caller and another rank of the communicator. Any thread.
 * @param comm the communicator
 * @param peer the other rank
 * @param[out] name "local", "shm", "tcp" ...; "self" for the caller's own rank; static */
RONDO_API rondo_status_t rondo_transport(rondo_comm_t comm, int peer, const char** name);

/** Whether something has gone wrong outside a call: a peer's death, an abort, a failed queue.
 * @param comm the communicator
 * @param[out] status ::RONDO_OK, or the first error; it stays */
RONDO_API rondo_status_t rondo_async_error(rondo_comm_t comm, rondo_status_t* status);
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

/** Reductions. Integer sums and products wrap. min and max return NaN where any operand is NaN, and
 * order -0 before +0. With a single rank nothing is combined, and the input is copied as it is. */
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
  RONDO_LOGICAL_AND = 8, /**< integers and bool; the result is 0 or 1 */
  RONDO_LOGICAL_OR = 9,  /**< integers and bool; the result is 0 or 1 */
  RONDO_LOGICAL_XOR = 10 /**< integers and bool; the result is 0 or 1 */
};

/** The size of a type in bytes.
 * @param type the type
 * @param[out] bytes its size */
RONDO_API rondo_status_t rondo_type_size(rondo_type_t type, size_t* bytes);

/** Makes a type of any size: contiguous bytes that Rondo moves and never looks into. Reductions of it
 * need a user-defined operation, and an element must fit a slot then (RONDO_SLOT_BYTES, 64 KiB unless
 * it is set).
 * @param bytes size, at least 1 and at most 1 GiB
 * @param[out] type the new type */
RONDO_API rondo_status_t rondo_type_create(size_t bytes, rondo_type_t* type);

/** Forgets a type; calls in flight keep it.
 * @param type one from rondo_type_create() */
RONDO_API rondo_status_t rondo_type_destroy(rondo_type_t type);

/** A user-defined reduction: accumulator[i] = accumulator[i] (op) operand[i] for count elements. It
 * must be associative, and may be called by any thread that makes a call with it, or by a queue's.
 * @param accumulator left operand and result
 * @param operand right operand
 * @param count number of elements
 * @param type their type
 * @param user what was given to rondo_op_create() */
typedef void (*rondo_reduce_fn)(void* accumulator, const void* operand, size_t count,
                                rondo_type_t type, void* user);

/** Makes a user-defined reduction.
 * @param fn the function
 * @param commutative nonzero: operands may come in any order; 0: always in the order of the ranks
 * @param user handed to @p fn; may be NULL
 * @param[out] op the new operation */
RONDO_API rondo_status_t rondo_op_create(rondo_reduce_fn fn, int commutative, void* user,
                                         rondo_op_t* op);

/** Makes a pre-multiplied sum: every rank's input is multiplied by its scalar, rounded to the type,
 * then summed.
 * @param scalar one element of @p type, in memory of the host or of a GPU; read now, after what the GPU's default
 *   stream was given
 * @param type a built-in type other than bool; the type of the calls that will use the operation
 * @param[out] op the new operation */
RONDO_API rondo_status_t rondo_op_create_premul_sum(const void* scalar, rondo_type_t type,
                                                    rondo_op_t* op);

/** Forgets an operation; calls in flight keep it.
 * @param op one from rondo_op_create() or rondo_op_create_premul_sum() */
RONDO_API rondo_status_t rondo_op_destroy(rondo_op_t op);
/** @} */

/** @name Collectives
 * Every rank of @p comm makes the call. `sendbuf` is read, `recvbuf` written.
 * @{ */

/** recvbuf[i] = reduction over the ranks of sendbuf[i], at every rank.
 * @param sendbuf count elements
 * @param recvbuf count elements
 * @param count elements a rank
 * @param type their type
 * @param op the reduction
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_reduce(const void* sendbuf, void* recvbuf, size_t count,
                                          rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                          rondo_stream_t stream);

/** recvbuf = the root's sendbuf, at every rank.
 * @param sendbuf count elements; read at the root only
 * @param recvbuf count elements
 * @param count elements
 * @param type their type
 * @param root the rank that sends
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_broadcast(const void* sendbuf, void* recvbuf, size_t count,
                                         rondo_type_t type, int root, rondo_comm_t comm,
                                         rondo_stream_t stream);

/** As rondo_all_reduce(), with the result at the root only.
 * @param sendbuf count elements
 * @param recvbuf count elements; written at the root only, elsewhere it may be NULL
 * @param count elements a rank
 * @param type their type
 * @param op the reduction
 * @param root the rank that gets the result
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_reduce(const void* sendbuf, void* recvbuf, size_t count,
                                      rondo_type_t type, rondo_op_t op, int root, rondo_comm_t comm,
                                      rondo_stream_t stream);

/** recvbuf = the concatenation of all ranks' sendbufs.
 * @param sendbuf sendcount elements
 * @param recvbuf size * sendcount elements
 * @param sendcount elements a rank
 * @param type their type
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_gather(const void* sendbuf, void* recvbuf, size_t sendcount,
                                          rondo_type_t type, rondo_comm_t comm,
                                          rondo_stream_t stream);

/** As rondo_all_gather(), with a length for each rank.
 * @param sendbuf recvcounts[rank] elements
 * @param recvbuf rank r's elements go to recvbuf + displs[r]
 * @param recvcounts elements of each rank, the same at every rank
 * @param displs offsets in elements, or NULL: one after the other
 * @param type their type
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_gather_v(const void* sendbuf, void* recvbuf,
                                            const size_t* recvcounts, const size_t* displs,
                                            rondo_type_t type, rondo_comm_t comm,
                                            rondo_stream_t stream);

/** recvbuf[i] = reduction over the ranks of sendbuf[rank * recvcount + i].
 * @param sendbuf size * recvcount elements
 * @param recvbuf recvcount elements
 * @param recvcount elements a rank gets
 * @param type their type
 * @param op the reduction
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_reduce_scatter(const void* sendbuf, void* recvbuf, size_t recvcount,
                                              rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                              rondo_stream_t stream);

/** As rondo_reduce_scatter(), with a length for each rank; the parts lie one after the other.
 * @param sendbuf the sum of recvcounts elements
 * @param recvbuf recvcounts[rank] elements
 * @param recvcounts elements that each rank gets, the same at every rank
 * @param type their type
 * @param op the reduction
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_reduce_scatter_v(const void* sendbuf, void* recvbuf,
                                                const size_t* recvcounts, rondo_type_t type,
                                                rondo_op_t op, rondo_comm_t comm,
                                                rondo_stream_t stream);

/** Block r of recvbuf = block `rank` of rank r's sendbuf.
 * @param sendbuf size * count elements
 * @param recvbuf size * count elements
 * @param count elements a block
 * @param type their type
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_to_all(const void* sendbuf, void* recvbuf, size_t count,
                                          rondo_type_t type, rondo_comm_t comm,
                                          rondo_stream_t stream);

/** As rondo_all_to_all(), with a length for each pair of ranks.
 * @param sendbuf sendcounts[r] elements for rank r, from sendbuf + sdispls[r]
 * @param sendcounts elements for each rank
 * @param sdispls offsets in elements, or NULL: one after the other
 * @param recvbuf recvcounts[r] elements of rank r, to recvbuf + rdispls[r]
 * @param recvcounts elements of each rank; what that rank sends
 * @param rdispls offsets in elements, or NULL: one after the other
 * @param type their type
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_all_to_all_v(const void* sendbuf, const size_t* sendcounts,
                                            const size_t* sdispls, void* recvbuf,
                                            const size_t* recvcounts, const size_t* rdispls,
                                            rondo_type_t type, rondo_comm_t comm,
                                            rondo_stream_t stream);

/** As rondo_all_gather(), with the result at the root only.
 * @param sendbuf sendcount elements
 * @param recvbuf size * sendcount elements; root only, elsewhere it may be NULL
 * @param sendcount elements a rank
 * @param type their type
 * @param root the rank that gets the result
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_gather(const void* sendbuf, void* recvbuf, size_t sendcount,
                                      rondo_type_t type, int root, rondo_comm_t comm,
                                      rondo_stream_t stream);

/** As rondo_gather(), with a length for each rank.
 * @param sendbuf sendcount elements
 * @param sendcount elements of this rank
 * @param recvbuf rank r's elements go to recvbuf + displs[r]; root only
 * @param recvcounts elements of each rank; root only
 * @param displs offsets in elements, or NULL: one after the other; root only
 * @param type their type
 * @param root the rank that gets the result
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_gather_v(const void* sendbuf, size_t sendcount, void* recvbuf,
                                        const size_t* recvcounts, const size_t* displs,
                                        rondo_type_t type, int root, rondo_comm_t comm,
                                        rondo_stream_t stream);

/** recvbuf = block `rank` of the root's sendbuf.
 * @param sendbuf size * recvcount elements; root only, elsewhere it may be NULL
 * @param recvbuf recvcount elements
 * @param recvcount elements a rank
 * @param type their type
 * @param root the rank that sends
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_scatter(const void* sendbuf, void* recvbuf, size_t recvcount,
                                       rondo_type_t type, int root, rondo_comm_t comm,
                                       rondo_stream_t stream);

/** As rondo_scatter(), with a length for each rank.
 * @param sendbuf rank r's elements, from sendbuf + displs[r]; root only
 * @param sendcounts elements for each rank; root only
 * @param displs offsets in elements, or NULL: one after the other; root only
 * @param recvbuf recvcount elements
 * @param recvcount elements for this rank
 * @param type their type
 * @param root the rank that sends
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_scatter_v(const void* sendbuf, const size_t* sendcounts,
                                         const size_t* displs, void* recvbuf, size_t recvcount,
                                         rondo_type_t type, int root, rondo_comm_t comm,
                                         rondo_stream_t stream);

/** Returns when every rank has entered.
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_barrier(rondo_comm_t comm, rondo_stream_t stream);

/** recvbuf = reduction of the sendbufs of ranks 0 to `rank`, in that order.
 * @param sendbuf count elements
 * @param recvbuf count elements
 * @param count elements a rank
 * @param type their type
 * @param op the reduction; avg is not allowed
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_scan(const void* sendbuf, void* recvbuf, size_t count,
                                    rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                    rondo_stream_t stream);

/** As rondo_scan(), without the rank's own sendbuf; rank 0's recvbuf is left as it was.
 * @param sendbuf count elements
 * @param recvbuf count elements
 * @param count elements a rank
 * @param type their type
 * @param op the reduction; avg is not allowed
 * @param comm the communicator
 * @param stream a queue, or NULL */
RONDO_API rondo_status_t rondo_exscan(const void* sendbuf, void* recvbuf, size_t count,
                                      rondo_type_t type, rondo_op_t op, rondo_comm_t comm,
                                      rondo_stream_t stream);

/** How a call on host memory would be made: which algorithm is chosen, what the others are predicted to take, and in
 * which order the ranks' operands are combined and rounded. Lines for people; nothing is sent. No call may be under way
 * on @p comm.
 * @param comm the communicator
 * @param collective "all_reduce", "broadcast", ...
 * @param count elements, as the collective counts them
 * @param type their type
 * @param op the operation, where the collective reduces
 * @param root the root, where it has one
 * @param[out] text the lines; valid until this thread's next rondo_explain()
 * @return ::RONDO_UNSUPPORTED where the call could not be made, with the reason */
RONDO_API rondo_status_t rondo_explain(rondo_comm_t comm, const char* collective, size_t count, rondo_type_t type,
                                       rondo_op_t op, int root, const char** text);
/** @} */

/** @name Point to point
 * A message may go from host memory to a GPU's and the other way. One that is received into GPU
 * memory, or on a CUDA stream, has exactly the receive's length. On a CUDA stream a send takes the
 * buffer as it is when the stream comes to it, and a receive holds what comes after it; messages
 * that cross belong into one group there, as they do on the caller's thread.
 * @{ */

/** In rondo_recv(): from whichever rank. */
#define RONDO_ANY_SOURCE (-1)
/** In rondo_recv(): with whichever tag. */
#define RONDO_ANY_TAG (-1)

/** What a receive got. */
typedef struct {
  int source;   /**< the rank that sent it */
  int tag;      /**< its tag */
  size_t count; /**< elements */
} rondo_receipt_t;

/** Sends a message. May return before it is received, so that only grouped calls are sure not to
 * wait for one another in a ring.
 * @param buf count elements
 * @param count elements
 * @param type their type
 * @param peer the rank to send to; may be the caller
 * @param tag at least 0
 * @param comm the communicator
 * @param stream a queue, a CUDA stream, or NULL */
RONDO_API rondo_status_t rondo_send(const void* buf, size_t count, rondo_type_t type, int peer,
                                    int tag, rondo_comm_t comm, rondo_stream_t stream);

/** Receives a message. Messages of one sender and tag arrive in the order sent. A message longer
 * than @p count, or of a type of another size, is an error that names both calls.
 * @param buf count elements
 * @param count room for that many elements; the message may be shorter
 * @param type their type
 * @param peer the rank to receive from, or ::RONDO_ANY_SOURCE
 * @param tag the tag, or ::RONDO_ANY_TAG
 * @param comm the communicator
 * @param stream a queue, a CUDA stream, or NULL
 * @param[out] receipt what arrived, or NULL, as it must be on a CUDA stream; written by the time the
 *   call is complete */
RONDO_API rondo_status_t rondo_recv(void* buf, size_t count, rondo_type_t type, int peer, int tag,
                                    rondo_comm_t comm, rondo_stream_t stream,
                                    rondo_receipt_t* receipt);

/** A send or receive that was started. */
typedef struct rondo_request* rondo_request_t;

/** Starts a send and returns. It takes its place among the communicator's messages now, and goes on beside
 * whatever else the rank does, also while nobody waits for it. Not on streams, nor within a group.
 * @param buf count elements; not to be written before the message is over
 * @param count elements
 * @param type their type
 * @param peer the rank to send to; may be the caller
 * @param tag at least 0
 * @param comm the communicator
 * @param[out] request to be freed by rondo_request_free(); NULL on failure */
RONDO_API rondo_status_t rondo_isend(const void* buf, size_t count, rondo_type_t type, int peer, int tag,
                                     rondo_comm_t comm, rondo_request_t* request);

/** Starts a receive and returns; as rondo_isend().
 * @param buf count elements; not to be touched before the message is over
 * @param count room for that many elements; the message may be shorter
 * @param type their type
 * @param peer the rank to receive from, or ::RONDO_ANY_SOURCE
 * @param tag the tag, or ::RONDO_ANY_TAG
 * @param comm the communicator
 * @param[out] receipt what arrived, written when the message is over; or NULL
 * @param[out] request to be freed by rondo_request_free(); NULL on failure */
RONDO_API rondo_status_t rondo_irecv(void* buf, size_t count, rondo_type_t type, int peer, int tag,
                                     rondo_comm_t comm, rondo_receipt_t* receipt,
                                     rondo_request_t* request);

/** Waits until the message is over. Any thread, and several of them.
 * @param request the request
 * @param timeout_ms gives up waiting after so long, which harms nothing; 0: waits however long it takes,
 *   which the communicator's own timeout bounds
 * @return how the message went; ::RONDO_IN_PROGRESS when timeout_ms have passed */
RONDO_API rondo_status_t rondo_request_wait(rondo_request_t request, int64_t timeout_ms);

/** Whether the message is over. Any thread.
 * @param request the request
 * @return how it went, or ::RONDO_IN_PROGRESS */
RONDO_API rondo_status_t rondo_request_query(rondo_request_t request);

/** What is told that a message is over. It must not wait, nor end the communicator.
 * @param status how it went
 * @param text a sentence about a failure; else empty
 * @param user what was given to rondo_request_tell() */
typedef void (*rondo_request_fn)(rondo_status_t status, const char* text, void* user);

/** Has a function called once, when the message is over: by the thread that finds that, or by this one
 * before it returns.
 * @param request the request
 * @param fn the function
 * @param user handed to @p fn; may be NULL */
RONDO_API rondo_status_t rondo_request_tell(rondo_request_t request, rondo_request_fn fn, void* user);

/** Frees a request; NULL is allowed. A message that is not over goes on. One that is not over when its
 * communicator ends has failed, with ::RONDO_INVALID_USAGE.
 * @param request the request */
RONDO_API rondo_status_t rondo_request_free(rondo_request_t request);
/** @} */

/** @name Groups
 * @{ */

/** Starts a group on this thread: the calls that follow are collected. Groups nest. Calls of one
 * group make progress together, so that neither sends and receives that cross nor communicators
 * used in different orders by different ranks wait for one another.  */
RONDO_API rondo_status_t rondo_group_start(void);

/** Runs the calls of the group. Returns when those with a NULL stream are done; those on queues
 * take their place in them. Where a collective, send or receive of the group was refused, none of its
 * calls is made, and the outermost end returns what the first that was refused returned. */
RONDO_API rondo_status_t rondo_group_end(void);

/** Ends the group, with all the groups around it, and forgets its calls: none of them is made. */
RONDO_API rondo_status_t rondo_group_cancel(void);
/** @} */

/** @name Queues and events
 * @{ */

/** Makes a queue: calls on it run in order, on a thread of its own.
 * @param[out] queue the queue */
RONDO_API rondo_status_t rondo_queue_create(rondo_stream_t* queue);

/** Waits until all calls on the queue are done.
 * @param queue the queue
 * @return the first error of a call since the last synchronisation */
RONDO_API rondo_status_t rondo_queue_synchronize(rondo_stream_t queue);

/** Whether all calls on the queue are done.
 * @param queue the queue
 * @return ::RONDO_OK, ::RONDO_IN_PROGRESS, or the first error */
RONDO_API rondo_status_t rondo_queue_query(rondo_stream_t queue);

/** Completes what is on the queue and frees it; NULL is allowed.
 * @param queue the queue */
RONDO_API rondo_status_t rondo_queue_destroy(rondo_stream_t queue);

/** The handle of a CUDA stream, for the `stream` of a collective on GPU memory. The call takes its
 * place in the stream and returns at once; it may be captured into a CUDA graph. Ranks that share
 * a process wait for one another on the host until all of them have made the call (ranks of one
 * thread: make it in a group), and are captured into one graph. Needs no freeing.
 * @param cuda_stream a cudaStream_t or CUstream of the rank's device; NULL: its default stream
 * @return the handle; it is none of a queue */
RONDO_API rondo_stream_t rondo_cuda_stream(void* cuda_stream);

/** A point in a queue. */
typedef struct rondo_event* rondo_event_t;

/** Makes an event; until it is recorded it counts as complete.
 * @param[out] event the event */
RONDO_API rondo_status_t rondo_event_create(rondo_event_t* event);

/** The event completes when everything now on the queue is done. May be recorded again.
 * @param event the event
 * @param queue the queue */
RONDO_API rondo_status_t rondo_event_record(rondo_event_t event, rondo_stream_t queue);

/** What comes after this on the queue waits for the event as recorded now.
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
 * Any memory may be used in calls; memory from here, and memory that is registered, lets calls avoid copies.
 * @{ */

/** Allocates memory that other processes can map. Ranks of other processes of the host read from there what a call
 * longer than some KiB sends them, with no copy on the way; in the same process they do so from any memory.
 * @param[out] ptr aligned to a page; NULL for 0 bytes
 * @param bytes size */
RONDO_API rondo_status_t rondo_mem_alloc(void** ptr, size_t bytes);

/** Allocates memory of a GPU, as cudaMalloc() does. Once it is registered, peers read it in place; and it may be
 * deregistered and freed at any time, since the library keeps it for as long as peers have it open.
 * @param[out] ptr where it begins; NULL for 0 bytes
 * @param bytes size
 * @param device the GPU, by CUDA's number in this process */
RONDO_API rondo_status_t rondo_cuda_mem_alloc(void** ptr, size_t bytes, int device);

/** Frees memory of rondo_mem_alloc() or rondo_cuda_mem_alloc(); NULL is allowed. Deregister it before. A process that
 * was forked has memory of rondo_mem_alloc() in common with its parent, until the parent frees it.
 * @param ptr what that function gave */
RONDO_API rondo_status_t rondo_mem_free(void* ptr);

/** Registers memory with a communicator. Where its ranks are processes of one host, and this is memory of the rank's
 * GPU from rondo_cuda_mem_alloc() or cudaMalloc(), peers open it in the background, and then read what this rank gives
 * from there, with no copy on the way (see rondo_last_algorithm()): 64 pieces of each rank at a time, and further ones
 * when others have gone. Other memory may be registered as well, and is used as if it were not: that of
 * rondo_mem_alloc() needs no registration, and no other memory of the host can be mapped. Each rank registers what it
 * likes.
 * @param comm the communicator
 * @param ptr start; in an allocation of a GPU, anywhere
 * @param bytes size, at least 1; within the allocation
 * @param[out] handle for rondo_deregister() */
RONDO_API rondo_status_t rondo_register(rondo_comm_t comm, void* ptr, size_t bytes, void** handle);

/** Undoes rondo_register(); no call may be using the memory, nor any CUDA graph that will still be launched. Waits
 * until peers have closed memory of cudaMalloc(), which may only then be freed.
 * @param comm the communicator
 * @param handle from rondo_register()
 * @return ::RONDO_IN_PROGRESS where a peer closes it only when its stream moves on, which waits for a call that this
 *   rank has still to make; ::RONDO_TIMEOUT where a peer, which is named, has not closed it within the communicator's
 *   timeout. Calls do not use it any more, and the handle is still good: call again before the memory is freed */
RONDO_API rondo_status_t rondo_deregister(rondo_comm_t comm, void* handle);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
