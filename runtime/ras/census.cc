// SPDX-License-Identifier: Apache-2.0
#include "census.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/file_contents.h"
#include "net/handshake.h"
#include "net/socket.h"
#include "stacks/process_trouble.h"

namespace rondo {
namespace {

std::string own_prefix() { return fmt::format("rondo-ras-{}-", ::geteuid()); }

/// The names that begin so, of the listing of /proc/net/unix. Connections to a name are listed under it too.
std::set<std::string> names_in(std::string_view listing, const std::string& prefix) {
  std::set<std::string> names;
  const std::string mark = " @" + prefix;
  for (size_t at = listing.find(mark); at != listing.npos; at = listing.find(mark, at + 1)) {
    const size_t begin = at + 2;
    names.emplace(listing.substr(begin, std::min(listing.find('\n', begin), listing.size()) - begin));
  }
  return names;
}

/// As opposed to one whose main thread alone waits for a device.
bool is_halted(const std::string& trouble) {
  return trouble.starts_with("is stopped") || trouble.starts_with("is held");
}

bool is_ours(int pid) {
  struct stat process {};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &process) == 0 && process.st_uid == ::geteuid();
}

std::string trouble_or(int pid, const char* otherwise) {
  const std::string trouble = process_trouble(pid);
  return trouble.empty() ? otherwise : trouble;
}

}  // namespace

std::string new_ras_name() { return fmt::format("{}{}-{:016x}", own_prefix(), ::getpid(), random_u64()); }

RasCensus::RasCensus(EventLoop& event_loop, const std::string& own_name, std::function<void()> done)
    : event_loop_(event_loop), began_ns_(now_ns()), done_(std::move(done)) {
  found_.processes.push_back(ras_process(recorded_comms(), kMaxRanks));
  list(own_name);
  ask_more();
}

RasCensus::~RasCensus() {
  event_loop_.cancel(end_);
  for (const RasQuestion& question : questions_) {
    event_loop_.cancel(question.timer);
    event_loop_.unwatch(question.fd.get());
  }
}

RasFindings RasCensus::findings() const {
  RasFindings found = found_;
  for (const RasQuestion& question : questions_)
    found.silent.push_back({question.pid, trouble_or(question.pid, "has not answered in time")});
  for ([[maybe_unused]] const std::string& name : names_)
    found.silent.push_back({0, "was not asked in time"});
  found.seconds = static_cast<double>(now_ns() - began_ns_) * 1e-9;
  return found;
}

void RasCensus::list(const std::string& own_name) {
  const std::string listing = file_contents("/proc/net/unix", kMaxListBytes);
  found_.all_listed = !listing.empty() && listing.size() < kMaxListBytes;
  std::set<std::string> names = names_in(listing, own_prefix());
  names.erase(own_name);
  names_.assign(names.begin(), names.end());
}

void RasCensus::ask_more() {
  while (!names_.empty() && questions_.size() < kAtOnce) {
    const std::string name = std::move(names_.front());
    names_.pop_front();
    ask(name);
  }
  if (questions_.empty() && end_ == 0)
    end_ = event_loop_.after_ms(0, done_);  // a copy, as it may end this object
}

void RasCensus::ask(const std::string& name) {
  const Address address = Address::abstract_unix(name);
  Result<Fd> fd = socket_for(address);
  if (!fd.ok()) {
    found_.silent.push_back({0, "was not asked: this process has no descriptor left"});
    return;
  }
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd.value().get(), raw, address.length) != 0) {
    // Otherwise it has ended meanwhile. Its own word for its id has to do, if that is a process of this user:
    // another one may have made up the name.
    const bool is_full = errno == EAGAIN;
    const int pid = std::atoi(name.c_str() + own_prefix().size());
    if (is_full && is_ours(pid)) found_.silent.push_back({pid, trouble_or(pid, "has too many clients")});
    return;
  }
  const auto peer = peer_credentials(fd.value().get());
  if (!peer.ok() || peer.value().uid != ::geteuid()) return;  // another user has made up the name
  if (const std::string trouble = process_trouble(peer.value().pid); is_halted(trouble)) {
    found_.silent.push_back({peer.value().pid, trouble});
    return;
  }
  questions_.push_back({.fd = std::move(fd.value()), .pid = peer.value().pid, .bytes = {}});
  const auto question = std::prev(questions_.end());
  question->timer = event_loop_.after_ms(kPatience_ms, [this, question] {
    finish(question, false, trouble_or(question->pid, "does not answer"));
  });
  event_loop_.watch(question->fd.get(), EPOLLIN, [this, question](uint32_t) { take(question); });
}

/// One chunk at a time: other handlers have their turn in between.
void RasCensus::take(Questions::iterator question) {
  std::array<char, 65'536> chunk;
  const ssize_t got = ::recv(question->fd.get(), chunk.data(), chunk.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return finish(question, got == 0, "broke off its answer");
  if (question->bytes.size() + static_cast<size_t>(got) > kMaxBytes)
    return finish(question, false, "says too much");
  question->bytes.append(chunk.data(), static_cast<size_t>(got));
}

void RasCensus::finish(Questions::iterator question, bool has_said_all, const std::string& otherwise) {
  event_loop_.cancel(question->timer);
  event_loop_.unwatch(question->fd.get());
  if (!has_said_all) {
    found_.silent.push_back({question->pid, otherwise});
  } else if (question->bytes.empty()) {
    // It has just ended, or has hung up on the oldest of its clients.
    if (::access(fmt::format("/proc/{}", question->pid).c_str(), F_OK) == 0)
      found_.silent.push_back({question->pid, "has hung up"});
  } else if (auto process = read_ras_bytes(question->bytes)) {
    found_.processes.push_back(std::move(*process));
  } else {
    found_.silent.push_back({question->pid, "says what this version of Rondo does not understand"});
  }
  questions_.erase(question);
  ask_more();
}

}  // namespace rondo
