// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "comm.h"

namespace rondo::test_net {
namespace {

constexpr uint32_t kHandleMagic = 0x4e455454;
constexpr size_t kMaxOutstanding = 32;
constexpr DeviceInfo kDeviceRows[] = {{"slow", 1, 10'000, size_t{1} << 30},
                                      {"fast0", 3, 100'000, size_t{1} << 30},
                                      {"fast1", 1, 100'000, size_t{1} << 30},
                                      {"gpu", 2, 200'000, size_t{1} << 30}};
constexpr int kRows = sizeof kDeviceRows / sizeof kDeviceRows[0];

/// What a peer needs to connect, and the state of its connecting, in the 128 bytes that it keeps.
struct Handle {
  uint32_t magic = kHandleMagic;
  uint16_t port = 0;
  uint16_t has_begun = 0;
  in_addr host{};
  int64_t socket = -1;
  const Handle* at = nullptr;  // where it was at the first call
};
static_assert(sizeof(Handle) <= 128);

/// Of one process: a forked child has nothing of its parent's.
struct Network {
  const pid_t owner = ::getpid();
  Faults faults;
  std::map<void*, std::unique_ptr<Comm>> comms;
  std::map<void*, Comm*> requests;
};

std::mutex network_mutex;
Network* network = nullptr;

/// A call that opens or closes something, of which there may be one at a time.
class SetupCall {
 public:
  SetupCall() { expect(callers++ == 0, "two threads open or close at the same time"); }
  ~SetupCall() { --callers; }
  SetupCall(const SetupCall&) = delete;
  SetupCall& operator=(const SetupCall&) = delete;

  static std::atomic<int> callers;
};
std::atomic<int> SetupCall::callers = 0;

/// A thread of the caller's may be in a call while another one forks.
const int kForks = ::pthread_atfork([] { network_mutex.lock(); }, [] { network_mutex.unlock(); },
                                    [] {
                                      network_mutex.unlock();
                                      SetupCall::callers = 0;
                                    });

/// The state, of which init() must have been called in this process.
Network& here() {
  expect(network != nullptr, "a call before init()");
  expect(network->owner == ::getpid(), "a call in a forked child, which has not called init()");
  return *network;
}

Comm& comm_of(void* comm, Kind kind) {
  const auto found = here().comms.find(comm);
  expect(found != here().comms.end(), "a comm that is closed, or of another process");
  expect(found->second->kind == kind, "a comm of another kind");
  return *found->second;
}

void add_comm(Kind kind, int socket, void** comm) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto made = std::make_unique<Comm>(kind, socket);
  *comm = made.get();
  here().comms[*comm] = std::move(made);
}

sockaddr_in address_of(in_addr host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = host;
  address.sin_port = htons(port);
  return address;
}

/// Where to listen.
in_addr own_host() {
  const char* const text = std::getenv("RONDO_TEST_NET_ADDRESS");
  in_addr host{};
  expect(::inet_pton(AF_INET, text != nullptr ? text : "127.0.0.1", &host) == 1, "an address that is none");
  return host;
}

int new_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

void check_device(int device) {
  expect(device >= 0 && device < kRows, "a device that does not exist");
  expect((kDeviceRows[device].ptr_support & 1) != 0, "a device without host memory");
  expect(kDeviceRows[device].speed == 100'000, "a device that is not the fastest");
}

/// A request on the comm, unless chance says that there is no room.
int add_request(Comm& comm, Request made, void** request) {
  Network& net = here();
  expect(comm.requests.size() < kMaxOutstanding, "more requests than a comm may have outstanding");
  *request = nullptr;
  if (net.faults.draw(4) == 1) return kSuccess;
  made.tests_before = net.faults.draw(3);
  comm.requests.push_back(std::make_unique<Request>(std::move(made)));
  *request = comm.requests.back().get();
  net.requests[*request] = &comm;
  return kSuccess;
}

}  // namespace

void misuse(const char* what) {
  std::fprintf(stderr, "the tests' network plugin was misused: %s\n", what);
  std::abort();
}

int net_init() {
  const std::lock_guard lock(network_mutex);
  expect(network == nullptr || network->owner != ::getpid(), "init() twice in a process");
  network = new Network;  // a parent's is left alone
  return network->faults.has("init") ? kSystemError : kSuccess;
}

int net_devices(int* count) {
  const std::lock_guard lock(network_mutex);
  if (here().faults.has("devices")) return kInternalError;
  *count = here().faults.has("no_device") ? 0 : kRows;
  return kSuccess;
}

int net_properties(int device, DeviceInfo* info) {
  const std::lock_guard lock(network_mutex);
  expect(device >= 0 && device < kRows, "properties of a device that does not exist");
  *info = kDeviceRows[device];
  if (here().faults.has("gpu_only")) info->ptr_support = 2;
  if (here().faults.has("short")) info->max_bytes = 500;
  return here().faults.has("properties") ? kSystemError : kSuccess;
}

int net_listen(int device, void* handle, void** comm) {
  const SetupCall setup;
  const std::lock_guard lock(network_mutex);
  check_device(device);
  if (here().faults.strikes("listen")) return kSystemError;
  const int socket = new_socket();
  sockaddr_in address = address_of(own_host(), 0);
  socklen_t length = sizeof address;
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, where, length) != 0 || ::listen(socket, 1) != 0 ||
      ::getsockname(socket, where, &length) != 0) {
    ::close(socket);
    return kSystemError;
  }
  Handle own;
  own.port = ntohs(address.sin_port);
  own.host = address.sin_addr;
  std::memset(handle, 0, 128);
  std::memcpy(handle, &own, sizeof own);
  add_comm(Kind::Listen, socket, comm);
  return kSuccess;
}

int net_connect(int device, void* handle, void** comm) {
  const SetupCall setup;
  const std::lock_guard lock(network_mutex);
  check_device(device);
  Network& net = here();
  auto& state = *static_cast<Handle*>(handle);
  expect(state.magic == kHandleMagic, "a handle that listen() has not made");
  expect(state.has_begun == 0 || state.at == &state, "a handle that has been moved between calls");
  *comm = nullptr;
  if (net.faults.strikes("connect")) return kRemoteError;
  if (net.faults.has("never_connects") || net.faults.draw(2) == 1) return kSuccess;
  if (state.has_begun == 0) {
    state.has_begun = 1;
    state.at = &state;
    state.socket = new_socket();
  }
  const sockaddr_in address = address_of(state.host, state.port);
  const auto socket = static_cast<int>(state.socket);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno != EISCONN)
    return errno == EINPROGRESS || errno == EALREADY ? kSuccess : kRemoteError;
  add_comm(Kind::Send, socket, comm);
  return kSuccess;
}

int net_accept(void* listener, void** comm) {
  const SetupCall setup;
  const std::lock_guard lock(network_mutex);
  const Comm& from = comm_of(listener, Kind::Listen);
  *comm = nullptr;
  if (here().faults.strikes("accept")) return kSystemError;
  if (here().faults.draw(2) == 1) return kSuccess;
  const int socket = ::accept4(from.socket, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return errno == EAGAIN || errno == EINTR ? kSuccess : kSystemError;
  add_comm(Kind::Receive, socket, comm);
  return kSuccess;
}

int net_register(void* comm, void* data, size_t bytes, int type, void** region) {
  const SetupCall setup;
  const std::lock_guard lock(network_mutex);
  expect(type == 1, "memory of another type than the host's");
  const auto found = here().comms.find(comm);
  expect(found != here().comms.end(), "memory for a comm that is closed");
  if (here().faults.strikes("register")) return kSystemError;
  auto made = std::make_unique<Region>(Region{static_cast<std::byte*>(data), bytes});
  *region = made.get();
  found->second->regions.insert(std::move(made));
  return kSuccess;
}

int net_deregister(void* comm, void* region) {
  const SetupCall setup;
  const std::lock_guard lock(network_mutex);
  const auto found = here().comms.find(comm);
  expect(found != here().comms.end(), "memory of a comm that is closed");
  const size_t erased =
      std::erase_if(found->second->regions, [&](const auto& known) { return known.get() == region; });
  expect(erased == 1, "a region that is not registered");
  return kSuccess;
}

int net_send(void* comm, void* data, size_t bytes, int tag, void* region, void** request) {
  const std::lock_guard lock(network_mutex);
  Comm& to = comm_of(comm, Kind::Send);
  auto* const from = static_cast<std::byte*>(data);
  expect(tag == 0, "a tag");
  to.check_region(region, from, bytes);
  if (here().faults.strikes("send")) return kSystemError;
  return add_request(to, {.comm = &to, .data = from, .bytes = bytes}, request);
}

int net_receive(void* comm, int count, void** data, size_t bytes, const int* tags, void** regions,
                void** request) {
  const std::lock_guard lock(network_mutex);
  Comm& from = comm_of(comm, Kind::Receive);
  auto* const to = static_cast<std::byte*>(data[0]);
  expect(count == 1 && tags[0] == 0, "several receives at once, or a tag");
  from.check_region(regions[0], to, bytes);
  if (here().faults.strikes("receive")) return kSystemError;
  std::memset(to, 0xDB, bytes);  // nothing may be read before the receive is done
  return add_request(from, {.comm = &from, .data = to, .bytes = bytes}, request);
}

int net_test(void* request, int* done, int* bytes) {
  const std::lock_guard lock(network_mutex);
  Network& net = here();
  const auto found = net.requests.find(request);
  expect(found != net.requests.end(), "a request that is done, or that never was one");
  Comm& comm = *found->second;
  auto& tested = *static_cast<Request*>(request);
  *done = 0;
  if (net.faults.strikes("test")) return kInternalError;
  if (net.faults.has("stuck") && comm.kind == Kind::Send && net.faults.has_struck("stuck")) return kSuccess;
  if (const int result = comm.move(net.faults); result != kSuccess && !tested.has_moved) {
    comm.has_failed = true;
    expect(!net.faults.has("no_end"), "a peer that closes although a request of this end is outstanding");
    return result;
  }
  if (!tested.has_moved || (tested.tests_after != 0 && tested.tests_after-- != 0)) return kSuccess;
  expect(comm.requests.front().get() == &tested, "requests that are tested out of order");
  *done = 1;
  const size_t length = tested.wire.size() - sizeof(uint64_t);
  if (comm.kind == Kind::Receive) std::memcpy(tested.data, tested.wire.data() + sizeof(uint64_t), length);
  *bytes = static_cast<int>(length);
  if (comm.kind == Kind::Receive && net.faults.strikes("lie")) *bytes = -64;
  net.requests.erase(found);
  comm.requests.pop_front();
  return kSuccess;
}

int net_close(Kind kind, void* comm) {
  const SetupCall setup;
  const std::lock_guard lock(network_mutex);
  Comm& closed = comm_of(comm, kind);
  expect(closed.regions.empty(), "a comm that is closed before its memory is deregistered");
  const bool is_idle = closed.requests.empty() || closed.has_failed;
  if (here().faults.has("no_inflight") || here().faults.has("no_end"))
    expect(is_idle, "a comm that is closed while requests are outstanding");
  if (here().faults.has("close") && !closed.requests.empty()) return kInternalError;
  for (const auto& request : closed.requests) here().requests.erase(request.get());
  here().comms.erase(comm);
  return kSuccess;
}

}  // namespace rondo::test_net
