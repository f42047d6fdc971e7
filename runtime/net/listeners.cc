// SPDX-License-Identifier: Apache-2.0
#include "net/listeners.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "base/log.h"
#include "net/event_loop.h"
#include "pending_handshakes.h"

namespace rondo {
namespace {

constexpr int64_t kQuiet_ms = 60'000;
constexpr size_t kMaxKinds = 64;  // strangers choose part of the text

/// Warnings that strangers can cause at any rate. The first of a kind is logged at once, the others are
/// counted, and the count is logged when the minute is over.
class RateLimitedWarnings {
 public:
  explicit RateLimitedWarnings(EventLoop& poller) : event_loop_(poller) {}
  ~RateLimitedWarnings() {
    for (const auto& [name, kind] : kinds_) {
      event_loop_.cancel(kind.timer);
      log_count(kind);
    }
  }

  /// Warns with `text`, unless a warning of this kind was logged within the last minute.
  void warn(const std::string& kind, const std::string& text) {
    const bool told = kinds_.contains(kind);
    if (!told && kinds_.size() >= kMaxKinds && kind != "others") return warn("others", text);
    Complaint& entry = kinds_[kind];
    entry.text = text;
    if (told) {
      ++entry.unlogged;
      return;
    }
    log().warn("{}", text);
    entry.timer = event_loop_.after_ms(kQuiet_ms, [this, kind] { summarize(kind); });
  }

 private:
  struct Complaint {
    EventLoop::Timer timer = 0;
    std::string text;      // the latest
    int64_t unlogged = 0;  // since the last line
  };
  void summarize(const std::string& kind) {
    Complaint& entry = kinds_[kind];
    if (entry.unlogged == 0) {
      kinds_.erase(kind);
      return;
    }
    log_count(entry);
    entry.unlogged = 0;
    entry.timer = event_loop_.after_ms(kQuiet_ms, [this, kind] { summarize(kind); });
  }
  static void log_count(const Complaint& kind) {
    if (kind.unlogged != 0) log().warn("{} more like this within a minute: {}", kind.unlogged, kind.text);
  }

  EventLoop& event_loop_;
  std::map<std::string, Complaint> kinds_;  // of the last minute
};

}  // namespace

class Listeners::Reception final : public HandshakeOwner {
 public:
  explicit Reception(EventLoop& event_loop)
      : event_loop_(event_loop), warnings_(event_loop), handshakes_(event_loop, *this) {}
  ~Reception() override {
    for (const int fd : listeners_) event_loop_.unwatch(fd);
    for (const auto& [fd, timer] : pauses_) event_loop_.cancel(timer);
  }

  void open(const Credentials& credentials, int rank, Admit admit) {
    doors_[{credentials.session, rank}] = Door{credentials.secret, std::move(admit)};
  }
  void close(uint64_t session, int rank) { doors_.erase({session, rank}); }
  void add(const Fd& listener) {
    listeners_.insert(listener.get());
    event_loop_.watch(listener.get(), EPOLLIN, [this, raw = &listener](uint32_t) { greet(*raw); });
  }
  void remove(const Fd& listener) {
    if (const auto pause = pauses_.extract(listener.get())) event_loop_.cancel(pause.mapped());
    event_loop_.unwatch(listener.get());
    listeners_.erase(listener.get());
  }
  RateLimitedWarnings& warnings() { return warnings_; }

 private:
  struct Door {
    Secret secret;
    Admit admit;
  };
  void greet(const Fd& listener) {
    constexpr int kAtATime = 64;  // a flood of connections must not keep this thread from its other work
    for (int taken = 0; taken < kAtATime;) {
      Address from;
      Fd fd = accept_pending(listener, from);
      if (!fd.valid()) {
        if (make_room(listener, errno)) continue;
        return;
      }
      ++taken;
      if (!handshakes_.add(std::move(fd), from))
        warnings_.warn("full", fmt::format("dropped the connection that had been silent longest: too many "
                                           "unauthenticated ones have arrived, the latest from {}",
                                           from.text()));
    }
  }

  /// Stops watching the listener for a while: its pending connections would keep this thread awake.
  void pause(const Fd& listener) {
    constexpr int64_t kPause_ms = 500;
    const int fd = listener.get();
    event_loop_.change(fd, 0);
    pauses_[fd] = event_loop_.after_ms(kPause_ms, [this, fd] {
      pauses_.erase(fd);
      event_loop_.change(fd, EPOLLIN);
    });
  }

  /// Called when accept() has failed. True: try again.
  bool make_room(const Fd& listener, int error_number) {
    if (error_number != EMFILE && error_number != ENFILE) return false;
    warnings_.warn("limit", fmt::format("a connection must wait or be retried: {} (this process may have {}; "
                                        "raise the limit, see ulimit -n)",
                                        std::strerror(error_number), max_descriptors()));
    if (handshakes_.drop_one()) return true;
    pause(listener);
    return false;
  }

  const Secret* secret_of(uint64_t session) override {
    const auto door = doors_.lower_bound({session, kRoot});
    return door != doors_.end() && door->first.first == session ? &door->second.secret : nullptr;
  }

  bool expects(uint64_t session, int rank) override { return doors_.contains({session, rank}); }
  void admit(uint64_t session, const ConnectRequest& purpose, Fd fd) override {
    const auto door = doors_.find({session, purpose.to_rank});
    if (door == doors_.end()) {
      log().info("a connection for rank {} arrived, which has left", purpose.to_rank);
      return;
    }
    const Admit call = door->second.admit;  // a copy: the callback may close this acceptor
    call(purpose, std::move(fd));
  }

  void turned_away(const std::string& why, const Address& from) override {
    const bool local = from.storage.ss_family == AF_UNIX;
    warnings_.warn(why, fmt::format("rejected a connection: {} (from {})", why,
                                    local ? std::string("this host") : from.text()));
  }

  void over(ServerHandshake* greeting) override { handshakes_.erase(greeting); }

  EventLoop& event_loop_;
  std::map<std::pair<uint64_t, int>, Door> doors_;
  std::set<int> listeners_;                 // by descriptor
  std::map<int, EventLoop::Timer> pauses_;  // of listeners, by descriptor
  RateLimitedWarnings warnings_;
  PendingHandshakes handshakes_;
};

Listeners::Listeners(EventLoop& event_loop) : event_loop_(event_loop) {
  event_loop_.call([this] { reception_ = std::make_unique<Reception>(event_loop_); });
}

Listeners::~Listeners() {
  event_loop_.call([this] { reception_.reset(); });
}

void Listeners::open(const Credentials& credentials, int rank, Admit admit) {
  event_loop_.call([&] { reception_->open(credentials, rank, std::move(admit)); });
}

void Listeners::close(uint64_t session, int rank) {
  event_loop_.call([&] { reception_->close(session, rank); });
}

void Listeners::add(const Fd& listener) {
  event_loop_.call([&] { reception_->add(listener); });
}

void Listeners::remove(const Fd& listener) {
  event_loop_.call([&] { reception_->remove(listener); });
}

void Listeners::warn(const std::string& kind, const std::string& text) {
  reception_->warnings().warn(kind, text);
}

}  // namespace rondo
