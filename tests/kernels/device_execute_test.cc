// The device executor, compiled for the host: every algorithm gives the right results, with slots so small
// that they wrap, and a call that cannot go on stops everywhere.
#include <cstring>
#include <random>
#include <thread>

#include "algorithms/algorithm.h"
#include "catch.h"
#include "device.h"
#include "device_world.h"
#include "shapes.h"

namespace rondo {
namespace {

/// What rank `rank` has at `index`: small, so that sums are exact in every type.
template <class T>
T operand(int rank, size_t index) {
  return static_cast<T>((static_cast<size_t>(rank) * 7 + index * 3 + 1) % 13);
}

template <class T>
T sum_of(int first, int end, size_t index) {
  T sum{};
  for (int rank = first; rank < end; ++rank) sum = static_cast<T>(sum + operand<T>(rank, index));
  return sum;
}

size_t input_elements(const Shape& shape, size_t count) {
  const Chunks chunks = chunks_of(shape, 1);
  return count * static_cast<size_t>(chunks.input);
}
size_t output_elements(const Shape& shape, size_t count) {
  const Chunks chunks = chunks_of(shape, 1);
  return count * static_cast<size_t>(chunks.output);
}

/// What is right at `index` of the rank's output; nothing where that is left as it was.
template <class T>
std::optional<T> expected(const Shape& shape, int rank, size_t count, size_t index) {
  const int n = shape.nranks;
  const size_t own = static_cast<size_t>(rank) * count + index;
  const bool at_root = rank == shape.root;
  const auto block = [&] { return operand<T>(static_cast<int>(index / count), index % count); };
  switch (shape.kind) {
    case CollectiveKind::AllReduce: return sum_of<T>(0, n, index);
    case CollectiveKind::Reduce: return at_root ? std::optional(sum_of<T>(0, n, index)) : std::nullopt;
    case CollectiveKind::Broadcast: return operand<T>(shape.root, index);
    case CollectiveKind::AllGather: return block();
    case CollectiveKind::Gather: return at_root ? std::optional(block()) : std::nullopt;
    case CollectiveKind::ReduceScatter: return sum_of<T>(0, n, own);
    case CollectiveKind::Scatter: return operand<T>(shape.root, own);
    case CollectiveKind::AllToAll:
      return operand<T>(static_cast<int>(index / count), static_cast<size_t>(rank) * count + index % count);
    case CollectiveKind::Scan: return sum_of<T>(0, rank + 1, index);
    case CollectiveKind::Exscan: return rank > 0 ? std::optional(sum_of<T>(0, rank, index)) : std::nullopt;
    default: return std::nullopt;
  }
}

/// One call of all ranks on buffers of their own.
template <class T>
class Exchange {
 public:
  Exchange(const Algorithm& algorithm, const Shape& shape, size_t count, ElementType type,
           const DeviceWorld::Options& options)
      : shape_(shape), count_(count), health_(static_cast<size_t>(shape.nranks)) {
    const size_t chunk = options.slot_bytes / static_cast<size_t>(algorithm.most_count(shape)) / sizeof(T);
    const Chunks chunks = chunks_of(shape, algorithm.parts(shape));
    for (int rank = 0; rank < shape.nranks; ++rank) {
      inputs_.emplace_back(input_elements(shape, count) + 1);
      outputs_.emplace_back(output_elements(shape, count) + 1, kUntouched);
      for (size_t i = 0; i < inputs_.back().size(); ++i) inputs_.back()[i] = operand<T>(rank, i);
      device::Call call;
      call.input = reinterpret_cast<const std::byte*>(inputs_.back().data());
      call.output = reinterpret_cast<std::byte*>(outputs_.back().data());
      call.layout = {lay(chunks.input, chunk), lay(chunks.output, chunk), chunk * sizeof(T), 1};
      call.layout.tiles = std::max(call.layout.input.tiles(), call.layout.output.tiles());
      if (reduces(shape.kind)) {
        call.type = type;
        call.type_bytes = sizeof(T);
      }
      call.signature.count = count;
      call.signature.kind = shape.kind;
      call.health = &health_[static_cast<size_t>(rank)];
      calls_.push_back(call);
    }
  }

  std::vector<device::Call>& calls() { return calls_; }
  device::CallHealth& health(int rank) { return health_[static_cast<size_t>(rank)]; }

  /// The first element that is wrong, if one is.
  std::string fault() const {
    for (int rank = 0; rank < shape_.nranks; ++rank) {
      const auto& output = outputs_[static_cast<size_t>(rank)];
      for (size_t i = 0; i < output.size(); ++i) {
        const bool behind = i + 1 == output.size();
        const T right = behind ? kUntouched : expected<T>(shape_, rank, count_, i).value_or(kUntouched);
        if (output[i] != right)
          return "rank " + std::to_string(rank) + ", element " + std::to_string(i) + " is " +
                 std::to_string(output[i]) + " instead of " + std::to_string(right);
      }
    }
    return "";
  }

