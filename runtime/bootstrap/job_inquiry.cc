// SPDX-License-Identifier: Apache-2.0
#include "job_inquiry.h"

#include <fmt/ranges.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <new>
#include <utility>

#include "base/error_kinds.h"
#include "base/json_text.h"

namespace rondo {

JobInquiry::JobInquiry(EventLoop& event_loop, AskedSession session, std::function<void(std::string)> on_done,
                       size_t at_a_time)
    : event_loop_(event_loop),
      session_(std::move(session)),
      on_done_(std::move(on_done)),
      at_a_time_(at_a_time) {
  find_processes();
  total_ = event_loop_.after_ms(0, [this] {
    total_ = event_loop_.after_ms(kTotal_ms, [this] { end_all(); });
    begin_some();
  });
}

JobInquiry::~JobInquiry() {
  event_loop_.cancel(total_);
  for (const auto& asked : all_) {
    event_loop_.cancel(asked->timer);
    if (asked->fd.valid()) event_loop_.unwatch(asked->fd.get());
  }
}

/// One of each host comes before a second one of any: a host that cannot be reached then costs one attempt.
void JobInquiry::find_processes() {
  const uint64_t own_host = session_.members[static_cast<size_t>(session_.rank)].endpoint.host;
  std::map<uint64_t, AskedProcess*> by_process;
  std::map<uint64_t, size_t> of_host;
  std::vector<std::pair<size_t, std::unique_ptr<AskedProcess>>> placed;
  for (const PeerInfo& member : session_.members) {
    if (member.endpoint.host == own_host) continue;
    AskedProcess*& asked = by_process[member.endpoint.process];
    if (asked == nullptr) {
      placed.emplace_back(of_host[member.endpoint.host]++, std::make_unique<AskedProcess>());
      asked = placed.back().second.get();
      asked->peer = &member;
    }
    asked->ranks.push_back(member.rank);
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [place, asked] : placed) all_.push_back(std::move(asked));
}

void JobInquiry::begin_some() {
  while (next_ < all_.size() && open_ < at_a_time_) begin(*all_[next_++]);
  if (open_ == 0 && next_ == all_.size()) end_all();
}

void JobInquiry::begin(AskedProcess& asked) {
  // Of ranks that are threads some may be gone, and are not dialled.
  std::string why;
  const auto here = std::find_if(asked.ranks.begin(), asked.ranks.end(), [&](int rank) {
    why = session_.end_of(rank);
    return why.empty();
  });
  asked.found = here == asked.ranks.end() ? Found::Gone : Found::Unreachable;
  asked.problem = why;
  if (here == asked.ranks.end() || unreachable_.contains(asked.peer->endpoint.host)) return;
  std::vector<Address> addresses = session_.addresses(*asked.peer);
  asked.problem = "it offers no address but loopback; set RONDO_SOCKET_IFNAME there";
  if (addresses.empty()) return;
  const ConnectRequest purpose{.kind = ConnectKind::Calls, .from_rank = session_.rank, .to_rank = *here};
  ++open_;
  asked.dialler = std::make_unique<Dialler>(
      event_loop_, std::move(addresses), session_.credentials, purpose,
      Dialler::Patience{.connect_ms = kConnect_ms, .answer_ms = kAnswer_ms},
      [this, &asked](Result<Fd> fd, Contact contact) { have_dialled(asked, std::move(fd), contact); });
}

void JobInquiry::have_dialled(AskedProcess& asked, Result<Fd> fd, Contact contact) {
  asked.dialler.reset();
  if (!fd.ok()) {
    // A refusal means that the host is there, and the process is not.
    const bool is_host = contact == Contact::Sought && fd.status().code() != Code::RemoteError;
    if (is_host) unreachable_.insert(asked.peer->endpoint.host);
    return end(asked, is_host ? Found::Unreachable : Found::Silent, fd.status().message());
  }
  asked.fd = fd.take();
  asked.timer = event_loop_.after_ms(kAnswer_ms, [this, &asked] {
    end(asked, Found::Silent, fmt::format("it did not say all within {} ms", kAnswer_ms));
  });
  event_loop_.watch(asked.fd.get(), EPOLLIN, [this, &asked](uint32_t) { read_some(asked); });
}

void JobInquiry::read_some(AskedProcess& asked) try {
  for (;;) {
    char chunk[16 * 1024];
    const ssize_t got = ::recv(asked.fd.get(), chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) return end(asked, Found::Silent, system_error("the connection broke", errno).message());
    if (got == 0 && asked.text.empty()) return end(asked, Found::Off, {});
    if (got == 0) return end(asked, Found::Answered, {});
    asked.text.append(chunk, static_cast<size_t>(got));
    if (asked.text.size() > kMaxTextBytes)
      return end(asked, Found::Silent, fmt::format("it says more than {} KiB", kMaxTextBytes >> 10));
  }
} catch (const std::bad_alloc&) {
  asked.text = std::string();
  if (asked.fd.valid()) end(asked, Found::Silent, "the process that asked it is out of memory");
}

void JobInquiry::end(AskedProcess& asked, Found found, std::string problem) {
  event_loop_.cancel(asked.timer);
  if (asked.fd.valid()) event_loop_.unwatch(asked.fd.get());
  asked.fd.close();
  asked.found = found;
  asked.problem = std::move(problem);
  if (found == Found::Answered && total_bytes_ + asked.text.size() > kMaxTotalBytes) {
    asked.found = Found::Silent;
    asked.problem = fmt::format("all processes together say more than {} MiB", kMaxTotalBytes >> 20);
  }
  if (asked.found != Found::Answered) asked.text = std::string();
  total_bytes_ += asked.text.size();
  --open_;
  begin_some();
}

/// All have answered, or the time is over.
void JobInquiry::end_all() {
  event_loop_.cancel(total_);
  for (const auto& asked : all_) {
    const bool is_open = asked->dialler != nullptr || asked->fd.valid();
    event_loop_.cancel(asked->timer);
    if (asked->fd.valid()) event_loop_.unwatch(asked->fd.get());
    asked->fd.close();
    asked->dialler.reset();
    if (!is_open && asked->found != Found::Unasked) continue;
    asked->found = Found::Silent;
    asked->text = std::string();
    asked->problem = fmt::format("there was no time for it within the {} ms that all have", kTotal_ms);
  }
  const auto on_done = std::move(on_done_);
  on_done(result());
}

const char* JobInquiry::word_for(Found found) {
  switch (found) {
    case Found::Answered: return "answered";
    case Found::Unreachable: return "unreachable";
    case Found::Off: return "off";
    case Found::Gone: return "gone";
    case Found::Unasked:
    case Found::Silent: break;
  }
  return "silent";
}

std::string JobInquiry::line_of(const AskedProcess& asked) const {
  const std::vector<IpAddress>& offered = asked.peer->addresses;
  const std::string address = offered.empty() ? "null" : json_string(ip_text(offered.front()));
  return fmt::format(
      R"({{"ranks":[{}],"host":{},"address":{},"host_id":"{:016x}","pid":{},"process":"{:016x}",)"
      R"("found":"{}","problem":{},"bytes":{}}})"
      "\n",
      fmt::join(asked.ranks, ","), json_string(asked.peer->host_name), address, asked.peer->endpoint.host,
      asked.peer->pid, asked.peer->endpoint.process, word_for(asked.found),
      asked.problem.empty() ? "null" : json_string(asked.problem), asked.text.size());
}

std::string JobInquiry::result() const {
  std::string all =
      fmt::format(R"({{"format":"rondo-ps-job","version":1,"session":"{:016x}","processes":{}}})"
                  "\n",
                  session_.credentials.session, all_.size());
  all.reserve(all.size() + total_bytes_ + 256 * all_.size());
  for (const auto& asked : all_) all += line_of(*asked) + asked->text;
  return all;
}

}  // namespace rondo
