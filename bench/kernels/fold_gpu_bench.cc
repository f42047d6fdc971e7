// SPDX-License-Identifier: Apache-2.0
// Benchmarks the GPU kernel for copies and reductions against the GPU's own copy: by type, operation, number
// of sources and size of a source. Names are <function>/<type>/<operation>/<sources>/<bytes>; select with
// --benchmark_filter. --most=BYTES omits larger sources. Times are the GPU's, bytes_per_second counts bytes
// read and written, and of_copy is that rate relative to the GPU's own copy of one source.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/stream.h"
#include "kernels/device_folds.h"

namespace rondo {
namespace {

constexpr int kDevice = 0;
constexpr int kNoGpu = 77;
constexpr int64_t kMinBytes = 4096;
constexpr int64_t kMaxBytes = int64_t{256} << 20;
constexpr int64_t kSampleBytes = int64_t{16} << 20;  // for every type and operation
constexpr int64_t kGrowth = 16;                      // from size to size
constexpr int64_t kShortBytes = int64_t{1} << 20;    // up to here, one launch is too short to be timed
constexpr int kShortLaunches = 20;
constexpr int kCopyRounds = 5;

/// Sources and a result on the GPU, and what times the work on them. The GPU's context is current.
class FoldOperands {
 public:
  Status make(size_t sources, size_t bytes) {
    RONDO_TRY_ASSIGN(stream_, gpu::OwnedStream::create(kDevice));
    RONDO_TRY_ASSIGN(stopwatch_, gpu::Stopwatch::create(kDevice));
    for (size_t k = 0; k <= sources; ++k) {
      RONDO_TRY_ASSIGN(gpu::Memory memory, gpu::Memory::allocate(gpu::MemoryKind::Device, kDevice, bytes));
      // A small number in every float type, which is slow in no kernel.
      RONDO_TRY(gpu::fill(memory.data(), std::byte{0x3C}, bytes, stream_.get()));
      pointers_.push_back(memory.data());
      memory_.push_back(std::move(memory));
    }
    return gpu::synchronize(stream_.get());
  }
  std::span<const void* const> sources() const { return {pointers_.data(), pointers_.size() - 1}; }
  void* out() const { return memory_.back().data(); }
  size_t bytes() const { return memory_.back().bytes(); }

  /// Returns the seconds that the work takes on the GPU.
  Result<double> time_s(const std::function<Status(gpu::Stream)>& work) {
    const int times = static_cast<int64_t>(bytes()) <= kShortBytes ? kShortLaunches : 1;
    RONDO_TRY(stopwatch_.start(stream_.get()));
    for (int i = 0; i < times; ++i) RONDO_TRY(work(stream_.get()));
    RONDO_TRY(stopwatch_.stop(stream_.get()));
    RONDO_TRY_ASSIGN(const double elapsed_us, stopwatch_.elapsed_us());
    return elapsed_us / 1e6 / times;
  }
  Result<double> time_copy_s() {
    return time_s(
        [this](gpu::Stream stream) { return gpu::copy(out(), pointers_.front(), bytes(), stream); });
  }

