#include "kernels/device_reduce.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>

#include "launch.h"

namespace rondo {

Status device_reduce(const ReduceArgs& args, void* stream) {
  if (args.sources.empty() || args.sources.size() > device::kMostSources)
    return error(Code::InvalidArgument, "a reduction on a device takes 1 to {} sources, not {}",
                 device::kMostSources, args.sources.size());
  device::FoldLaunch launch{};
  std::copy(args.sources.begin(), args.sources.end(), launch.sources);
  launch.out = args.out;
  launch.nsources = static_cast<int>(args.sources.size());
  launch.divisor = args.divisor;
  launch.scaled_source = args.scaled_source;
  launch.type = static_cast<uint8_t>(args.type);
  launch.op = static_cast<uint8_t>(args.op);
  launch.count = args.count;
  if (args.scaled_source >= 0) std::memcpy(launch.scalar, args.scalar, element_info(args.type).bytes);
  const auto outcome = static_cast<cudaError_t>(device::launch_fold(launch, stream));
  if (outcome == cudaSuccess) return {};
  return error(Code::SystemError, "a reduction on the device: {}", cudaGetErrorString(outcome));
}

}  // namespace rondo
