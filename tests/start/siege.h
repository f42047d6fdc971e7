// Siege: a process that opens connections to the ports it is told, says nothing on them, and goes on to
// connect again and again until it ends. Made before the processes that name the ports.
#pragma once

#include <array>
#include <cstdint>

namespace rondo::test {

class Siege {
 public:
  explicit Siege(int silent);  // so many connections to each port, before it goes on
  ~Siege();
  Siege(const Siege&) = delete;
  Siege& operator=(const Siege&) = delete;

  /// Returns when the silent ones have connected. Any process.
  void begin(uint16_t port) const;

 private:
  int pid_ = -1;
  std::array<int, 2> ports_{};  // pipes: to it
  std::array<int, 2> begun_{};  // from it
};

}  // namespace rondo::test
