// Gathering: the root's side of a start. Ranks register; when all have come each gets the table of all
// members. It then watches every rank until that rank's edges of the control tree stand, so that no death
// falls into a gap. Made and destroyed by any thread; works on the service thread.
#pragma once

#include <map>

#include "comm/context.h"
#include "comm/message_socket.h"
#include "comm/notice.h"
#include "comm/unique_id.h"

namespace rondo {

class Gathering {
 public:
  /// Starts to listen in this process; the id is for the ranks.
  static Result<UniqueId> start(int64_t timeout_ms, const Secret& secret);
  /// Takes the Gathering of a session over, so that it ends with the local rank; null where it is not here.
  static std::unique_ptr<Gathering> claim(uint64_t session);
  ~Gathering();
  /// How long the ranks may take, unless one has come already.
  void allow(int64_t timeout_ms);

  /// Tells the ranks whose edges do not stand yet. On the service thread.
  void pass_on(const Notice& notice);
  /// Whether no rank that has come needs it any more. On the service thread.
  bool is_over() const;

 private:
  struct Arrival {
    std::unique_ptr<MessageSocket> socket;
    int rank = -1;  // once it has registered
    bool ready = false;
  };
  Gathering(std::shared_ptr<Context> context, Credentials credentials, int64_t timeout_ms);
  void admit(Fd fd);
  void on_message(uint64_t arrival, const Message& message);
  void on_closed(uint64_t arrival);
  void on_timeout();
  Status take(uint64_t arrival, const Member& member);
  void send_tables();
  void refuse_all(const Status& why);
  static void refuse(MessageSocket& socket, const Status& why);

  std::shared_ptr<Context> context_;
  Credentials credentials_;
  int64_t timeout_ms_;
  // On the service thread only:
  Poller::Timer timer_ = 0;
  int nranks_ = 0;  // 0: nobody has come yet
  bool complete_ = false;
  Status failure_;  // why the start has failed; later ranks are told the same
  uint64_t next_arrival_ = 0;
  std::map<uint64_t, Arrival> arrivals_;
  std::map<int, Member> members_;
};

}  // namespace rondo
