// SPDX-License-Identifier: Apache-2.0
#include "device_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

#include "driver.h"

namespace rondo::standin {
namespace {

constexpr const char* kLinkFormat = "/memfd:rondo-standin-%d-";  // index of the device in the machine

/// The system's name of a memfd; empty if there is none.
std::string link_of(int fd) {
  std::array<char, 256> link{};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(path.c_str(), link.data(), link.size());
  return length <= 0 ? "" : std::string(link.data(), static_cast<size_t>(length));
}

bool take(Device& device, size_t bytes) {
  const uint64_t most = driver().settings.memory_bytes;
  uint64_t used = device.used_bytes;
  do {
    if (bytes > most || used > most - bytes) return false;
  } while (!device.used_bytes.compare_exchange_weak(used, used + bytes));
  return true;
}

}  // namespace

std::shared_ptr<DeviceMemory> DeviceMemory::create(Device& device, uint64_t number, size_t bytes) {
  if (!take(device, bytes)) return nullptr;
  const std::string name = "rondo-standin-" + std::to_string(device.physical) + "-" +
                           std::to_string(::getpid()) + "-" + std::to_string(number);
  const int fd = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    if (fd >= 0) ::close(fd);
    device.used_bytes -= bytes;
    return nullptr;
  }
  return std::shared_ptr<DeviceMemory>(new DeviceMemory(device, fd, bytes, link_of(fd), true));
}

std::shared_ptr<DeviceMemory> DeviceMemory::adopt(int fd) {
  const std::string name = link_of(fd);
  int physical = -1;
  struct stat about {};
  Device* device = nullptr;
  if (std::sscanf(name.c_str(), kLinkFormat, &physical) == 1) device = device_in_machine(physical);
  if (device == nullptr || ::fstat(fd, &about) != 0) {
    ::close(fd);
    return nullptr;
  }
  const auto bytes = static_cast<size_t>(about.st_size);
  return std::shared_ptr<DeviceMemory>(new DeviceMemory(*device, fd, bytes, name, false));
}

void DeviceMemory::destroy() const { [[maybe_unused]] const int done = ::ftruncate(fd_, 0); }

DeviceMemory::~DeviceMemory() {
  ::close(fd_);
  if (counted_) device_.used_bytes -= bytes_;
}

Mapping::Mapping(void* begin, size_t bytes)
    : begin_(begin == MAP_FAILED ? nullptr : static_cast<unsigned char*>(begin)), bytes_(bytes) {}

Mapping::Mapping(Mapping&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (begin_ != nullptr) ::munmap(begin_, bytes_);
}

Mapping Mapping::of(const DeviceMemory& memory) {
  return {::mmap(nullptr, memory.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd(), 0),
          memory.bytes()};
}

Mapping Mapping::of_host(size_t bytes) {
  return {::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes};
}

Mapping Mapping::reserve(size_t bytes, size_t alignment) {
  const size_t asked = bytes + alignment;
  void* const all = ::mmap(nullptr, asked, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return {};
  auto* const first = static_cast<unsigned char*>(all);
  const size_t before =
      round_up(reinterpret_cast<uintptr_t>(all), alignment) - reinterpret_cast<uintptr_t>(all);
  if (before != 0) ::munmap(first, before);
  if (asked - before - bytes != 0) ::munmap(first + before + bytes, asked - before - bytes);
  return {first + before, bytes};
}

}  // namespace rondo::standin