 private:
  static constexpr T kUntouched = T(119);

  BufferLayout lay(int chunks, size_t tile_elements) const {
    const Chunks blocks = chunks_of(shape_, 1);
    return blocks.input == 1 && blocks.output == 1
               ? BufferLayout::parts(count_, sizeof(T), chunks, tile_elements)
               : BufferLayout::blocks(count_, sizeof(T), chunks, tile_elements);
  }

  Shape shape_;
  size_t count_;
  std::vector<std::vector<T>> inputs_;
  std::vector<std::vector<T>> outputs_;
  std::vector<device::CallHealth> health_;
  std::vector<device::Call> calls_;
};

template <class T>
void try_call(const Algorithm& algorithm, const Shape& shape, ElementType type, std::mt19937_64& random) {
  const auto draw = [&](size_t below) { return random() % below; };
  const DeviceWorld::Options options{.threads = static_cast<uint32_t>(1 + draw(3)),
                                     .slot_bytes = sizeof(T) * 16 * (1 + draw(4)),
                                     .slots = 1 + draw(3)};
  const auto schedules = build_all(algorithm, shape);
  DeviceWorld world(schedules, options);
  for (uint32_t sequence = 1; sequence <= 3;
       ++sequence) {  // one call after the other on the same connections
    const size_t most = shape.kind == CollectiveKind::Barrier ? 1 : sequence == 1 ? 3 : 200;
    const size_t count = draw(most);
    Exchange<T> exchange(algorithm, shape, count, type, options);
    for (device::Call& call : exchange.calls()) call.signature.sequence = sequence;
    world.run(exchange.calls());
    INFO(name_of(algorithm) << ", " << to_string(shape) << ", " << element_info(type).name << ", count "
                            << count << ", " << options.threads << " threads, " << options.slots
                            << " slots of " << options.slot_bytes << " bytes");
    REQUIRE(exchange.fault() == "");
  }
}

}  // namespace

TEST_CASE("the device executor carries out every algorithm over any number of ranks") {
  constexpr uint64_t kSeed = 1;
  std::mt19937_64 random(kSeed);
  CAPTURE(kSeed);
  for (const Algorithm& algorithm : algorithms())
    for (int n = 1; n <= 8; ++n)
      for (Shape shape : supported_shapes(algorithm, n)) {
        if (shape.varying || (shape.root != 0 && shape.root != n - 1)) continue;
        switch (random() % 3) {
          case 0: try_call<int32_t>(algorithm, shape, ElementType::Int32, random); break;
          case 1: try_call<double>(algorithm, shape, ElementType::Float64, random); break;
          default: try_call<uint8_t>(algorithm, shape, ElementType::UInt8, random); break;
        }
      }
}

TEST_CASE("ranks that make different calls stop, and one of them knows why") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllReduce, "ring").value();
  const Shape shape{CollectiveKind::AllReduce, 3};
  const auto schedules = build_all(ring, shape);
  DeviceWorld world(schedules, {});
  Exchange<int32_t> exchange(ring, shape, 100, ElementType::Int32, {});
  exchange.calls()[1].signature.count = 99;
  // As the host does: whoever fails stops the others.
  std::atomic<bool> over = false;
  std::thread watch([&] {
    while (!over) {
      for (int rank = 0; rank < 3; ++rank)
        if (device::load_acquire(&exchange.health(rank).stop) != 0)
          for (int other = 0; other < 3; ++other) device::store_release(&exchange.health(other).stop, 1);
      std::this_thread::yield();
    }
  });
  world.run(exchange.calls());
  over = true;
  watch.join();
  int found = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const device::CallHealth& health = exchange.health(rank);
    CHECK(health.stop == 1);
    if (health.mismatch == 0) continue;
    ++found;
    CHECK((rank == 1) == (health.signature.count == 100));
  }
  CHECK(found >= 1);
}

TEST_CASE("a wait for a rank that never comes ends when the host says so") {
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllReduce, "ring").value();
  const Shape shape{CollectiveKind::AllReduce, 2};
  auto schedules = build_all(ring, shape);
  schedules[1].lanes.clear();  // it makes no call
  DeviceWorld world(schedules, {});
  Exchange<int32_t> exchange(ring, shape, 100, ElementType::Int32, {});
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device::store_release(&exchange.health(0).stop, 1);
  });
  world.run(exchange.calls());
  host.join();
  CHECK(exchange.health(0).mismatch == 0);
}

}  // namespace rondo
