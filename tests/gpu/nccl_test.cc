// SPDX-License-Identifier: Apache-2.0
// libnccl.so.2 on GPU memory: streams, groups of ranks in one thread, processes, and what is refused.
#include <array>
#include <memory>
#include <vector>

#include "catch.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/stream.h"
#include "ranks.h"

namespace rondo::test {
namespace {

constexpr size_t kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(int);

void ok(const Status& status) { require(status.ok(), status.message()); }

/// Numbers in GPU memory, and a stream on that GPU.
struct Place {
  explicit Place(int on, int value) : device(on) {
    auto made = gpu::OwnedStream::create(on);
    ok(made.status());
    stream = made.take();
    auto memory = gpu::Memory::allocate(gpu::MemoryKind::Device, on, kBytes);
    ok(memory.status());
    numbers = memory.take();
    set(value);
  }
  void set(int value) const {
    const std::vector<int> values(kCount, value);
    ok(gpu::upload(device, numbers.data(), values.data(), kBytes));
  }
  void expect(int value) const {
    const gpu::Current current(device);
    ok(current.status());
    ok(gpu::synchronize(stream.get()));
    std::vector<int> values(kCount);
    ok(gpu::copy(values.data(), numbers.data(), kBytes));
    require(values == std::vector<int>(kCount, value),
            "not " + std::to_string(value) + " everywhere, but " + std::to_string(values.front()));
  }

