// SPDX-License-Identifier: Apache-2.0
// DeviceMemory: a device's memory, kept in a memfd so that other processes can open it. Mapping: an address
// range, with or without such memory behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rondo::standin {

struct Device;

inline constexpr size_t kPage = 4096;
inline constexpr unsigned char kPoison = 0xA5;  // fills new memory

inline size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Addresses of the driver API are numbers.
template <class T = void>
T* at(uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

class DeviceMemory {
 public:
  /// Null if the device has too little memory left.
  static std::shared_ptr<DeviceMemory> create(Device& device, uint64_t number, size_t bytes);
  /// Takes ownership of a descriptor; null if it is not a DeviceMemory's, or its device is not visible.
  static std::shared_ptr<DeviceMemory> adopt(int fd);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  Device& device() const { return device_; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_; }
  /// Discards the bytes in all processes: kernels that touch them fault.
  void destroy() const;
  /// Unique in the machine.
  const std::string& name() const { return name_; }

 private:
  DeviceMemory(Device& device, int fd, size_t bytes, std::string name, bool counted)
      : device_(device), fd_(fd), bytes_(bytes), name_(std::move(name)), counted_(counted) {}
  Device& device_;
  int fd_;
  size_t bytes_;
  std::string name_;
  bool counted_;  // against the device's memory
};

class Mapping {
 public:
  Mapping() = default;
  /// Reserves inaccessible addresses; null() if there are none left.
  static Mapping reserve(size_t bytes, size_t alignment = kPage);
  static Mapping of(const DeviceMemory& memory);
  static Mapping of_host(size_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  bool null() const { return begin_ == nullptr; }
  unsigned char* begin() const { return begin_; }
  size_t bytes() const { return bytes_; }

 private:
  Mapping(void* begin, size_t bytes);
  unsigned char* begin_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace rondo::standin
