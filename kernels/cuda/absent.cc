// SPDX-License-Identifier: Apache-2.0
// Stubs for a build without nvcc, which has no kernels.
#include "base/error_kinds.h"
#include "fold_list.h"
#include "kernels/device_call.h"
#include "kernels/device_folds.h"
#include "kernels/ticket.h"

namespace rondo {
namespace {

Status absent() { return Status(ErrorKind::BuiltWithoutCuda, "this librondo was built without CUDA"); }

}  // namespace

Result<uint32_t> resident_blocks(int) { return absent(); }
Status launch_calls(std::span<const DeviceCall* const>, int, gpu::Stream) { return absent(); }

Status draw_ticket(int, gpu::Stream, uint64_t*, uint64_t*) { return absent(); }

Status load_device_kernels(int) { return absent(); }
DeviceFolds::DeviceFolds(ElementType type, Reduction op, int divisor)
    : type_(type), op_(op), divisor_(divisor) {}
DeviceFolds::DeviceFolds(DeviceFolds&&) noexcept = default;
DeviceFolds::~DeviceFolds() = default;
void DeviceFolds::scale(uint64_t, std::span<const Scalar>) {}
void DeviceFolds::add(std::span<const void* const>, std::span<void* const>, size_t) {}
void DeviceFolds::stamp(const StampPlan&) {}
Status DeviceFolds::launch(int, gpu::Stream) const { return absent(); }

}  // namespace rondo
