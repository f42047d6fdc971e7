// Greetings: the connections that have arrived and have not proved anything yet. There are only so many. On
// the service thread.
#pragma once

#include <list>
#include <memory>

#include "comm/greeting.h"

namespace rondo {

class Greetings {
 public:
  Greetings(Poller& poller, Greeting::Desk& desk) : poller_(poller), desk_(desk) {}

  /// A connection has arrived. False: there is no place for it.
  bool add(Fd fd, const Address& from);
  void erase(const Greeting* greeting);

 private:
  Poller& poller_;
  Greeting::Desk& desk_;
  std::list<std::unique_ptr<Greeting>> waiting_;  // oldest first
};

}  // namespace rondo
