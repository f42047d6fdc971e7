#include "comm/group.h"

#include <time.h>

#include <algorithm>

namespace rondo {
namespace {

// Read by every call: the initial-exec model avoids __tls_get_addr().
#define RONDO_GROUP_STATE __attribute__((tls_model("initial-exec"))) constinit thread_local
RONDO_GROUP_STATE int group_depth = 0;
RONDO_GROUP_STATE struct Collected* this_threads = nullptr;

struct Collected {
  std::vector<Item> items;
  std::vector<UserMessage> messages;  // as long as the group has nothing else
  Status refusal;                     // of the first call that was refused
};

/// Without the look at every use that a thread's variables with a destructor cost.
Collected& collected() {
  if (this_threads != nullptr) return *this_threads;
  thread_local Collected first_used;
  return *(this_threads = &first_used);
}

struct Turn {
  Communicator* communicator;
  uint64_t number;
};

/// Issuing takes places in several queues and communicators; one issue at a time, so that all of them see
/// issues in one order and none waits for another in a ring.
std::mutex& issue_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

std::vector<Turn> take_turns(std::span<const Item> items) {
  std::vector<Turn> turns;
  for (const Item& one : items) {
    Communicator* communicator = one.communicator;
    const bool has = std::any_of(turns.begin(), turns.end(),
                                 [&](const Turn& turn) { return turn.communicator == communicator; });
    if (!has) turns.push_back({communicator, communicator->take_turn()});
  }
  return turns;
}

/// Bounded: the calls before end at their deadlines.
void await(const Turn& turn) {
  while (!turn.communicator->is_turn(turn.number)) {
    const timespec nap{0, 20'000};
    ::nanosleep(&nap, nullptr);
  }
}

/// Ends turns whatever was thrown in them: the calls after would wait for ever.
struct TurnsEnd {
  std::span<const Turn> turns;
  ~TurnsEnd() {
    for (const Turn& turn : turns) turn.communicator->end_turn(turn.number);
  }
};

Status carry_out(std::span<const Item> items, std::span<const Turn> turns) {
  for (const Turn& turn : turns) await(turn);
  const TurnsEnd end{turns};
  return drive(items);
}

/// One call alone, on the caller's thread, or its messages: what most calls are.
template <typename What>
Status issue_here(Communicator& communicator, What&& what) {
  const Turn turn{&communicator, communicator.take_turn()};
  await(turn);
  const TurnsEnd end{{&turn, 1}};
  return drive(communicator, what);
}

Status issue(std::vector<Item> items) {
  std::vector<Queue*> queues;
  bool waits = false;
  for (const Item& one : items) {
    if (one.queue == nullptr)
      waits = true;
    else if (std::find(queues.begin(), queues.end(), one.queue) == queues.end())
      queues.push_back(one.queue);
  }
  if (queues.empty()) return carry_out(items, take_turns(items));
  auto shared = std::make_shared<std::vector<Item>>(std::move(items));
  auto result = std::make_shared<Status>();
  Event done;
  {
    std::lock_guard lock(issue_mutex());
    push_jointly(queues, [shared, result, turns = take_turns(*shared)] {
      return *result = carry_out(*shared, turns);
    });
    if (waits) done.record(*queues.front());
  }
  if (!waits) return {};
  done.synchronize();
  return *result;
}

Status issue(std::span<UserMessage> messages) {
  Communicator* communicator = messages.front().communicator;
  const bool is_of_one = std::all_of(messages.begin(), messages.end(), [&](const UserMessage& message) {
    return message.communicator == communicator;
  });
  if (is_of_one) return issue_here(*communicator, messages);
  std::vector<Item> items;
  for (const UserMessage& message : messages) items.push_back(message.item());
  return issue(std::move(items));
}

/// Keeps the memory for the next group.
Status issue_collected_messages() {
  std::vector<UserMessage>& collects = collected().messages;
  std::vector<UserMessage> messages = std::exchange(collects, {});
  const Status status = issue(std::span(messages));
  messages.clear();
  if (collects.empty()) collects = std::move(messages);
  return status;
}

}  // namespace

void group_start() { ++group_depth; }

Status group_end() {
  if (group_depth == 0)
    return Status(Code::InvalidUsage, "rondo_group_end() without a rondo_group_start() on this thread");
  if (--group_depth != 0) return {};
  if (!collected().refusal.ok())
    return std::exchange(collected(), {}).refusal.within("a call of the group was refused, so none was made");
  if (!collected().messages.empty()) return issue_collected_messages();
  return issue(std::exchange(collected().items, {}));
}

Status group_cancel() {
  if (group_depth == 0)
    return Status(Code::InvalidUsage, "rondo_group_cancel() without a rondo_group_start() on this thread");
  group_depth = 0;
  collected() = {};
  return {};
}

void note_refusal(Status why) {
  if (group_depth != 0 && collected().refusal.ok()) collected().refusal = std::move(why);
}

Status submit(Communicator& communicator, Call&& call, Queue* queue) {
  if (group_depth == 0 && queue == nullptr) return issue_here(communicator, call);
  return submit({.communicator = &communicator, .what = std::move(call), .queue = queue});
}

std::optional<Status> submit_again(Communicator& communicator, const PlainCall& call) {
  if (group_depth != 0 || !communicator.is_idle()) return std::nullopt;
  Task* begun = communicator.begin_again(call);
  if (begun == nullptr) return std::nullopt;
  const Turn turn{&communicator, communicator.take_turn()};
  const TurnsEnd end{{&turn, 1}};
  return drive(communicator, call, begun);
}

Status submit(Item item) {
  if (group_depth == 0) {
    std::vector<Item> one;
    one.push_back(std::move(item));
    return issue(std::move(one));
  }
  auto& [items, messages, refusal] = collected();
  for (const UserMessage& message : std::exchange(messages, {})) items.push_back(message.item());
  items.push_back(std::move(item));
  return {};
}

Status submit(const UserMessage& message) {
  if (group_depth == 0) {
    UserMessage alone = message;
    return issue({&alone, 1});
  }
  auto& [items, messages, refusal] = collected();
  if (!items.empty()) return submit(message.item());
  messages.push_back(message);
  return {};
}

bool group_has(const Communicator& communicator) {
  const auto is_its = [&](const auto& one) { return one.communicator == &communicator; };
  const auto& [items, messages, refusal] = collected();
  return std::any_of(items.begin(), items.end(), is_its) ||
         std::any_of(messages.begin(), messages.end(), is_its);
}

Status refuse_in_group(const char* what) {
  if (group_depth == 0) return {};
  return error(Code::InvalidUsage, "{} is not allowed within a group: it could only be done after its end",
               what);
}

}  // namespace rondo
