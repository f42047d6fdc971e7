// SPDX-License-Identifier: Apache-2.0
// The process, its open devices, and how they ask the fabric. Any thread may call.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "settings.h"
#include "socket.h"
#include "wire.h"

namespace rondo::fabric {

struct Context;

/// Calls that a test may count: rondo_standin_verbs_calls("post_send").
enum class Counted { PostSend, PostRecv, PollCq, EmptyPoll, ReqNotify, Register, Deregister, Ring, Count };

struct Process {
  const Settings settings = settings_from_environment();
  std::string folder;        // where the fabric listens
  bool owns_folder = false;  // it is no other process's; the fabric makes and removes it

  std::atomic<uint32_t> generation = 0;  // forks from the process that loaded the library down to this one
  std::atomic<bool> is_fork_safe = false;
  std::atomic<uint64_t> registrations = 0, connects = 0, opens = 0, pinned_bytes = 0;
  std::atomic<uint64_t> calls[static_cast<size_t>(Counted::Count)] = {};

  std::mutex mutex;  // guards `contexts`
  std::set<Context*> contexts;

  void count(Counted call) { calls[static_cast<size_t>(call)].fetch_add(1, std::memory_order_relaxed); }
};

Process& process();

/// As listed by ibv_get_device_list(); lists and contexts hold it.
struct ListedDevice : ibv_device {
  uint32_t index = 0;
  uint32_t ports = 0;
  std::atomic<uint32_t> holders = 0;
};
void hold(ListedDevice& device);
void let_go(ListedDevice& device);

/// The read end is what the user polls; events of objects that go are taken out of it.
struct EventPipe {
  Descriptor read_end, write_end;
  bool open();
  /// Removes the events of this owner. All have the same size, and begin with their owner.
  void remove(uint64_t owner, size_t event_bytes) const;
};

struct Context : verbs_context {
  uint32_t generation = 0;
  std::mutex mutex;  // one request at a time
  Descriptor socket;
  EventPipe events;
  SharedMemory doorbell_memory;
  Descriptor doorbell_event;

  /// Wakes the fabric if it sleeps. The caller has stored to a ring, sequentially consistently.
  void ring();
};

/// The Context of a handle. Ends the process if that is a forked child, and the context its parent's.
Context& context_of(ibv_context* handle);

/// Asks and waits for the answer; error is EIO if the fabric has ended.
std::unique_ptr<Reply> ask(Context& context, Request& request, const std::vector<int>& fds = {},
                           std::vector<Descriptor>* reply_fds = nullptr);
std::unique_ptr<Request> make_request(Call call, uint32_t handle = 0);

/// For functions that return a pointer: sets errno.
std::nullptr_t refuse(int error);

// devices.cc, queries.cc, completion_queues.cc, posting.cc: what the tables of a context call.
void fill_tables(Context& context);
int query_port(ibv_context* handle, uint8_t number, ibv_port_attr* attr, size_t bytes);
int query_device_ex(ibv_context* handle, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    size_t bytes);
int poll_cq(ibv_cq* handle, int entries, ibv_wc* wc);
int req_notify_cq(ibv_cq* handle, int solicited_only);
int post_send(ibv_qp* handle, ibv_send_wr* wr, ibv_send_wr** bad);
int post_recv(ibv_qp* handle, ibv_recv_wr* wr, ibv_recv_wr** bad);

}  // namespace rondo::fabric

#define EXPORTED extern "C" __attribute__((visibility("default")))
