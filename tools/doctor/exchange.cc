// SPDX-License-Identifier: Apache-2.0
#include "exchange.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string_view>

namespace rondo::doctor {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr int kWarmUps = 5, kRoundTrips = 50;
constexpr std::size_t kLongBytes = std::size_t{4} << 20;
constexpr int kLongMessages = 4;
/// A link that needs longer for one is of no use.
constexpr std::chrono::milliseconds kMaxMessage = std::chrono::seconds(10);

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

double time_of_day() { return std::chrono::duration<double>(system_clock::now().time_since_epoch()).count(); }

/// Two hosts, by their first ranks, in a communicator of their own, so that a failure ends no other test. The
/// second host sends back its time of day.
class PairTest {
 public:
  explicit PairTest(const Communicator& two) : two_(two), partner_(1 - two.rank()) {}

  /// On rank 0: fills in what was measured.
  void lead(HostPair& pair) {
    pair.failure = FailedMessage::Short;
    time_round_trips(pair);
    pair.failure = FailedMessage::Long;
    const double there_s = stream_out();
    stream_in();
    double back_s = 0;
    two_.recv(back_s, partner_);
    pair.bandwidth = static_cast<double>(kLongBytes) * kLongMessages / std::max(there_s, back_s) * 1e-9;
    pair.failure = FailedMessage::None;
  }

  void follow() {
    for (int i = -kWarmUps; i < kRoundTrips; ++i) {
      double mine = 0;
      two_.recv(mine, partner_);
      mine = time_of_day();
      two_.send(mine, partner_);
    }
    stream_in();
    const double back_s = stream_out();
    two_.send(back_s, partner_);
  }

 private:
  void time_round_trips(HostPair& pair) {
    std::vector<double> trips_s;
    double shortest_s = 0;
    for (int i = -kWarmUps; i < kRoundTrips; ++i) {
      const double sent_at = time_of_day();
      const auto begin = steady_clock::now();
      double theirs = 0;
      two_.send(theirs, partner_);
      two_.recv(theirs, partner_);
      const double trip_s = seconds_since(begin);
      if (i < 0) continue;
      trips_s.push_back(trip_s);
      if (trips_s.size() != 1 && trip_s >= shortest_s) continue;
      shortest_s = trip_s;
      pair.ahead_s = theirs - (sent_at + trip_s / 2);
    }
    std::nth_element(trips_s.begin(), trips_s.begin() + kRoundTrips / 2, trips_s.end());
    pair.latency_us = trips_s[kRoundTrips / 2] / 2 * 1e6;
  }

  /// Until the other end has all; one more message before establishes what connections establish only once.
  double stream_out() {
    two_.send(buffer_, partner_);
    const auto begin = steady_clock::now();
    for (int i = 0; i < kLongMessages; ++i) two_.send(buffer_, partner_);
    char last = 0;
    two_.recv(last, partner_);
    return seconds_since(begin);
  }
  void stream_in() {
    for (int i = 0; i <= kLongMessages; ++i) two_.recv(buffer_, partner_);
    const char last = 0;
    two_.send(last, partner_);
  }

  const Communicator& two_;
  int partner_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kLongBytes);
};

/// The partner of a player in a round of a tournament in which each of `players` (an even number) meets each
/// other once, in players - 1 rounds: the last one stays where it is, the others go round.
int partner(int player, int round, int players) {
  const int around = players - 1;
  if (player == around) return round;
  if (player == round) return around;
  return (2 * round - player % around + 2 * around) % around;
}

/// Of this kernel and this process's network interfaces; 0: unknown.
std::uint64_t machine_here() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat network {};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0) return 0;
  return std::hash<std::string>()(fmt::format("{} {}", boot, network.st_ino)) | 1;
}

/// `pair` says what failed.
void measure(const Communicator& two, HostPair& pair) {
  try {
    if (two.rank() == 0)
      PairTest(two).lead(pair);
    else
      PairTest(two).follow();
  } catch (const Error& failure) {  // rank 0 knows how far both have come
    pair.cause[std::string_view(failure.what()).copy(pair.cause.data(), pair.cause.size() - 1)] = '\0';
  }
}

bool is_shared_memory(const std::string& transport) {
  return transport == "self" || transport == "local" || transport == "shm";
}

int first_rank_here(const Communicator& world) {
  for (int rank = 0; rank < world.size(); ++rank)
    if (is_shared_memory(world.transport(rank))) return rank;
  return world.rank();
}

}  // namespace