 private:
  gpu::OwnedStream stream_;
  gpu::Stopwatch stopwatch_;
  std::vector<gpu::Memory> memory_;    // the result last
  std::vector<const void*> pointers_;  // likewise
};

/// Bytes per second, read plus written, of the GPU's own copy of `bytes`; measured once per size, best of
/// several rounds.
Result<double> copy_rate(size_t bytes) {
  static std::map<size_t, double> known;
  if (const auto found = known.find(bytes); found != known.end()) return found->second;
  FoldOperands operands;
  RONDO_TRY(operands.make(1, bytes));
  double best_s = 0;
  for (int round = 0; round < kCopyRounds; ++round) {
    RONDO_TRY_ASSIGN(const double took_s, operands.time_copy_s());
    if (round == 0 || took_s < best_s) best_s = took_s;
  }
  return known[bytes] = 2 * static_cast<double>(bytes) / best_s;
}

Status measure(benchmark::State& state, const std::function<Result<double>(FoldOperands&)>& time_s) {
  const auto sources = static_cast<size_t>(state.range(0)), bytes = static_cast<size_t>(state.range(1));
  const gpu::Current current(kDevice);
  RONDO_TRY(current.status());
  RONDO_TRY_ASSIGN(const double copied_per_s, copy_rate(bytes));
  FoldOperands operands;
  RONDO_TRY(operands.make(sources, bytes));
  double all_s = 0;
  while (state.KeepRunning()) {
    RONDO_TRY_ASSIGN(const double took_s, time_s(operands));
    state.SetIterationTime(took_s);
    all_s += took_s;
  }
  const auto moved = static_cast<int64_t>(state.iterations()) * state.range(1) * (state.range(0) + 1);
  state.SetBytesProcessed(moved);
  state.counters["of_copy"] = static_cast<double>(moved) / all_s / copied_per_s;
  return {};
}

void run(benchmark::State& state, const std::function<Result<double>(FoldOperands&)>& time_s) {
  if (const Status status = measure(state, time_s); !status.ok())
    state.SkipWithError(status.message().c_str());
}

void run_copy(benchmark::State& state) {
  run(state, [](FoldOperands& operands) { return operands.time_copy_s(); });
}

void run_fold(benchmark::State& state, ElementType type, Reduction op) {
  const int divisor = op == Reduction::Avg ? static_cast<int>(state.range(0)) : 1;
  run(state, [&](FoldOperands& operands) {
    DeviceFolds folds(type, op, divisor);
    void* const outs[] = {operands.out()};
    folds.add(operands.sources(), outs, operands.bytes() / element_info(type).bytes);
    return operands.time_s([&](gpu::Stream stream) { return folds.launch(kDevice, stream); });
  });
}

using Row = benchmark::internal::Benchmark;

void add_sizes(Row* row, int64_t sources, int64_t max_bytes) {
  row->UseManualTime();
  for (int64_t bytes = kMinBytes; bytes <= max_bytes; bytes *= kGrowth) row->Args({sources, bytes});
}

Row* add_fold(ElementType type, Reduction op) {
  const std::string name =
      "fold/" + std::string(element_info(type).name) + "/" + std::string(reduction_name(op));
  return benchmark::RegisterBenchmark(name.c_str(), run_fold, type, op);
}

/// Every size for some types and operations, and one size for all.
void add_all(int64_t max_bytes) {
  add_sizes(benchmark::RegisterBenchmark("copy", run_copy), 1, max_bytes);
  add_sizes(add_fold(ElementType::UInt8, Reduction::Sum), 1, max_bytes);  // a fold of one source is a copy
  for (const ElementType type : {ElementType::Float32, ElementType::BFloat16})
    for (const int64_t sources : {2, 4, 8}) add_sizes(add_fold(type, Reduction::Sum), sources, max_bytes);
  for (int t = 0; t < kElementTypes; ++t)
    for (int r = 0; r < kReductions; ++r) {
      const auto type = static_cast<ElementType>(t);
      const auto op = static_cast<Reduction>(r);
      if (!reduction_takes(op, type)) continue;
      add_fold(type, op)->UseManualTime()->Args({2, std::min(kSampleBytes, max_bytes)});
    }
}

/// Returns the value of --most=BYTES, which it removes from the arguments; 0 if the value is invalid.
int64_t max_bytes_of(int& argc, char** argv) {
  constexpr std::string_view kOption = "--most=";
  int64_t most = kMaxBytes;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kOption)) {
      argv[kept++] = argv[i];
      continue;
    }
    const char* const end = argument.data() + argument.size();
    const auto [stopped, fault] = std::from_chars(argument.data() + kOption.size(), end, most);
    if (fault != std::errc() || stopped != end || most < kMinBytes) return 0;
  }
  argc = kept;
  return most;
}

int fail(int status, const std::string& why) {
  std::fprintf(stderr, "fold_gpu_bench: %s\n", why.c_str());
  return status;
}

int run_all(int argc, char** argv) {
  const int64_t max_bytes = max_bytes_of(argc, argv);
  if (max_bytes == 0)
    return fail(1, "--most must be a number of bytes, at least " + std::to_string(kMinBytes));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (const auto gpus = gpu::device_count(); !gpus.ok())
    return fail(kNoGpu, "nothing to measure: " + gpus.status().message());
  if (const Status loaded = load_device_kernels(kDevice); !loaded.ok()) return fail(1, loaded.message());
  add_all(max_bytes);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) { return rondo::run_all(argc, argv); }
