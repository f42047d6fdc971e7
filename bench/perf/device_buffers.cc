// SPDX-License-Identifier: Apache-2.0
#include "device_buffers.h"

#include <utility>

#include "failure.h"
#include "gpu/device.h"
#include "kernels/compare.h"
#include "poison.h"
#include "try.h"

namespace rondo::perf {
namespace {

constexpr size_t kFrontBytes = 4096;
constexpr size_t kStage = 8 << 20;  // bytes staged at a time

// Splits pieces into parts that each fit the staging buffer.
std::vector<DataPiece> in_parts(const std::vector<DataPiece>& pieces, size_t element_bytes) {
  std::vector<DataPiece> parts;
  const size_t most = kStage / element_bytes;
  for (const DataPiece& piece : pieces) {
    for (size_t done = 0; done < piece.count; done += most) {
      DataPiece& part = parts.emplace_back(piece);
      part.offset += done;
      part.index += done;
      part.count = std::min(most, piece.count - done);
    }
  }
  return parts;
}

ElementEquality equality_of(const Checker& checker, const DataPiece& piece) {
  const TypeRow& type = checker.type();
  const bool complex = type.kind == TypeClass::Complex;
  const bool exact = checker.exact() || piece.from == DataPiece::From::Untouched;
  return {.part_bytes = static_cast<uint32_t>(complex ? type.bytes / 2 : type.bytes),
          .parts = complex ? 2u : 1u,
          .zeros_alike = !exact && (complex || type.kind == TypeClass::Float)};
}

}  // namespace

rondo_status_t DeviceBuffers::make(const BufferSizes& sizes, gpu::MemoryKind kind, int device,
                                   gpu::Stream stream, std::unique_ptr<Buffers>& made) {
  auto buffers = std::make_unique<DeviceBuffers>();
  buffers->device_ = device;
  buffers->stream_ = stream;
  const Status status = buffers->allocate(sizes, kind);
  if (status.ok()) made = std::move(buffers);
  return noted(status);
}

Status DeviceBuffers::allocate(const BufferSizes& sizes, gpu::MemoryKind kind) {
  const size_t before = kFrontBytes + sizes.unalign;
  RONDO_TRY_ASSIGN(send_memory_, gpu::Memory::allocate(kind, device_, before + sizes.send + kGuard));
  RONDO_TRY_ASSIGN(recv_memory_, gpu::Memory::allocate(kind, device_, before + sizes.recv + kGuard));
  RONDO_TRY_ASSIGN(staged_, gpu::Memory::allocate(gpu::MemoryKind::Pinned, device_, kStage));
  RONDO_TRY_ASSIGN(expected_, gpu::Memory::allocate(gpu::MemoryKind::Device, device_, kStage));
  RONDO_TRY_ASSIGN(wrong_, gpu::Memory::allocate(gpu::MemoryKind::Pinned, device_, sizeof(uint64_t)));
  send_ = send_memory_.data() + before;
  recv_ = recv_memory_.data() + before;
  return {};
}

rondo_status_t DeviceBuffers::clear(const BufferPlace& place) {
  const gpu::Current current(device_);
  return noted(current.status().ok() ? zero(place) : current.status());
}

rondo_status_t DeviceBuffers::rewrite(const BufferPlace& place) {
  const gpu::Current current(device_);
  if (!current.status().ok()) return noted(current.status());
  for (const DataPiece& piece : place.layout->send)
    PERF_TRY(noted(gpu::fill(place.send + piece.offset * place.element_bytes, std::byte{0},
                             piece.count * place.element_bytes, stream_)));
  return RONDO_OK;
}

Status DeviceBuffers::zero(const BufferPlace& place) const {
  RONDO_TRY(gpu::fill(send_, std::byte{0}, place.send_bytes, stream_));
  return gpu::fill(recv_, std::byte{0}, place.recv_bytes, stream_);
}

rondo_status_t DeviceBuffers::prepare(const BufferPlace& place, Checker& checker, uint64_t round) {
  const gpu::Current current(device_);
  return noted(current.status().ok() ? write(place, checker, round) : current.status());
}

Status DeviceBuffers::poison(std::byte* at, size_t bytes) const {
  RONDO_TRY(gpu::fill(at - kGuard, kGuardByte, kGuard, stream_));
  RONDO_TRY(gpu::fill(at, kPoison, bytes, stream_));
  return gpu::fill(at + bytes, kGuardByte, kGuard, stream_);
}

Status DeviceBuffers::write(const BufferPlace& place, Checker& checker, uint64_t round) const {
  RONDO_TRY(poison(send_, place.send_bytes));
  RONDO_TRY(poison(recv_, place.recv_bytes));
  const size_t element_bytes = checker.type().bytes;
  for (const DataPiece& part : in_parts(place.layout->send, element_bytes))
    RONDO_TRY(stage(part, checker, round, place.send + part.offset * element_bytes));
  return {};
}

Status DeviceBuffers::stage(const DataPiece& part, Checker& checker, uint64_t round, std::byte* to) const {
  RONDO_TRY(gpu::synchronize(stream_));  // the previous part may still be copied from staged_
  checker.write(part, staged_.data(), round);
  return gpu::copy(to, staged_.data(), part.count * checker.type().bytes, stream_);
}

rondo_status_t DeviceBuffers::count_wrong(const BufferPlace& place, Checker& checker, uint64_t round,
                                          size_t& wrong) {
  const gpu::Current current(device_);
  return noted(current.status().ok() ? check(place, checker, round, wrong) : current.status());
}

Status DeviceBuffers::count(const std::vector<DataPiece>& pieces, const std::byte* at, Checker& checker,
                            uint64_t round) const {
  const size_t element_bytes = checker.type().bytes;
  for (const DataPiece& part : in_parts(pieces, element_bytes)) {
    RONDO_TRY(stage(part, checker, round, expected_.data()));
    RONDO_TRY(compare(at + part.offset * element_bytes, expected_.data(), part.count,
                      equality_of(checker, part), reinterpret_cast<uint64_t*>(wrong_.data()), device_,
                      stream_));
  }
  return gpu::synchronize(stream_);
}

Status DeviceBuffers::count_damage(const std::byte* at, size_t bytes) const {
  RONDO_TRY(gpu::fill(expected_.data(), kGuardByte, kGuard, stream_));
  for (const std::byte* guard : {at - kGuard, at + bytes})
    RONDO_TRY(compare(guard, expected_.data(), kGuard, {}, reinterpret_cast<uint64_t*>(wrong_.data()),
                      device_, stream_));
  return gpu::synchronize(stream_);
}

Status DeviceBuffers::check(const BufferPlace& place, Checker& checker, uint64_t round, size_t& wrong) const {
  auto& found = *reinterpret_cast<uint64_t*>(wrong_.data());
  found = 0;
  RONDO_TRY(count(*place.expect, place.recv, checker, round));
  if (place.apart) RONDO_TRY(count(place.layout->send, place.send, checker, round));  // must be unchanged
  wrong += std::exchange(found, 0);
  RONDO_TRY(count_damage(recv_, place.recv_bytes));
  wrong += std::exchange(found, 0) > 0 ? 1 : 0;
  RONDO_TRY(count_damage(send_, place.send_bytes));
  wrong += std::exchange(found, 0) > 0 ? 1 : 0;
  return {};
}

}  // namespace rondo::perf
