// SPDX-License-Identifier: Apache-2.0
// Fabric: all hosts, devices and cables. Its thread alternates between the requests of processes (serve())
// and turns, in which each queue pair advances by a piece of a message.
#pragma once

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "objects.h"

namespace rondo::fabric {

struct Fabric {
  std::list<Connection> connections;
  std::map<uint32_t, std::unique_ptr<Host>> hosts;
  std::map<uint32_t, QueuePair*> pairs;  // by number
  Descriptor doorbell_memory, doorbell_event;
  SharedMemory doorbell;
  uint64_t now_ns = 0;
  uint32_t last_handle = 0, last_pair = 0x100, last_key = 0x1000;
  std::vector<std::pair<uint64_t, std::string>> commands;  // when, and what

  std::vector<std::pair<ibv_gid, ibv_gid>> dropped;  // between which nothing arrives
  uint32_t path_bytes = 0;                           // the largest payload that arrives; 0: any
  uint32_t loss = 0;                                 // every nth attempt is lost; 0: none
  uint64_t attempts = 0;
};

// requests.cc
Reply serve(Fabric& fabric, Connection& connection, const Request& request, std::vector<Descriptor>& fds,
            std::vector<int>& reply_fds);
/// What the kernel does when the last descriptor of a device is closed.
void destroy_all(Fabric& fabric, Connection& connection);

// commands.cc
/// Carries out a command of README.md. Returns an errno.
int carry_out(Fabric& fabric, const std::string& command);
void send_event(Connection& connection, ibv_event_type type, uint64_t owner, uint32_t port = 0);

// transitions.cc
int modify(Fabric& fabric, QueuePair& pair, const ibv_qp_attr& attr, int mask);

// path.cc
/// The queue pair at the other end, if a packet with this payload reaches it, and it is in RTR or RTS.
QueuePair* route(Fabric& fabric, const QueuePair& pair, uint32_t packet_bytes);

// requester.cc
/// Moves a piece, or completes a message. Returns whether there may be more to do at once.
bool advance(Fabric& fabric, QueuePair& pair);
/// Moves the queue pair to ERR; all that is outstanding is flushed.
void to_error(Fabric& fabric, QueuePair& pair);

// completions.cc
void complete_send(Fabric& fabric, QueuePair& pair, const Message& message, ibv_wc_status status);
/// Completes the next receive of the queue pair.
void complete_receive(Fabric& fabric, QueuePair& pair, const Message* message, ibv_wc_status status);
/// Shows hidden completions. Returns whether there may be more to do at once.
bool release(Fabric& fabric, CompletionQueue& queue);
/// Removes hidden completions of a queue pair.
void forget(CompletionQueue& queue, uint64_t owner);
void overrun(Fabric& fabric, CompletionQueue& queue);

}  // namespace rondo::fabric
