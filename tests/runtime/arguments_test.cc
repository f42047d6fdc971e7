// SPDX-License-Identifier: Apache-2.0
// Invalid arguments: each is refused with an error that names it and its value, and nothing is done.
#include <climits>
#include <cstdint>

#include "catch.h"
#include "collective_call.h"
#include "collective_result.h"
#include "oracle.h"
#include "worlds.h"

namespace rondo::test {
namespace {

constexpr auto kBad = RONDO_INVALID_ARGUMENT;

/// In one thread: a call that is refused needs no peer.
struct Pair : LocalRanks {
  Pair() : LocalRanks(2) {}
};

/// Every collective, with lengths and without.
std::vector<CollectiveCall> all_calls(void* value, const size_t* counts, int root) {
  std::vector<CollectiveCall> calls;
  for (const Kind kind : kAllCollectives)
    for (const bool varying : {false, true})
      if (!varying || traits(kind).has_blocks())
        calls.push_back({.kind = kind,
                         .from = value,
                         .to = value,
                         .root = root,
                         .varying = varying,
                         .send_counts = counts,
                         .recv_counts = counts});
  return calls;
}

TEST_CASE("a NULL communicator is named") {
  int value = 0;
  size_t size = 0;
  void* handle = nullptr;
  rondo_comm_t comm = nullptr;
  rondo_status_t status = RONDO_OK;
  const std::vector<std::string> words{"comm is NULL"};
  for (const CollectiveCall& call : all_calls(&value, &size, 0))
    check_fails(make_call(call, nullptr), kBad, words);
  check_fails(rondo_send(&value, 1, RONDO_INT32, 0, 0, nullptr, nullptr), kBad, words);
  check_fails(rondo_recv(&value, 1, RONDO_INT32, 0, 0, nullptr, nullptr, nullptr), kBad, words);
  check_fails(rondo_split(nullptr, 0, 0, &comm, nullptr), kBad, words);
  check_fails(rondo_duplicate(nullptr, &comm), kBad, words);
  check_fails(rondo_finalize(nullptr), kBad, words);
  check_fails(rondo_abort(nullptr), kBad, words);
  check_fails(rondo_rank(nullptr, &value), kBad, words);
  check_fails(rondo_size(nullptr, &value), kBad, words);
  check_fails(rondo_async_error(nullptr, &status), kBad, words);
  check_fails(rondo_register(nullptr, &value, 4, &handle), kBad, words);
  check_fails(rondo_deregister(nullptr, &value), kBad, words);
  CHECK(rondo_destroy(nullptr) == RONDO_OK);
}

TEST_CASE("a NULL result pointer is named") {
  const Pair pair;
  check_fails(rondo_version(nullptr), kBad, {"rondo_version", "version is NULL"});
  check_fails(rondo_get_unique_id(nullptr), kBad, {"id is NULL"});
  check_fails(rondo_rank(pair.comms[0], nullptr), kBad, {"rank is NULL"});
  check_fails(rondo_size(pair.comms[0], nullptr), kBad, {"size is NULL"});
  check_fails(rondo_async_error(pair.comms[0], nullptr), kBad, {"status is NULL"});
  check_fails(rondo_algorithm_names("all_reduce", nullptr), kBad, {"names is NULL"});
  check_fails(rondo_type_size(RONDO_INT8, nullptr), kBad, {"bytes is NULL"});
  check_fails(rondo_queue_create(nullptr), kBad, {"queue is NULL"});
  check_fails(rondo_event_create(nullptr), kBad, {"event is NULL"});
  check_fails(rondo_mem_alloc(nullptr, 1), kBad, {"ptr is NULL"});
  check_fails(rondo_cuda_mem_alloc(nullptr, 1, 0), kBad, {"ptr is NULL"});
  check_fails(rondo_register(pair.comms[0], nullptr, 1, nullptr), kBad, {"handle is NULL"});
}

TEST_CASE("unknown types, operations and roots are named, with what is allowed") {
  const Pair pair;
  const rondo_comm_t comm = pair.comms[0];
  int value = 0;
  for (const int type : {-1, kTypes, 1000, INT_MAX, INT_MIN})
    check_fails(rondo_all_reduce(&value, &value, 1, type, RONDO_SUM, comm, nullptr), kBad,
                {"rank 0", "rondo_all_reduce", "type is " + std::to_string(type),
                 "0 to " + std::to_string(kTypes - 1)},
                comm);
  for (const int op : {-1, 11, 1000, INT_MAX, INT_MIN})
    check_fails(rondo_scan(&value, &value, 1, RONDO_INT32, op, comm, nullptr), kBad,
                {"rondo_scan", "op is " + std::to_string(op)}, comm);
  for (const int root : {-1, 2, INT_MAX, INT_MIN}) {
    const std::vector<std::string> words{"root is " + std::to_string(root), "from 0 to 1"};
    for (const CollectiveCall& call : all_calls(&value, nullptr, root))
      if (has_root(call.kind)) check_fails(make_call(call, comm), kBad, words, comm);
  }
}

TEST_CASE("an operation that is not defined for the type is named") {
  const Pair pair;
  const rondo_comm_t comm = pair.comms[0];
  std::array<std::byte, 64> memory{};
  for (rondo_type_t type = 0; type < kTypes; ++type)
    for (rondo_op_t op = 0; op < kOps; ++op)
      if (!op_takes(op, type))
        check_fails(rondo_all_reduce(memory.data(), memory.data(), 1, type, op, comm, nullptr), kBad,
                    {"all_reduce", op_name(op), type_name(type)}, comm);
  for (CollectiveCall call : all_calls(memory.data(), nullptr, 0)) {
    call.op = RONDO_AVG;
    if (reduces(call.kind) && !averages(call.kind))
      check_fails(make_call(call, comm), kBad, {std::string(collective_name(call.kind)), "avg"}, comm);
  }
  rondo_type_t mine = 0;
  check(rondo_type_create(4, &mine));
  check_fails(rondo_all_reduce(memory.data(), memory.data(), 1, mine, RONDO_SUM, comm, nullptr), kBad,
              {"user-defined"}, comm);
  check(rondo_type_destroy(mine));
  check_fails(rondo_all_reduce(memory.data(), memory.data(), 1, mine, RONDO_SUM, comm, nullptr), kBad,
              {"type is " + std::to_string(mine)}, comm);
  const float two = 2;
  rondo_op_t scaled = 0;
  check(rondo_op_create_premul_sum(&two, RONDO_FLOAT32, &scaled));
  check_fails(rondo_all_reduce(memory.data(), memory.data(), 1, RONDO_FLOAT64, scaled, comm, nullptr), kBad,
              {"pre-multiplied sum for type float32"}, comm);
  check(rondo_op_destroy(scaled));
}

TEST_CASE("NULL buffers are refused only if there is something to move") {
  const Pair pair;
  const rondo_comm_t comm = pair.comms[0];  // of rank 0
  std::array<int, 8> memory{};
  const std::array<size_t, 2> counts{1, 1};
  for (const int root : {0, 1})
    for (const CollectiveCall& call : all_calls(memory.data(), counts.data(), root)) {
      if (call.kind == Kind::Barrier) continue;
      CollectiveCall no_send = call;
      no_send.from = nullptr;
      if (traits(call.kind).reads(0, root))
        check_fails(make_call(no_send, comm), kBad, {"sendbuf is NULL"}, comm);
      CollectiveCall no_recv = call;
      no_recv.to = nullptr;
      if (traits(call.kind).writes(0, root))
        check_fails(make_call(no_recv, comm), kBad, {"recvbuf is NULL"}, comm);
    }
  check_fails(rondo_send(nullptr, 1, RONDO_INT32, 1, 0, comm, nullptr), kBad, {"buf is NULL"}, comm);
  check_fails(rondo_recv(nullptr, 1, RONDO_INT32, 1, 0, comm, nullptr, nullptr), kBad, {"buf is NULL"}, comm);
  check(rondo_group_start());
  for (const rondo_comm_t each : pair.comms)
    check(rondo_all_reduce(nullptr, nullptr, 0, RONDO_INT32, RONDO_SUM, each, nullptr), each);
  check(rondo_group_end());
}

TEST_CASE("length arrays are required and must agree with the rank's own length") {
  const Pair pair;
  const rondo_comm_t comm = pair.comms[0];
  std::array<int, 8> a{};
  std::array<int, 8> b{};
  const std::array<size_t, 2> one{1, 1};
  const std::array<size_t, 2> two{2, 1};
  check_fails(rondo_all_gather_v(a.data(), b.data(), nullptr, nullptr, RONDO_INT32, comm, nullptr), kBad,
              {"recvcounts is NULL"}, comm);
  check_fails(rondo_reduce_scatter_v(a.data(), b.data(), nullptr, RONDO_INT32, RONDO_SUM, comm, nullptr),
              kBad, {"recvcounts is NULL"}, comm);
  check_fails(rondo_all_to_all_v(a.data(), nullptr, nullptr, b.data(), one.data(), nullptr, RONDO_INT32, comm,
                                 nullptr),
              kBad, {"sendcounts is NULL"}, comm);
  check_fails(rondo_all_to_all_v(a.data(), one.data(), nullptr, b.data(), nullptr, nullptr, RONDO_INT32, comm,
                                 nullptr),
              kBad, {"recvcounts is NULL"}, comm);
  check_fails(rondo_all_to_all_v(a.data(), one.data(), nullptr, b.data(), two.data(), nullptr, RONDO_INT32,
                                 comm, nullptr),
              kBad, {"sendcounts[rank] is 1", "2"}, comm);
  check_fails(rondo_gather_v(a.data(), 1, b.data(), nullptr, nullptr, RONDO_INT32, 0, comm, nullptr), kBad,
              {"recvcounts is NULL"}, comm);
  check_fails(rondo_gather_v(a.data(), 1, b.data(), two.data(), nullptr, RONDO_INT32, 0, comm, nullptr), kBad,
              {"sendcount is 1", "2"}, comm);
  check_fails(rondo_scatter_v(a.data(), nullptr, nullptr, b.data(), 1, RONDO_INT32, 0, comm, nullptr), kBad,
              {"sendcounts is NULL"}, comm);
  check_fails(rondo_scatter_v(a.data(), two.data(), nullptr, b.data(), 1, RONDO_INT32, 0, comm, nullptr),
              kBad, {"recvcount is 1", "2"}, comm);
  const std::array<size_t, 2> far{0, SIZE_MAX / 2};
  check_fails(rondo_all_gather_v(a.data(), b.data(), one.data(), far.data(), RONDO_INT32, comm, nullptr),
              kBad, {"recvcounts[1]", std::to_string(SIZE_MAX / 2)}, comm);
}

TEST_CASE("counts that no memory can hold are refused, not wrapped") {
  const Pair pair;
  const rondo_comm_t comm = pair.comms[0];
  int value = 0;
  for (const size_t count : {SIZE_MAX, SIZE_MAX / 4 + 1, SIZE_MAX / 8 + 2}) {
    const std::vector<std::string> words{"count is " + std::to_string(count)};
    check_fails(rondo_all_reduce(&value, &value, count, RONDO_INT32, RONDO_SUM, comm, nullptr), kBad, words,
                comm);
    check_fails(rondo_all_gather(&value, &value, count, RONDO_INT32, comm, nullptr), kBad, words, comm);
    check_fails(rondo_send(&value, count, RONDO_INT32, 1, 0, comm, nullptr), kBad, words, comm);
    check_fails(rondo_recv(&value, count, RONDO_INT32, 1, 0, comm, nullptr, nullptr), kBad, words, comm);
  }
  const std::array<size_t, 2> wraps{SIZE_MAX / 8, SIZE_MAX / 8};
  check_fails(rondo_all_gather_v(&value, &value, wraps.data(), nullptr, RONDO_INT32, comm, nullptr), kBad,
              {"recvcounts["}, comm);
  const std::array<size_t, 2> huge{SIZE_MAX, 2};
  check_fails(rondo_reduce_scatter_v(&value, &value, huge.data(), RONDO_INT32, RONDO_SUM, comm, nullptr),
              kBad, {"counts[0] is " + std::to_string(SIZE_MAX)}, comm);
}

TEST_CASE("buffers that overlap, other than in place, are refused") {
  const Pair pair;
  std::array<int, 32> memory{};
  int* const at = memory.data();
  const std::vector<std::string> words{"overlap"};
  for (const int rank : {0, 1})
    for (const Kind kind : kAllCollectives) {
      if (kind == Kind::Barrier || (has_root(kind) && rank == 0)) continue;
      const rondo_comm_t comm = pair.comms[static_cast<size_t>(rank)];
      CollectiveCall call{.kind = kind, .from = at, .to = at + 1, .count = 4, .root = 1};
      check_fails(make_call(call, comm), kBad, words, comm);
      call.to = at;  // not where rank 1 has its own block
      if (rank == 1 && traits(kind).sends != traits(kind).receives)
        check_fails(make_call(call, comm), kBad, words, comm);
    }
  const std::array<size_t, 2> sent{1, 2};
  const std::array<size_t, 2> received{2, 2};  // in place, each block must replace one of the same length
  check_fails(rondo_all_to_all_v(at, sent.data(), nullptr, at, received.data(), nullptr, RONDO_INT32,
                                 pair.comms[1], nullptr),
              kBad, words, pair.comms[1]);
}

TEST_CASE("peers and tags out of range are named") {
  const Pair pair;
  const rondo_comm_t comm = pair.comms[0];
  int value = 0;
  for (const int peer : {-1, 2, INT_MIN})
    check_fails(rondo_send(&value, 1, RONDO_INT32, peer, 0, comm, nullptr), kBad,
                {"peer is " + std::to_string(peer), "from 0 to 1"}, comm);
  for (const int peer : {-2, 2})
    check_fails(rondo_recv(&value, 1, RONDO_INT32, peer, 0, comm, nullptr, nullptr), kBad,
                {"peer is " + std::to_string(peer), "RONDO_ANY_SOURCE"}, comm);
  check_fails(rondo_send(&value, 1, RONDO_INT32, 1, -1, comm, nullptr), kBad, {"tag is -1"}, comm);
  check_fails(rondo_recv(&value, 1, RONDO_INT32, 1, -2, comm, nullptr, nullptr), kBad,
              {"tag is -2", "RONDO_ANY_TAG"}, comm);
}

TEST_CASE("unknown collectives are named") {
  const char* names = nullptr;
  check_fails(rondo_algorithm_names("all_reduced", &names), kBad, {"'all_reduced'", "[R0611]"});
  check_fails(rondo_algorithm_names(nullptr, &names), kBad, {"collective is NULL"});
  check_fails(rondo_algorithm_names("", &names), kBad, {"''"});
}

TEST_CASE("invalid arguments of rondo_explain() are named") {
  const Pair pair;
  const rondo_comm_t comm = pair.comms[0];
  const char* text = nullptr;
  const auto explain = [&](const char* collective, rondo_type_t type, rondo_op_t op, int root) {
    return rondo_explain(comm, collective, 10, type, op, root, &text);
  };
  check_fails(explain("reduced", RONDO_INT32, RONDO_SUM, 0), kBad, {"'reduced'"}, comm);
  check_fails(explain(nullptr, RONDO_INT32, RONDO_SUM, 0), kBad, {"collective is NULL"}, comm);
  check_fails(explain("reduce", 99, RONDO_SUM, 0), kBad, {"type is 99"}, comm);
  check_fails(explain("reduce", RONDO_INT32, 99, 0), kBad, {"op is 99"}, comm);
  check_fails(explain("reduce", RONDO_FLOAT32, RONDO_BIT_OR, 0), kBad, {"bit_or", "float32"}, comm);
  check_fails(explain("reduce", RONDO_INT32, RONDO_SUM, 2), kBad, {"root is 2", "from 0 to 1"}, comm);
  check_fails(rondo_explain(comm, "reduce", SIZE_MAX, RONDO_INT32, RONDO_SUM, 0, &text), kBad, {"count is"},
              comm);
  check_fails(rondo_explain(comm, "barrier", 0, RONDO_INT8, RONDO_SUM, 0, nullptr), kBad, {"text is NULL"},
              comm);
  check_fails(rondo_explain(nullptr, "barrier", 0, RONDO_INT8, RONDO_SUM, 0, &text), kBad, {"comm is NULL"});
  CHECK(text == nullptr);
  check(explain("broadcast", RONDO_INT32, 99, 1), comm);
  CHECK(std::string(text).find("broadcast(count=10, int32, root=1) of 2 ranks, 40 bytes") == 0);
  CHECK(std::string(text).find("operands") == std::string::npos);
}

TEST_CASE("ranks out of range have no transport") {
  const Pair pair;
  const char* name = nullptr;
  for (const int peer : {-1, 2})
    check_fails(rondo_transport(pair.comms[0], peer, &name), kBad,
                {"peer is " + std::to_string(peer), "from 0 to 1"}, pair.comms[0]);
  check_fails(rondo_transport(pair.comms[0], 1, nullptr), kBad, {"name is NULL"}, pair.comms[0]);
  check_fails(rondo_last_algorithm(pair.comms[0], nullptr), kBad, {"name is NULL"}, pair.comms[0]);
}

TEST_CASE("invalid queues, events and memory are named") {
  const Pair pair;
  const OwnedQueue queue;
  rondo_event_t event = nullptr;
  void* memory = nullptr;
  void* handle = nullptr;
  check_fails(rondo_queue_synchronize(nullptr), kBad, {"queue is NULL"});
  check_fails(rondo_queue_query(nullptr), kBad, {"queue is NULL"});
  check_fails(rondo_event_record(nullptr, queue.get()), kBad, {"event is NULL"});
  check_fails(rondo_queue_wait_event(queue.get(), nullptr), kBad, {"event is NULL"});
  check_fails(rondo_event_query(nullptr), kBad, {"event is NULL"});
  check_fails(rondo_event_synchronize(nullptr), kBad, {"event is NULL"});
  check(rondo_event_create(&event));
  check_fails(rondo_event_record(event, nullptr), kBad, {"queue is NULL"});
  check_fails(rondo_queue_wait_event(nullptr, event), kBad, {"queue is NULL"});
  check_fails(rondo_queue_synchronize(reinterpret_cast<rondo_stream_t>(event)), kBad, {"not a queue"});
  check_fails(rondo_event_query(reinterpret_cast<rondo_event_t>(queue.get())), kBad, {"event is not"});
  check_fails(rondo_barrier(reinterpret_cast<rondo_comm_t>(event), nullptr), kBad,
              {"comm is not a communicator"});
  check_fails(rondo_barrier(pair.comms[0], reinterpret_cast<rondo_stream_t>(event)), kBad,
              {"stream is not a queue"}, pair.comms[0]);
  check(rondo_event_destroy(event));
  CHECK(rondo_event_destroy(nullptr) == RONDO_OK);
  CHECK(rondo_queue_destroy(nullptr) == RONDO_OK);
  CHECK(rondo_mem_free(nullptr) == RONDO_OK);
  check_fails(rondo_mem_free(&memory), kBad, {"rondo_mem_alloc()"});
  check_fails(rondo_mem_alloc(&memory, SIZE_MAX), kBad, {"bytes is " + std::to_string(SIZE_MAX)});
  check_fails(rondo_register(pair.comms[0], &event, 0, &handle), kBad, {"0 bytes"}, pair.comms[0]);
  check_fails(rondo_register(pair.comms[0], nullptr, 8, &handle), kBad, {"8 bytes", "[R0601]"},
              pair.comms[0]);
  void* const nowhere = reinterpret_cast<void*>(uintptr_t{8});
  check_fails(rondo_register(pair.comms[0], nowhere, 8, &handle), kBad, {"8 bytes at 0x8", "neither memory"},
              pair.comms[0]);
  check_fails(rondo_deregister(pair.comms[0], &event), kBad, {"not registered"}, pair.comms[0]);
}

TEST_CASE("handles of destroyed objects are refused") {
  rondo_comm_t comm = nullptr;
  rondo_stream_t queue = nullptr;
  rondo_event_t event = nullptr;
  check(rondo_init_all(&comm, 1, nullptr));
  check(rondo_destroy(comm));
  check_fails(rondo_destroy(comm), kBad, {"destroyed"});
  check_fails(rondo_barrier(comm, nullptr), kBad, {"destroyed"});
  check(rondo_queue_create(&queue));
  check(rondo_queue_destroy(queue));
  check_fails(rondo_queue_synchronize(queue), kBad, {"destroyed"});
  check(rondo_event_create(&event));
  check(rondo_event_destroy(event));
  check_fails(rondo_event_query(event), kBad, {"destroyed"});
}

TEST_CASE("a refused call leaves the communicator usable") {
  const Pair pair;
  int value = 1;
  check_fails(rondo_all_reduce(&value, &value, 1, 99, RONDO_SUM, pair.comms[0], nullptr), kBad,
              {"type is 99"});
  rondo_status_t status = RONDO_TIMEOUT;
  check(rondo_async_error(pair.comms[0], &status));
  CHECK(status == RONDO_OK);
  check(rondo_group_start());
  for (const rondo_comm_t comm : pair.comms) check(rondo_barrier(comm, nullptr), comm);
  check(rondo_group_end());
}

TEST_CASE("after finalize only the queries and destroy are allowed") {
  rondo_comm_t comm = nullptr;
  check(rondo_init_all(&comm, 1, nullptr));
  check(rondo_finalize(comm));
  int value = -1;
  check(rondo_rank(comm, &value));
  CHECK(value == 0);
  check(rondo_size(comm, &value));
  CHECK(value == 1);
  check_fails(rondo_barrier(comm, nullptr), RONDO_INVALID_USAGE, {"finalized", "rondo_destroy()"}, comm);
  check_fails(rondo_finalize(comm), RONDO_INVALID_USAGE, {"finalized"}, comm);
  check(rondo_destroy(comm));
}

TEST_CASE("a communicator with calls in an open group is neither finalized nor destroyed") {
  rondo_comm_t comm = nullptr;
  check(rondo_init_all(&comm, 1, nullptr));
  check(rondo_group_start());
  check(rondo_barrier(comm, nullptr));
  check_fails(rondo_finalize(comm), RONDO_INVALID_USAGE, {"group"}, comm);
  check_fails(rondo_destroy(comm), RONDO_INVALID_USAGE, {"group"});
  check(rondo_group_end());
  check(rondo_destroy(comm));
}

}  // namespace
}  // namespace rondo::test
