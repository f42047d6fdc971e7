// Greetings: the connections that have arrived and have not proved anything yet. There are only so many: a
// newcomer takes the place of the one that has been silent longest, of the address that has most. So silent
// strangers never keep a rank out, and never take the descriptors that ranks need. On the service thread.
#pragma once

#include <list>
#include <map>
#include <memory>

#include "comm/greeting.h"

namespace rondo {

class Greetings {
 public:
  Greetings(Poller& poller, Greeting::Desk& desk) : poller_(poller), desk_(desk) {}

  /// A connection has arrived. False: another one was dropped for it.
  bool add(Fd fd, const Address& from);
  /// Drops one. False: there is none.
  bool drop_one();
  void erase(const Greeting* greeting);

 private:
  bool is_full(int newest_fd) const;

  Poller& poller_;
  Greeting::Desk& desk_;
  std::list<std::unique_ptr<Greeting>> waiting_;  // oldest first
  std::map<IpAddress, int> by_source_;            // how many of them, by source_of()
};

}  // namespace rondo
