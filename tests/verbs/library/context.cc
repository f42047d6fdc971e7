// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

extern char** environ;

namespace rondo::fabric {
namespace {

constexpr int kStarts = 20;
constexpr int kTriesPerStart = 100;
constexpr auto kTryEvery = std::chrono::milliseconds(5);

/// The program lies beside this library.
std::string fabric_program() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&fabric_program), &info) == 0) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.find_last_of('/') + 1) + "verbs_fabric";
}

/// Returns once the program has detached itself; another process may have started one too, and one of them
/// goes.
void start_fabric() {
  std::string program = fabric_program(), folder = process().folder, mode = "private";
  char* const words[] = {program.data(), folder.data(), process().owns_folder ? mode.data() : nullptr,
                         nullptr};
  pid_t pid = 0;
  if (::posix_spawn(&pid, program.c_str(), nullptr, nullptr, words, environ) != 0) return;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

Descriptor connect_to_fabric() {
  const std::string path = process().folder + "/fabric";
  for (int start = 0; start < kStarts; ++start) {
    for (int attempt = 0; attempt < (start == 0 ? 1 : kTriesPerStart); ++attempt) {
      Descriptor socket = connect_to(path);
      if (socket.get() >= 0 || errno == ENAMETOOLONG) return socket;
      if (start != 0) std::this_thread::sleep_for(kTryEvery);
    }
    start_fabric();
  }
  return Descriptor();
}

/// Error ECONNRESET: the fabric ended in the meantime.
int join(Context& context, uint32_t device) {
  context.socket = connect_to_fabric();
  if (context.socket.get() < 0) return ENODEV;
  const Descriptor memory(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  const auto request = make_request(Call::Open);
  request->device = device;
  std::snprintf(request->text, sizeof request->text, "%s", text_of(process().settings).c_str());
  std::vector<Descriptor> fds;
  const auto reply = ask(context, *request, {memory.get(), context.events.write_end.get()}, &fds);
  if (reply->error == EIO && fds.empty()) return ECONNRESET;
  if (reply->error != 0 || fds.size() != 2) return reply->error != 0 ? reply->error : EIO;
  context.doorbell_memory = SharedMemory(fds[0].get(), sizeof(Doorbell));
  context.doorbell_event = std::move(fds[1]);
  return context.doorbell_memory.data() == nullptr ? ENOMEM : 0;
}

int join_again(Context& context, uint32_t device) {
  int error = ECONNRESET;
  for (int attempt = 0; attempt < kStarts && error == ECONNRESET; ++attempt) error = join(context, device);
  return error;
}

}  // namespace

std::nullptr_t refuse(int error) {
  errno = error;
  return nullptr;
}

std::unique_ptr<Request> make_request(Call call, uint32_t handle) {
  auto request = std::make_unique<Request>();
  request->call = call;
  request->handle = handle;
  return request;
}

std::unique_ptr<Reply> ask(Context& context, Request& request, const std::vector<int>& fds,
                           std::vector<Descriptor>* reply_fds) {
  auto reply = std::make_unique<Reply>();
  std::vector<Descriptor> received;
  const std::lock_guard lock(context.mutex);
  const int socket = context.socket.get();
  if (!send_message(socket, &request, sizeof request, fds) ||
      receive_message(socket, reply.get(), sizeof *reply, received) != sizeof *reply)
    reply->error = EIO;
  if (reply_fds != nullptr) *reply_fds = std::move(received);
  return reply;
}

Context& context_of(ibv_context* handle) {
  Context& context = static_cast<Context&>(*verbs_get_ctx(handle));
  if (context.generation == process().generation.load(std::memory_order_relaxed)) return context;
  static constexpr char kMessage[] = "stand-in libibverbs: a forked child uses its parent's device\n";
  [[maybe_unused]] const ssize_t written = ::write(2, kMessage, sizeof kMessage - 1);
  std::abort();
}

void Context::ring() {
  Doorbell& doorbell = *static_cast<Doorbell*>(doorbell_memory.data());
  if (doorbell.sleeps.load() == 0 || doorbell.sleeps.exchange(0) == 0) return;
  process().count(Counted::Ring);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(doorbell_event.get(), &one, sizeof one);
}

bool EventPipe::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end = Descriptor(ends[0]);
  write_end = Descriptor(ends[1]);
  return ::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0;
}

void EventPipe::remove(uint64_t owner, size_t event_bytes) const {
  const int flags = ::fcntl(read_end.get(), F_GETFL);
  ::fcntl(read_end.get(), F_SETFL, flags | O_NONBLOCK);
  std::vector<std::byte> kept, event(event_bytes);
  while (::read(read_end.get(), event.data(), event_bytes) == static_cast<ssize_t>(event_bytes))
    if (std::memcmp(event.data(), &owner, sizeof owner) != 0)
      kept.insert(kept.end(), event.begin(), event.end());
  ::fcntl(read_end.get(), F_SETFL, flags);
  if (!kept.empty()) [[maybe_unused]]
    const ssize_t written = ::write(write_end.get(), kept.data(), kept.size());
}

void fill_tables(Context& context) {
  context.sz = sizeof(verbs_context);
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.context.num_comp_vectors = 1;
  ibv_context_ops& ops = context.context.ops;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
}

}  // namespace rondo::fabric

using namespace rondo::fabric;

EXPORTED ibv_context* ibv_open_device(ibv_device* handle) {
  auto& device = static_cast<ListedDevice&>(*handle);
  if (process().settings.fails("open", ++process().opens)) return refuse(EACCES);
  auto context = std::make_unique<Context>();
  context->generation = process().generation;
  if (!context->events.open()) return refuse(errno);
  if (const int error = join_again(*context, device.index); error != 0) return refuse(error);
  fill_tables(*context);
  ibv_context& made = context->context;
  made.device = handle;
  made.cmd_fd = context->socket.get();
  made.async_fd = context->events.read_end.get();
  ::pthread_mutex_init(&made.mutex, nullptr);
  hold(device);
  const std::lock_guard lock(process().mutex);
  process().contexts.insert(context.get());
  return &context.release()->context;
}

EXPORTED int ibv_close_device(ibv_context* handle) {
  Context& context = context_of(handle);
  {
    const std::lock_guard lock(process().mutex);
    process().contexts.erase(&context);
  }
  let_go(static_cast<ListedDevice&>(*handle->device));
  ::pthread_mutex_destroy(&handle->mutex);
  delete &context;
  return 0;
}
