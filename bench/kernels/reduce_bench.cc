// SPDX-License-Identifier: Apache-2.0
// Benchmarks reduce() against its plain reference and memcpy: by type, operation, number of sources and size
// of a source. Names are <function>/<type>/<operation>/<sources>/<bytes>; select with --benchmark_filter.
// bytes_per_second counts bytes read and written. RONDO_BENCH_TARGET=AVX2 restricts reduce() to one
// instruction set.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/reduce.h"
#include "kernels/vector_target.h"

namespace rondo {
namespace {

using ReduceKernel = void (*)(const ReduceArgs&);

// The buffers of one run, all of their pages touched. The elements are small numbers of the type, so no
// kernel sees more subnormals or NaNs than in real data.
struct ReduceBuffers {
  ReduceBuffers(ElementType type, size_t sources_count, size_t bytes) : out(bytes) {
    const size_t size = element_info(type).bytes;
    sources.reserve(sources_count);
    pointers.reserve(sources_count);
    for (size_t k = 0; k < sources_count; ++k) {
      sources.emplace_back(bytes);
      // The exponent byte is 0x3C, which makes about 1 in every float type; the others count up.
      for (size_t i = 0; i < bytes; ++i) {
        sources.back()[i] = i % size == size - 1 ? 0x3C : static_cast<uint8_t>((i + k) % 251);
      }
      pointers.push_back(sources.back().data());
    }
  }

  std::vector<uint8_t> out;
  std::vector<std::vector<uint8_t>> sources;
  std::vector<const void*> pointers;
};

void run_reduce(benchmark::State& state, ReduceKernel kernel, ElementType type, Reduction op) {
  const auto sources = static_cast<size_t>(state.range(0)), bytes = static_cast<size_t>(state.range(1));
  ReduceBuffers buffers(type, sources, bytes);
  ReduceArgs args;
  args.out = buffers.out.data();
  args.sources = buffers.pointers;
  args.count = bytes / element_info(type).bytes;
  args.type = type;
  args.op = op;
  if (op == Reduction::Avg) args.divisor = static_cast<int>(sources);
  while (state.KeepRunning()) {
    kernel(args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(1) * (state.range(0) + 1));
}

void run_memcpy(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(1));
  ReduceBuffers buffers(ElementType::UInt8, 1, bytes);
  while (state.KeepRunning()) {
    std::memcpy(buffers.out.data(), buffers.pointers[0], bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(1) * 2);
}

void add_shapes(benchmark::internal::Benchmark* row, const std::vector<int64_t>& source_counts) {
  for (const int64_t sources : source_counts) {
    for (const int64_t bytes : {int64_t{16}, int64_t{4096}, int64_t{65536}, int64_t{4194304}}) {
      row->Args({sources, bytes});
    }
  }
}

void add_all() {
  add_shapes(benchmark::RegisterBenchmark("memcpy", run_memcpy), {1});
  for (int t = 0; t < kElementTypes; ++t) {
    const auto type = static_cast<ElementType>(t);
    for (int r = 0; r < kReductions; ++r) {
      const auto op = static_cast<Reduction>(r);
      if (!reduction_takes(op, type)) continue;
      std::string name = "/";
      name.append(element_info(type).name).append("/").append(reduction_name(op));
      add_shapes(benchmark::RegisterBenchmark(("reduce" + name).c_str(), run_reduce, reduce, type, op),
                 {2, 4, 8});
      add_shapes(
          benchmark::RegisterBenchmark(("reference" + name).c_str(), run_reduce, reduce_reference, type, op),
          {2});
    }
  }
}

bool choose_target() {
  const char* target = std::getenv("RONDO_BENCH_TARGET");
  if (target == nullptr || use_vector_target(target)) return true;
  std::fprintf(stderr, "RONDO_BENCH_TARGET is '%s'; this CPU has:", target);
  for (const std::string& name : vector_targets()) std::fprintf(stderr, " %s", name.c_str());
  std::fprintf(stderr, "\n");
  return false;
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv) || !rondo::choose_target()) return 2;
  rondo::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