std::vector<DoctorHost> find_hosts(const Communicator& world) {
  struct HostClaim {
    int first;
    std::uint64_t machine;
    std::array<char, 240> host;
  };
  HostClaim own{first_rank_here(world), machine_here(), {}};
  ::gethostname(own.host.data(), own.host.size() - 1);
  const auto size = static_cast<std::size_t>(world.size());
  std::vector<HostClaim> places(size);
  world.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(places)));
  std::vector<DoctorHost> hosts;
  std::map<int, std::size_t> by_first;
  std::map<std::uint64_t, std::size_t> by_machine;
  for (int rank = 0; rank < world.size(); ++rank) {
    const HostClaim& place = places[static_cast<std::size_t>(rank)];
    const auto known = by_machine.find(place.machine);
    const std::size_t host = known != by_machine.end()
                                 ? known->second
                                 : by_first.try_emplace(place.first, hosts.size()).first->second;
    if (host == hosts.size()) hosts.push_back({place.host.data(), {}});
    if (place.machine != 0) by_machine.emplace(place.machine, host);
    hosts[host].ranks.push_back(rank);
  }
  std::map<std::string, int> of_name;
  for (const DoctorHost& host : hosts) ++of_name[host.name];
  for (DoctorHost& host : hosts)
    if (of_name[host.name] > 1) host.name += fmt::format("/{}", host.ranks.front());
  return hosts;
}

DoctorFindings memory_findings(const Communicator& world, const std::vector<int>& ranks) {
  struct ReadableWord {
    std::int64_t process;
    std::uint64_t address;
  };
  static volatile char word = 0;
  const ReadableWord own{::getpid(), reinterpret_cast<std::uint64_t>(&word)};
  std::vector<ReadableWord> words(static_cast<std::size_t>(world.size()));
  world.all_gather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(words)));
  DoctorFindings findings;
  for (const int rank : ranks) {
    if (const std::string way = world.transport(rank); !is_shared_memory(way)) {
      findings.push_back(
          {fmt::format("ranks of this host exchange messages by {}, and not through memory that they "
                       "share, which is faster for all sizes",
                       way),
           "unset RONDO_TRANSPORT"});
      break;
    }
    const ReadableWord& their = words[static_cast<std::size_t>(rank)];
    if (their.process == own.process) continue;
    char copy = 0;
    const iovec here{&copy, 1}, there{reinterpret_cast<void*>(their.address), 1};
    if (::process_vm_readv(static_cast<pid_t>(their.process), &here, 1, &there, 1, 0) == 1) continue;
    findings.push_back(
        {fmt::format("ranks may not read one another's memory (process_vm_readv: {}): each byte of a "
                     "long message is copied twice instead of once",
                     std::strerror(errno)),
         "start all ranks of a host in one container and with one launcher; containers: "
         "--cap-add=SYS_PTRACE; sysctl kernel.yama.ptrace_scope=1"});
    break;
  }
  world.barrier();  // no rank ends before others have read its word
  return findings;
}

std::chrono::milliseconds message_limit(std::chrono::milliseconds timeout) {
  // Less than others wait for the two, even if both directions are late.
  return std::min(std::max(timeout / 3, std::chrono::milliseconds(1)), kMaxMessage);
}

std::vector<HostPair> measure_pairs(const Communicator& world, const std::vector<DoctorHost>& hosts,
                                    std::chrono::milliseconds message_limit) {
  const auto own = std::find_if(hosts.begin(), hosts.end(),
                                [&](const DoctorHost& host) { return host.ranks.front() == world.rank(); });
  const int count = static_cast<int>(hosts.size()), players = count + count % 2;
  const int self = own != hosts.end() ? static_cast<int>(own - hosts.begin()) : count;
  std::vector<HostPair> pairs;
  for (int round = 0; round < players - 1; ++round) {
    const int other = self < count ? partner(self, round, players) : count;
    HostPair measured{.first = self, .second = other};
    const Communicator two = world.split(other < count ? std::min(self, other) : no_color, self,
                                         {.timeout = message_limit, .name = "pair of hosts"});
    if (two) measure(two, measured);
    std::vector<HostPair> all(static_cast<std::size_t>(world.size()));
    world.all_gather(std::as_bytes(std::span(&measured, 1)), std::as_writable_bytes(std::span(all)));
    std::copy_if(all.begin(), all.end(), std::back_inserter(pairs),
                 [&](const HostPair& pair) { return pair.first < pair.second && pair.second < count; });
  }
  return pairs;
}

}  // namespace rondo::doctor
