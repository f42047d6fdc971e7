// SPDX-License-Identifier: Apache-2.0
#include "base/error_kinds.h"
#include "call/check.h"

#include <optional>

#include "gpu/device.h"
#include "gpu/memory.h"

namespace rondo {
namespace {

using Kind = gpu::Place::Kind;

struct Argument {
  const char* name;
  const void* pointer;
  gpu::Place place;

  bool used() const { return pointer != nullptr; }
  bool on_gpu() const { return used() && (place.kind == Kind::Device || place.kind == Kind::Managed); }
  bool on_host() const { return used() && !on_gpu(); }
};

/// Must come first: after a reset the GPU's memory is no longer recognized as such, and the CPU must not
/// touch it.
Status take(int device, std::optional<gpu::Current>& current) {
  return device >= 0 ? current.emplace(device).status() : Status();
}

Result<Argument> argument(const char* name, const Extent& extent, int device) {
  if (extent.bytes == 0) return Argument{name, nullptr, {}};
  RONDO_TRY_ASSIGN(const gpu::Place place, place_for(extent.begin, device));
  return Argument{name, extent.begin, place};
}

Status check_reachable(std::string_view kind, const Argument& buffer, int device, bool shared) {
  if (!buffer.used()) return {};
  if (buffer.place.kind == Kind::Pageable)
    return error(
        ErrorKind::MemoryOutOfReach,
        "{}: {} is host memory that the GPU cannot reach (or memory that was freed); use GPU memory, or "
        "host memory of cudaMallocHost() or cudaHostRegister()",
        kind, buffer.name);
  if (buffer.place.kind == Kind::Device && buffer.place.device != device)
    return error(ErrorKind::MemoryOfOtherGpu, "{}: {} is memory of GPU {}, but the rank uses GPU {}", kind,
                 buffer.name, buffer.place.device, device);
  if (buffer.place.kind == Kind::Device && shared && !buffer.place.plain)
    return error(ErrorKind::MemoryOutOfReach,
                 "{}: {} is memory of a pool or mapped by hand, which other GPUs cannot reach; use memory of "
                 "cudaMalloc()",
                 kind, buffer.name);
  return {};
}

Status check_alignment(const Call& call, const Argument& buffer) {
  if (!buffer.used() || !reduces(call.kind)) return {};
  const ElementInfo& info = element_info(call.type.element());
  const size_t unit = info.kind == ElementClass::Complex ? info.bytes / 2 : info.bytes;
  if (reinterpret_cast<uintptr_t>(buffer.pointer) % unit == 0) return {};
  return error(ErrorKind::NotAligned,
               "{}: {} is not aligned to its elements, which a reduction of GPU memory needs",
               collective_name(call.kind), buffer.name);
}

Status check_device(std::string_view kind, bool on_stream, int device) {
  if (device >= 0) return {};
  return error(
      ErrorKind::RankWithoutGpu,
      "{}: {}, but this rank uses no GPU: make one current (cudaSetDevice()) before the communicator is "
      "made, or name it (rondo_config_t.device, RONDO_DEVICE)",
      kind, on_stream ? "stream is a CUDA stream" : "a buffer is GPU memory");
}

/// The device's context is current.
Status check_stream(const CallPlace& place, int device) {
  return place.on_stream ? gpu::check_stream(place.stream, device) : Status();
}

}  // namespace

Result<gpu::Place> place_for(const void* pointer, int device) {
  auto place = gpu::place_of(pointer);
  return place.ok() || device >= 0 ? std::move(place) : Result(gpu::Place());
}

Status place(Call& call, int rank, int nranks, int device, bool shared) {
  std::optional<gpu::Current> current;
  RONDO_TRY(take(device, current));
  RONDO_TRY_ASSIGN(const Argument send, argument("sendbuf", used_input(call, rank, nranks), device));
  RONDO_TRY_ASSIGN(const Argument recv, argument("recvbuf", used_output(call, rank, nranks), device));
  const bool wanted = call.place.on_stream || send.on_gpu() || recv.on_gpu();
  const bool by_default = device >= 0 && !send.on_host() && !recv.on_host();
  if (!wanted && !by_default) return {};
  call.place.on_gpu = true;
  const auto kind = collective_name(call.kind);
  RONDO_TRY(check_device(kind, call.place.on_stream, device));
  if (reduces(call.kind) && (call.op.function != nullptr || !call.type.built_in()))
    return error(ErrorKind::HostOpOnGpu,
                 "{}: a user-defined op runs on the CPU and cannot combine GPU memory", kind);
  for (const Argument* buffer : {&send, &recv}) {
    RONDO_TRY(check_reachable(kind, *buffer, device, shared));
    RONDO_TRY(check_alignment(call, *buffer));
  }
  return check_stream(call.place, device);
}

Status place_message(CallPlace& place, const Extent& buffer, int device) {
  std::optional<gpu::Current> current;
  RONDO_TRY(take(device, current));
  constexpr std::string_view kKind = "message";
  RONDO_TRY_ASSIGN(const Argument buf, argument("buf", buffer, device));
  place.on_gpu = place.on_stream || buf.on_gpu();
  if (!place.on_gpu) return {};
  RONDO_TRY(check_device(kKind, place.on_stream, device));
  RONDO_TRY(check_reachable(kKind, buf, device, false));
  return check_stream(place, device);
}

}  // namespace rondo
