// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/place_query.h"

#include <sys/types.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/per_process.h"
#include "base/quiet_thread.h"
#include "bootstrap/session.h"
#include "net/framed_socket.h"
#include "place_answers.h"
#include "stacks/process_trouble.h"
#include "stacks/program_place.h"

namespace rondo {
namespace {

/// Each holds a descriptor.
constexpr size_t kMaxQueued = 256;

/// Answers on a thread of its own, as the service thread must not wait, and all that ask about a thread at
/// the same time alike.
class PlaceAnswers {
 public:
  void add(pid_t thread, Fd fd) {
    const std::lock_guard lock(mutex_);
    if (queue_.size() == kMaxQueued) return;
    queue_.emplace_back(thread, std::move(fd));
    if (is_running_) return;
    auto started = try_quiet_thread("rondo-stacks", [this] { run(); });
    is_running_ = started.ok();
    if (is_running_)
      started.value().detach();
    else
      queue_.clear();
  }

 private:
  using PlaceRequest = std::pair<pid_t, Fd>;

  void run() try {
    for (std::vector<PlaceRequest> some = next(); !some.empty(); some = next()) answer(some);
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    queue_.clear();  // the askers find their sockets closed
    is_running_ = false;
  }
  /// The oldest request and all others about the same thread; none: this thread is to end.
  std::vector<PlaceRequest> next() {
    const std::lock_guard lock(mutex_);
    std::vector<PlaceRequest> some;
    const pid_t oldest = queue_.empty() ? 0 : queue_.front().first;
    const auto others = std::stable_partition(queue_.begin(), queue_.end(),
                                              [&](const PlaceRequest& one) { return one.first != oldest; });
    std::move(others, queue_.end(), std::back_inserter(some));
    queue_.erase(others, queue_.end());
    is_running_ = !some.empty();
    return some;
  }
  static void answer(const std::vector<PlaceRequest>& some) {
    ByteWriter place;
    place.put_text(place_text(some.front().first));
    // A fresh socket's buffer holds a line, so this does not wait. An asker that has gone needs none.
    for (const auto& [thread, fd] : some)
      static_cast<void>(send_message(fd, MessageType::Place, place, Deadline::in_ms(0), {}));
  }

  std::mutex mutex_;  // guards all members below
  std::deque<PlaceRequest> queue_;
  bool is_running_ = false;
};

}  // namespace

void answer_place(pid_t thread, Fd fd) { per_process<PlaceAnswers>().add(thread, std::move(fd)); }

std::string inquire_place(Session& session, int rank, uint64_t communicator, const Deadline& deadline,
                          const Interrupt& interrupt) {
  const ConnectRequest purpose{.kind = ConnectKind::Place, .communicator = communicator};
  const auto fd = session.dial(rank, session.route_to(rank), purpose, deadline, interrupt);
  if (!fd.ok()) return {};
  const auto message = receive_message(fd.value(), deadline, interrupt);
  if (!message.ok() || message.value().type != MessageType::Place) return {};
  ByteReader reader(message.value().body);
  return clean_place(reader.get_text());
}

std::string trouble_of_process(const Session& session, int rank) {
  if (!session.is_on_this_host(rank)) return {};
  // The kernel says which process listens there, by a number of this process's namespace.
  const Address address = Address::abstract_unix(unix_name(session.member(rank).endpoint.process));
  const auto fd = socket_for(address);
  if (!fd.ok() || !connect_to(fd.value(), address, Deadline::in_ms(0), {}).ok()) return {};
  const auto listener = peer_credentials(fd.value().get());
  return listener.ok() && listener.value().pid > 0 ? process_trouble(listener.value().pid) : std::string();
}

}  // namespace rondo
