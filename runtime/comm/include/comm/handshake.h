// The handshake that opens every connection: both ends prove that they know the session's secret before a
// byte of anything else is believed.
//
//     dialler  -> Hello  {magic, version, session, nonce}
//     listener -> Answer {magic, version, verdict, nonce, proof over both nonces}
//     dialler  -> Claim  {purpose, proof over both nonces and the purpose}
//
// Fixed sizes, so a stranger can make the listener read a hundred bytes and no more. dial() blocks its
// caller; Greeting is the listener's side, on the service thread.
#pragma once

#include <functional>
#include <memory>

#include "comm/poller.h"
#include "comm/secret.h"
#include "comm/socket.h"

namespace rondo {

/// What a connection is for.
enum class PurposeKind : uint32_t {
  Register,  // a rank joins: it registers with the session's root
  Control,   // an edge of the control tree
  Data,      // a socket of a transport's connection
  Inquiry,   // what is that rank doing?
  Meet,      // a process asks rank 0 for the unique id
};

struct Purpose {
  PurposeKind kind = PurposeKind::Register;
  int32_t from_rank = -1;  // in the session
  int32_t to_rank = -1;    // -1: the root, before it has a rank
  uint32_t index = 0;      // Data: the how-manieth socket
  uint64_t communicator = 0;
  uint32_t port = 0;
  uint32_t route = 0;  // Data: the number of the transport in the table
};
static_assert(sizeof(Purpose) == 32);

/// Which session a dialler speaks for.
struct Credentials {
  uint64_t session = 0;
  Secret secret;
};

/// Connects, proves, states the purpose. The socket is non-blocking. RemoteError where nobody listens or
/// nobody knows the session, InvalidUsage where versions or secrets differ, Timeout at the deadline.
Result<Fd> dial(const Address& address, const Credentials& credentials, const Purpose& purpose,
                const Deadline& deadline, const Interrupt& interrupt);

/// One arriving connection, until it is known for what it is or turned away.
class Greeting {
 public:
  /// Finds a session's secret; null: unknown here.
  using FindSecret = std::function<const Secret*(uint64_t session)>;
  using Admit = std::function<void(uint64_t session, const Purpose&, Fd)>;
  using Over = std::function<void(Greeting*)>;  // the owner may destroy the Greeting then
  Greeting(Poller& poller, Fd fd, FindSecret find, Admit admit, Over over);
  ~Greeting();

 private:
  void on_ready(uint32_t events);
  bool read_into(void* out, size_t bytes);  // true when complete
  void on_hello();
  void on_claim();
  void turn_away(const char* why);
  void end();

  Poller& poller_;
  Fd fd_;
  FindSecret find_;
  Admit admit_;
  Over over_;
  Poller::Timer timer_;
  std::vector<std::byte> bytes_;
  bool claimed_ = false;  // Hello is through; the Claim is next
  uint64_t session_ = 0;
  Secret secret_;
  std::array<std::byte, 16> dialler_nonce_{};
  std::array<std::byte, 16> own_nonce_{};
};

}  // namespace rondo
