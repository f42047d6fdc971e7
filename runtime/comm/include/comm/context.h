// Context: what a process has once for all its communicators: the service thread and the sockets at which
// other ranks reach it. Made at first use; it ends with the last reference, and then nothing is left. Any
// thread.
#pragma once

#include <map>
#include <memory>

#include "base/disowned.h"
#include "comm/complaints.h"
#include "comm/greetings.h"
#include "comm/interfaces.h"
#include "comm/member.h"

namespace rondo {

class Context : private Greeting::Desk {
 public:
  static Result<std::shared_ptr<Context>> get();
  ~Context() override;

  /// A Member with what this process knows of itself; the caller adds the rank.
  Member self() const;
  const std::vector<Interface>& interfaces() const { return interfaces_; }
  Poller& poller() { return *poller_; }
  /// On the service thread.
  Complaints& complaints() { return *complaints_; }

  static constexpr int kRoot = -1;  // the root of a start, as opposed to any of its ranks
  using Admit = std::function<void(const Purpose&, Fd)>;  // on the service thread
  /// From now on connections of this session for this rank (or kRoot) go to `admit`.
  void open(const Credentials& credentials, int rank, Admit admit);
  /// After it `admit` is not called any more.
  void close(uint64_t session, int rank);

  /// Connections are also taken at this listener, until stop_listening().
  void listen_at(const Fd& listener);
  void stop_listening(const Fd& listener);

 private:
  struct Door {
    Secret secret;
    Admit admit;
  };
  Context() = default;
  Status listen();
  void greet(const Fd& listener);
  void pause(const Fd& listener);
  bool make_room(const Fd& listener, int error_number);
  const Secret* secret_of(uint64_t session) override;
  bool expects(uint64_t session, int rank) override { return doors_.contains({session, rank}); }
  void admit(uint64_t session, const Purpose& purpose, Fd fd) override;
  void turned_away(const std::string& why, const Address& from) override;
  void over(Greeting* greeting) override { greetings_->erase(greeting); }

  InUse in_use_;
  uint64_t process_ = 0;
  uint64_t host_ = 0;
  uint16_t tcp_port_ = 0;
  std::string host_name_;
  std::vector<Interface> interfaces_;
  Fd tcp_listener_;
  Fd unix_listener_;
  std::unique_ptr<Poller> poller_;
  // On the service thread only:
  std::map<std::pair<uint64_t, int>, Door> doors_;
  std::unique_ptr<Complaints> complaints_;
  std::unique_ptr<Greetings> greetings_;
  std::map<int, Poller::Timer> pauses_;  // of listeners, by descriptor
};

}  // namespace rondo
