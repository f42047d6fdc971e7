// Greeting: one arriving connection, until it is known for what it is or turned away: the listener's side of
// the handshake. On the service thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/handshake.h"
#include "comm/poller.h"

namespace rondo {

class Greeting {
 public:
  /// Who has the Greeting, and judges.
  class Desk {
   public:
    virtual ~Desk() = default;
    /// Null: the session is not known here.
    virtual const Secret* secret_of(uint64_t session) = 0;
    virtual bool expects(uint64_t session, int rank) = 0;
    virtual void admit(uint64_t session, const Purpose& purpose, Fd fd) = 0;
    virtual void turned_away(const std::string& why, const Address& from) = 0;
    /// The Greeting has ended, and may be destroyed once its handler has returned.
    virtual void over(Greeting* greeting) = 0;
  };
  Greeting(Poller& poller, Fd fd, Address from, Desk& desk);
  ~Greeting();

  const Address& from() const { return from_; }
  /// Whether it has named a session that is known here.
  bool knows_session() const { return talk_ != nullptr; }
  /// Takes what has come; the Greeting may be over then.
  void on_ready();

 private:
  struct Talk;
  bool read_into(void* out, size_t bytes);  // true when complete
  bool send(const void* bytes, size_t count);
  void on_hello();
  void on_claim();
  void turn_away(const std::string& why);

  Poller& poller_;
  Fd fd_;
  Address from_;
  Desk& desk_;
  Poller::Timer timer_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<Talk> talk_;  // once Hello is through; the Claim is next
};

}  // namespace rondo
