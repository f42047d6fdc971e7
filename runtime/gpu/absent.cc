// What a build without CUDA's headers says: there is no GPU.
#include "gpu/device.h"
#include "gpu/memory.h"
#include "gpu/shared_memory.h"
#include "gpu/stream.h"
#include "gpu/words.h"

namespace rondo::gpu {
namespace {

Status absent() { return Status(Code::Unsupported, "this librondo was built without CUDA"); }

}  // namespace

Result<int> device_count() { return absent(); }
bool in_use() { return false; }
std::optional<int> current_device() { return std::nullopt; }
Result<DeviceInfo> device_info(int) { return absent(); }
bool can_reach(int, int) { return false; }
Status reach(int, int) { return absent(); }
Current::Current(int) : status_(absent()) {}
Current::~Current() = default;

Place place_of(const void*) { return {}; }
Result<Memory> Memory::allocate(MemoryKind, int, size_t) { return absent(); }
Memory::~Memory() = default;
Memory::Memory(Memory&&) noexcept {}
Memory& Memory::operator=(Memory&&) noexcept { return *this; }
Status copy(void*, const void*, size_t) { return absent(); }

Result<SharedMemory> SharedMemory::create(int, size_t) { return absent(); }
Result<SharedMemory> SharedMemory::open(const Fd&, size_t, int) { return absent(); }
SharedMemory::~SharedMemory() = default;
SharedMemory::SharedMemory(SharedMemory&&) noexcept {}
SharedMemory& SharedMemory::operator=(SharedMemory&&) noexcept { return *this; }
Result<Fd> SharedMemory::exported() const { return absent(); }
Result<HostWindow> HostWindow::open(int, void*, size_t) { return absent(); }
HostWindow::~HostWindow() = default;
HostWindow::HostWindow(HostWindow&&) noexcept {}
HostWindow& HostWindow::operator=(HostWindow&&) noexcept { return *this; }
OutsideCapture::OutsideCapture() = default;
OutsideCapture::~OutsideCapture() = default;

Status check_stream(Stream, int) { return absent(); }
Result<uint64_t> capture_of(Stream) { return absent(); }
Status synchronize(Stream) { return absent(); }
Result<Event> Event::create(int) { return absent(); }
Event::~Event() = default;
Event::Event(Event&&) noexcept {}
Event& Event::operator=(Event&&) noexcept { return *this; }
Status Event::record(Stream) { return absent(); }
Status operate(Stream, std::span<const WordOperation>) { return absent(); }
Status Event::hold(Stream) const { return absent(); }
Result<bool> Event::complete() const { return absent(); }

}  // namespace rondo::gpu
