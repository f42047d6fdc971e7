// SPDX-License-Identifier: Apache-2.0
#include "siege.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

namespace rondo::test {
namespace {

constexpr rlim_t kHeld = 9000;   // connections at a time
constexpr rlim_t kOthers = 100;  // descriptors that are not connections

class Stranger {
 public:
  void connect(uint16_t port) {
    if (held_.size() >= most_) {
      ::close(held_.front());
      held_.pop_front();
    }
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    held_.push_back(fd);
  }

  [[noreturn]] void run(int ports_in, int begun_out, int silent) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    most_ = std::clamp<rlim_t>(limit.rlim_cur, kOthers + 1, kOthers + kHeld) - kOthers;
    std::vector<uint16_t> ports;
    for (uint16_t port = 0;;) {
      if (::read(ports_in, &port, sizeof port) == sizeof port) {
        for (int i = 0; i < silent; ++i) connect(port);
        ports.push_back(port);
        [[maybe_unused]] const auto told = ::write(begun_out, "!", 1);
      }
      for (const uint16_t one : ports) connect(one);
    }
  }

 private:
  size_t most_ = kHeld;
  std::deque<int> held_;
};

}  // namespace

Siege::Siege(int silent) {
  if (::pipe2(ports_.data(), O_CLOEXEC) != 0 || ::pipe2(begun_.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  child_.emplace([&] {
    ::fcntl(ports_[0], F_SETFL, O_NONBLOCK);
    Stranger().run(ports_[0], begun_[1], silent);
  });
  ::close(begun_[1]);  // so that begin() notices the child's end
}

Siege::~Siege() {
  for (const int fd : {ports_[0], ports_[1], begun_[0]}) ::close(fd);
}

void Siege::begin(uint16_t port) const {
  char told = 0;
  if (::write(ports_[1], &port, sizeof port) != sizeof port || ::read(begun_[0], &told, 1) != 1)
    throw std::runtime_error("the strangers are not there");
}

}  // namespace rondo::test