  int device;
  gpu::OwnedStream stream;
  gpu::Memory numbers;
};

/// Two ranks in one thread.
class Pair {
 public:
  Pair() {
    const auto count = gpu::device_count();
    ok(count.status());
    devices_[1] = count.value() > 1 ? 1 : 0;
    done(ncclCommInitAll(comms.data(), 2, devices_.data()));
    for (size_t rank = 0; rank < 2; ++rank)
      places.push_back(std::make_unique<Place>(devices_[rank], static_cast<int>(rank) + 1));
  }
  ~Pair() {
    for (ncclComm_t comm : comms) ncclCommDestroy(comm);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  template <typename Make>
  void together(Make&& make) {
    done(ncclGroupStart());
    for (size_t rank = 0; rank < 2; ++rank) done(make(rank), comms[rank]);
    done(ncclGroupEnd());
  }
  ncclResult_t sum(size_t rank, ncclRedOp_t op = ncclSum) {
    std::byte* numbers = places[rank]->numbers.data();
    return ncclAllReduce(numbers, numbers, kCount, ncclInt32, op, comms[rank], places[rank]->stream.get());
  }

  std::array<ncclComm_t, 2> comms{};
  std::vector<std::unique_ptr<Place>> places;

 private:
  std::array<int, 2> devices_{0, 0};
};

bool lacks_gpu() {
  const std::string there = run_alone([] { ok(gpu::device_count().status()); });
  if (there.empty()) return false;
  WARN("skipped: " << there);
  return true;
}

}  // namespace

TEST_CASE("one thread drives ranks on their streams through NCCL's API") {
  if (lacks_gpu()) return;
  CHECK(run_alone([] {
          Pair pair;
          int device = -1;
          done(ncclCommCuDevice(pair.comms[1], &device));
          require(device == pair.places[1]->device, "another GPU");
          pair.together([&](size_t rank) { return pair.sum(rank); });
          pair.together([&](size_t rank) { return pair.sum(rank); });
          for (const auto& place : pair.places) place->expect(6);
          pair.together([&](size_t rank) {
            return ncclBcast(pair.places[rank]->numbers.data(), kCount, ncclInt32, 1, pair.comms[rank],
                             pair.places[rank]->stream.get());
          });
          for (const auto& place : pair.places) place->expect(6);
        }) == "");
}

TEST_CASE("messages between GPUs, grouped") {
  if (lacks_gpu()) return;
  CHECK(run_alone([] {
          Pair pair;
          const Place target(pair.places[1]->device, 0);
          done(ncclGroupStart());
          done(ncclSend(pair.places[0]->numbers.data(), kCount, ncclInt32, 1, pair.comms[0],
                        pair.places[0]->stream.get()));
          done(ncclRecv(target.numbers.data(), kCount, ncclInt32, 0, pair.comms[1], target.stream.get()));
          done(ncclGroupEnd());
          target.expect(1);
        }) == "");
}

TEST_CASE("the NULL stream is the GPU's default stream, and scalars may be in GPU memory") {
  if (lacks_gpu()) return;
  CHECK(run_alone([] {
          Pair pair;
          const Place scalar(pair.places[0]->device, 5);
          std::array<ncclRedOp_t, 2> ops{};
          for (size_t rank = 0; rank < 2; ++rank)
            done(ncclRedOpCreatePreMulSum(&ops[rank], scalar.numbers.data(), ncclInt32, ncclScalarDevice,
                                          pair.comms[rank]));
          pair.together([&](size_t rank) {
            std::byte* numbers = pair.places[rank]->numbers.data();
            return ncclAllReduce(numbers, numbers, kCount, ncclInt32, ops[rank], pair.comms[rank], nullptr);
          });
          for (const auto& place : pair.places) {
            const gpu::Current current(place->device);
            ok(gpu::synchronize(gpu::kLegacyStream));
            place->expect(15);
          }
        }) == "");
}

TEST_CASE("memory from ncclMemAlloc() is GPU memory and can be registered") {
  if (lacks_gpu()) return;
  CHECK(run_alone([] {
          Pair pair;
          void* memory = nullptr;
          done(ncclMemAlloc(&memory, kBytes));
          const auto place = gpu::place_of(memory);
          require(place.ok() && place.value().kind == gpu::Place::Kind::Device, "not the GPU's");
          void* handle = nullptr;
          done(ncclCommRegister(pair.comms[0], memory, kBytes, &handle));
          done(ncclCommDeregister(pair.comms[0], handle));
          done(ncclMemFree(memory));
        }) == "");
}

TEST_CASE("host memory is refused on a rank with a GPU, with an explanation, and the group is not run") {
  if (lacks_gpu()) return;
  CHECK(run_alone([] {
          Pair pair;
          std::vector<int> host(kCount);
          done(ncclGroupStart());
          done(pair.sum(0));
          fails(ncclAllReduce(host.data(), host.data(), kCount, ncclInt32, ncclSum, pair.comms[1],
                              pair.places[1]->stream.get()),
                ncclInvalidArgument, {"host memory", "sendbuf"}, pair.comms[1]);
          require(ncclGroupEnd() == ncclInvalidArgument, "the group was made");
          pair.together([&](size_t rank) { return pair.sum(rank); });
          for (const auto& place : pair.places) place->expect(3);
        }) == "");
}

TEST_CASE("one process per rank, sharing a GPU; some leave at once") {
  if (lacks_gpu()) return;
  CHECK(run_processes(3, [](const Start& start) {
          const Comm comm(start);
          const Place place(0, start.rank);
          const gpu::Current current(0);
          for (int i = 0; i < 2; ++i) {
            place.set(start.rank);
            done(ncclAllReduce(place.numbers.data(), place.numbers.data(), kCount, ncclInt32, ncclSum,
                               comm.get(), place.stream.get()),
                 comm.get());
            place.expect(3);
          }
        }) == "");
}

TEST_CASE("an abort ends what a stream waits for") {
  if (lacks_gpu()) return;
  CHECK(run_processes(2, [](const Start& start) {
          Comm comm(start);
          const Place place(0, 1);
          const auto sum = [&] {
            done(ncclAllReduce(place.numbers.data(), place.numbers.data(), kCount, ncclInt32, ncclSum,
                               comm.get(), place.stream.get()),
                 comm.get());
          };
          sum();  // the first call connects and waits for peers
          place.expect(2);
          if (start.rank == 0) sum();
          sleep_ms(100);
          const double before = seconds_now();
          if (start.rank == 0) done(ncclCommAbort(comm.release()));
          if (start.rank == 1)
            while (settled(comm.get()) == ncclSuccess) sleep_ms(1);
          require(seconds_now() - before < 5, "it waits");
        }) == "");
}

}  // namespace rondo::test
