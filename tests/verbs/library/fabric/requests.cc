// SPDX-License-Identifier: Apache-2.0
// The requests of processes.

#include <algorithm>
#include <cerrno>

#include "fabric.h"

namespace rondo::fabric {
namespace {

/// Moves the descriptor at `index` out; -1 if there is none.
Descriptor take(std::vector<Descriptor>& fds, size_t index) {
  return index < fds.size() ? std::move(fds[index]) : Descriptor();
}

template <class Map>
auto* find(Map& map, uint32_t handle) {
  const auto found = map.find(handle);
  return found == map.end() ? nullptr : &found->second;
}

void schedule(Fabric& fabric, const Settings& settings) {
  for (const TimedCommand& command : settings.commands) {
    if (command.after_ms == 0)
      carry_out(fabric, command.text);
    else
      fabric.commands.emplace_back(fabric.now_ns + command.after_ms * 1'000'000, command.text);
  }
}

/// A host is defined by the first process that opens a device of it while no other has one open.
Host& host_of(Fabric& fabric, const Settings& settings) {
  std::unique_ptr<Host>& host = fabric.hosts[settings.host];
  const bool in_use = std::any_of(fabric.connections.begin(), fabric.connections.end(),
                                  [&](const Connection& one) { return one.host == host.get(); });
  if (host == nullptr || !in_use) {
    host = make_host(settings);
    schedule(fabric, settings);
  }
  return *host;
}

int open(Fabric& fabric, Connection& connection, const Request& request, std::vector<Descriptor>& fds,
         std::vector<int>& reply_fds) {
  if (connection.device != nullptr || fds.size() != 2) return EINVAL;
  connection.settings = settings_from_text(request.text);
  Host& host = host_of(fabric, connection.settings);
  if (request.device >= host.devices.size()) return ENODEV;
  connection.host = &host;
  connection.device = &host.devices[request.device];
  connection.memory = take(fds, 0);
  connection.events = take(fds, 1);
  reply_fds = {fabric.doorbell_memory.get(), fabric.doorbell_event.get()};
  return connection.device->is_dead ? EIO : 0;
}

int query_port(Connection& connection, const Request& request, Reply& reply) {
  std::vector<Port>& ports = connection.device->ports;
  if (request.port < 1 || request.port > ports.size()) return EINVAL;
  reply.port = ports[request.port - 1].view();
  return 0;
}

int free_domain(Connection& connection, uint32_t handle) {
  const uint32_t* const users = find(connection.domains, handle);
  if (users == nullptr) return EINVAL;
  if (*users != 0) return EBUSY;
  connection.domains.erase(handle);
  return 0;
}

int register_memory(Fabric& fabric, Connection& connection, const Request& request,
                    std::vector<Descriptor>& fds, Reply& reply) {
  uint32_t* const users = find(connection.domains, request.pd);
  if (users == nullptr) return EINVAL;
  Region& region = connection.regions[reply.handle = ++fabric.last_handle];
  region.pd = request.pd;
  region.addr = request.addr;
  region.length = request.length;
  region.iova = request.iova;
  region.access = request.access;
  region.lkey = reply.lkey = fabric.last_key += 0x101;
  region.rkey = reply.rkey = fabric.last_key += 0x101;
  region.dmabuf = take(fds, 0);
  ++*users;
  return 0;
}

int deregister(Connection& connection, uint32_t handle) {
  const Region* const region = find(connection.regions, handle);
  if (region == nullptr) return EINVAL;
  --connection.domains[region->pd];
  connection.regions.erase(handle);
  return 0;
}

int create_queue(Fabric& fabric, Connection& connection, const Request& request, std::vector<Descriptor>& fds,
                 Reply& reply) {
  if (fds.empty()) return EINVAL;
  const uint32_t handle = ++fabric.last_handle;
  auto queue = std::make_unique<CompletionQueue>(connection, Draws(connection.settings.seed, handle));
  queue->owner = request.owner;
  queue->memory = SharedMemory(fds[0].get(), CompletionRing::bytes(static_cast<uint32_t>(request.length)));
  queue->ring = static_cast<CompletionRing*>(queue->memory.data());
  queue->channel = take(fds, 1);
  if (queue->ring == nullptr) return ENOMEM;
  connection.queues[reply.handle = handle] = std::move(queue);
  return 0;
}

int destroy_queue(Connection& connection, uint32_t handle) {
  const auto* const queue = find(connection.queues, handle);
  if (queue == nullptr) return EINVAL;
  if ((*queue)->users != 0) return EBUSY;
  connection.queues.erase(handle);
  return 0;
}

bool map(SharedMemory& memory, WorkRing*& ring, const Descriptor& fd, uint32_t capacity, uint32_t slot) {
  memory = SharedMemory(fd.get(), WorkRing::bytes(capacity, slot));
  ring = static_cast<WorkRing*>(memory.data());
  return ring != nullptr;
}

/// The process made the rings; length and iova are their capacities, and cap has the bytes of inline data.
int create_pair(Fabric& fabric, Connection& connection, const Request& request, std::vector<Descriptor>& fds,
                Reply& reply) {
  const auto* const send = find(connection.queues, request.send_cq);
  const auto* const receive = find(connection.queues, request.recv_cq);
  uint32_t* const users = find(connection.domains, request.pd);
  if (send == nullptr || receive == nullptr || users == nullptr || fds.size() != 2) return EINVAL;
  const uint32_t number = ++fabric.last_pair;
  auto pair =
      std::make_unique<QueuePair>(connection, **send, **receive, Draws(connection.settings.seed, number));
  pair->number = number;
  pair->owner = request.owner;
  pair->pd = request.pd;
  pair->signals_all = request.signal_all != 0;
  if (!map(pair->send_memory, pair->sends, fds[0], static_cast<uint32_t>(request.length),
           WorkRing::slot(request.cap.max_inline_data)) ||
      !map(pair->receive_memory, pair->receives, fds[1], static_cast<uint32_t>(request.iova),
           WorkRing::slot(0)))
    return ENOMEM;
  ++pair->send_cq.users;
  ++pair->receive_cq.users;
  ++*users;
  fabric.pairs[number] = pair.get();
  connection.pairs[reply.handle = number] = std::move(pair);
  return 0;
}

void destroy(Fabric& fabric, QueuePair& pair) {
  forget(pair.send_cq, pair.owner);
  forget(pair.receive_cq, pair.owner);
  --pair.send_cq.users;
  --pair.receive_cq.users;
  --pair.connection.domains[pair.pd];
  fabric.pairs.erase(pair.number);
}

int destroy_pair(Fabric& fabric, Connection& connection, uint32_t handle) {
  const auto* const pair = find(connection.pairs, handle);
  if (pair == nullptr) return EINVAL;
  destroy(fabric, **pair);
  connection.pairs.erase(handle);
  return 0;
}

int query_pair(Connection& connection, uint32_t handle, Reply& reply) {
  const auto* const pair = find(connection.pairs, handle);
  if (pair == nullptr) return EINVAL;
  reply.attr = (*pair)->attr;
  reply.attr.qp_state = reply.attr.cur_qp_state = (*pair)->state;
  reply.attr.sq_psn = (*pair)->next_psn & 0xFFFFFF;
  reply.attr.rq_psn = (*pair)->expected_psn & 0xFFFFFF;
  return 0;
}

int modify_pair(Fabric& fabric, Connection& connection, const Request& request, Reply& reply) {
  const auto* const pair = find(connection.pairs, request.handle);
  if (pair == nullptr) return EINVAL;
  const int error = modify(fabric, **pair, request.attr, request.attr_mask);
  reply.attr.qp_state = (*pair)->state;
  return error;
}

int handle(Fabric& fabric, Connection& connection, const Request& request, std::vector<Descriptor>& fds,
           std::vector<int>& reply_fds, Reply& reply) {
  if (request.call == Call::Open) return open(fabric, connection, request, fds, reply_fds);
  if (request.call == Call::Command) return carry_out(fabric, request.text);
  if (connection.device == nullptr) return EINVAL;
  switch (request.call) {
    case Call::QueryPort: return query_port(connection, request, reply);
    case Call::AllocDomain: connection.domains[reply.handle = ++fabric.last_handle] = 0; return 0;
    case Call::FreeDomain: return free_domain(connection, request.handle);
    case Call::Register: return register_memory(fabric, connection, request, fds, reply);
    case Call::Deregister: return deregister(connection, request.handle);
    case Call::CreateCompletionQueue: return create_queue(fabric, connection, request, fds, reply);
    case Call::DestroyCompletionQueue: return destroy_queue(connection, request.handle);
    case Call::CreateQueuePair: return create_pair(fabric, connection, request, fds, reply);
    case Call::ModifyQueuePair: return modify_pair(fabric, connection, request, reply);
    case Call::QueryQueuePair: return query_pair(connection, request.handle, reply);
    case Call::DestroyQueuePair: return destroy_pair(fabric, connection, request.handle);
    case Call::Forked:
      for (auto& [number, region] : connection.regions) region.is_stale = true;
      return 0;
    default: return EINVAL;
  }
}

}  // namespace

Reply serve(Fabric& fabric, Connection& connection, const Request& request, std::vector<Descriptor>& fds,
            std::vector<int>& reply_fds) {
  Reply reply{};
  reply.error = handle(fabric, connection, request, fds, reply_fds, reply);
  return reply;
}

void destroy_all(Fabric& fabric, Connection& connection) {
  for (const auto& [number, pair] : connection.pairs) destroy(fabric, *pair);
  connection.pairs.clear();
  connection.queues.clear();
}

}  // namespace rondo::fabric
