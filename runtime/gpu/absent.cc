// SPDX-License-Identifier: Apache-2.0
// Stubs for a build without CUDA's headers: there is no GPU.
#include "base/error_kinds.h"
#include "gpu/device.h"
#include "gpu/graph.h"
#include "gpu/ipc.h"
#include "gpu/memory.h"
#include "gpu/rdma_memory.h"
#include "gpu/shared_memory.h"
#include "gpu/stream.h"

namespace rondo::gpu {
namespace {

Status absent() { return Status(ErrorKind::BuiltWithoutCuda, "this librondo was built without CUDA"); }

}  // namespace

Result<int> device_count() { return absent(); }
Result<int> driver_version() { return absent(); }
bool in_use() { return false; }
std::optional<int> current_device() { return std::nullopt; }
Result<DeviceInfo> device_info(int) { return absent(); }
Result<std::string> bus_id(int) { return absent(); }
bool can_reach(int, int) { return false; }
bool linked(int, int) { return false; }
Status reach(int, int) { return absent(); }
Current::Current(int) : status_(absent()) {}
Current::~Current() = default;
std::optional<int> Current::device() { return std::nullopt; }

Result<Place> place_of(const void*) { return Place{}; }
Result<Memory> Memory::allocate(MemoryKind, int, size_t) { return absent(); }
Memory::~Memory() = default;
Memory::Memory(Memory&&) noexcept {}
Memory& Memory::operator=(Memory&&) noexcept { return *this; }
Status copy(void*, const void*, size_t) { return absent(); }
Status copy(void*, const void*, size_t, Stream) { return absent(); }
Status fill(void*, std::byte, size_t, Stream) { return absent(); }
Status upload(int, void*, const void*, size_t) { return absent(); }
Status clear(int, void*, size_t) { return absent(); }

Result<GpuMemory::Visibility> rdma_visibility(int) { return absent(); }
Result<std::shared_ptr<const RdmaMemory>> RdmaMemory::allocate(int, size_t) { return absent(); }
Result<Fd> RdmaMemory::dmabuf() const { return absent(); }
Status RdmaMemory::copy(std::byte*, const std::byte*, size_t) const { return absent(); }
Status RdmaMemory::flush() const { return absent(); }

Result<SharedMemory> SharedMemory::create(int, size_t) { return absent(); }
Result<SharedMemory> SharedMemory::open(const Fd&, size_t, int) { return absent(); }
SharedMemory::~SharedMemory() = default;
SharedMemory::SharedMemory(SharedMemory&&) noexcept {}
SharedMemory& SharedMemory::operator=(SharedMemory&&) noexcept { return *this; }
Result<Fd> SharedMemory::exported() const { return absent(); }
Result<Allocation> allocation_of(const void*, int) { return absent(); }
Result<IpcHandle> export_memory(const void*, int) { return absent(); }
Result<ImportedMemory> ImportedMemory::open(const IpcHandle&, int) { return absent(); }
void ImportedMemory::CloseMemory::operator()(std::byte*) const {}
Result<HostWindow> HostWindow::open(int, void*, size_t) { return absent(); }
void HostWindow::UnregisterMemory::operator()(void*) const {}
OutsideCapture::OutsideCapture() = default;
OutsideCapture::~OutsideCapture() = default;

Status check_stream(Stream, int) { return absent(); }
Result<uint64_t> capture_of(Stream) { return absent(); }
Status synchronize(Stream) { return absent(); }
Result<Event> Event::create(int, bool) { return absent(); }
void Event::DestroyEvent::operator()(CUevent_st*) const {}
Status Event::record(Stream) { return absent(); }
Status operate(Stream, std::span<const WordOperation>) { return absent(); }
Status Event::hold(Stream) const { return absent(); }
Result<bool> Event::complete() const { return absent(); }
Result<double> Event::elapsed_us(const Event&) const { return absent(); }

Result<OwnedStream> OwnedStream::create(int) { return absent(); }
void OwnedStream::DestroyStream::operator()(Stream) const {}

Result<Stopwatch> Stopwatch::create(int) { return absent(); }

Status begin_capture(Stream) { return absent(); }
Result<Graph> Graph::end_capture(Stream) { return absent(); }
void Graph::DestroyGraph::operator()(CUgraphExec_st*) const {}
Status Graph::launch(Stream) const { return absent(); }

}  // namespace rondo::gpu
