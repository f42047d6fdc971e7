// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace rondo::run {
namespace {

// Tries to bind `wanted`, or any port if that is 0. Returns the port, or 0 on failure.
int try_port(int wanted) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(wanted));
  socklen_t bytes = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
  close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

}  // namespace

int free_port() {
  // Below the range of ephemeral ports, so that no outgoing connection takes the port before rank 0 listens
  // on it.
  constexpr uint32_t kFirst = 20000, kPorts = 12000;
  for (int attempt = 0; attempt < 20; ++attempt) {
    uint32_t random = 0;
    if (getrandom(&random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random))) break;
    if (const int port = try_port(static_cast<int>(kFirst + random % kPorts)); port != 0) return port;
  }
  return try_port(0);
}

std::string random_secret() {
  unsigned char bytes[32];
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) return "";
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::vector<std::pair<std::string, std::string>> rank_variables(const JobInfo& job, int rank) {
  const std::string number = std::to_string(rank), ranks = std::to_string(job.ranks);
  std::vector<std::pair<std::string, std::string>> variables = {{"RANK", number},
                                                                {"WORLD_SIZE", ranks},
                                                                {"LOCAL_RANK", number},
                                                                {"LOCAL_WORLD_SIZE", ranks},
                                                                {"MASTER_ADDR", "127.0.0.1"},
                                                                {"MASTER_PORT", std::to_string(job.port)},
                                                                {"RONDO_SECRET", job.secret}};
  if (!job.preload.empty()) variables.emplace_back("LD_PRELOAD", job.preload);
  return variables;
}

}  // namespace rondo::run
