// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <map>
#include <thread>

#include "delays.h"
#include "graph.h"

using namespace rondo::standin;

void CUstream_st::push(Item item) {
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(item));
  changed_.notify_one();
}

void CUstream_st::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

std::optional<Item> CUstream_st::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
  if (items_.empty()) return std::nullopt;
  Item item = std::move(items_.front());
  items_.pop_front();
  return item;
}

namespace rondo::standin {
namespace {

void serve(const StreamPtr& stream) {
  Delays delays(driver().settings.seed, stream->id);
  while (std::optional<Item> item = stream->next()) {
    wait_for(item->after);
    delays.pause();
    if (driver().ended) return;  // pending work ends with the process
    stream->runs = true;         // set before reading `dropped`: drop_work() sets that and then reads `runs`
    if (item->run && !stream->dropped) item->run();
    stream->runs = false;
    item->run = nullptr;
    item->done->finish();
  }
  const std::lock_guard lock(driver().mutex);
  stream->context->streams.erase(stream);
}

/// A thread's own streams, closed when it ends.
struct ThreadStreams {
  ~ThreadStreams() {
    if (driver().foreign || driver().ended) return;
    const std::lock_guard lock(driver().mutex);
    for (const auto& [key, stream] : all) close_stream(*stream);
  }
  std::map<std::pair<Context*, uint64_t>, StreamPtr> all;  // by context and generation
};

StreamPtr stream_of_thread(Context& context) {
  thread_local ThreadStreams streams;
  StreamPtr& stream = streams.all[{&context, context.generation}];
  if (stream == nullptr) stream = make_stream(context, CU_STREAM_DEFAULT, 0);
  return stream;
}

void assign_queue(Stream& stream) {
  const uint32_t count = driver().settings.queues;
  if (count == 0) return;
  Context::Queues& queues = stream.context->queues[stream.priority];
  queues.last.resize(count);
  stream.queue = &queues.last[queues.next++ % count];
}

void add(Completions& list, const CompletionPtr& one) {
  if (one != nullptr && !one->done()) list.push_back(one);
}

}  // namespace

StreamPtr make_stream(Context& context, unsigned flags, int priority) {
  auto stream = std::make_shared<Stream>(&context, flags, priority);
  stream->id = driver().next_id();
  assign_queue(*stream);
  context.streams.insert(stream);
  std::thread(serve, stream).detach();
  return stream;
}

void close_stream(Stream& stream) {
  if (!stream.alive) return;
  stream.alive = false;
  stream.close();
}

void drop_work(Context& context, Lock& lock) {
  const std::set<StreamPtr> streams = context.streams;
  for (const StreamPtr& stream : streams) stream->dropped = true;
  lock.unlock();
  for (const StreamPtr& stream : streams)
    while (stream->runs) std::this_thread::sleep_for(std::chrono::microseconds(20));
  lock.lock();
}

CUresult find_stream(CUstream handle, StreamPtr& found) {
  Context* context = nullptr;
  STANDIN_TRY(use_context(context));
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    found = context->legacy;
    return CUDA_SUCCESS;
  }
  found = handle == CU_STREAM_PER_THREAD ? stream_of_thread(*context) : driver().streams.find(handle);
  STANDIN_REQUIRE(found != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return static_cast<CUresult>(found->context->error.load());
}

CompletionPtr enqueue(Stream& stream, Operation run, Completions after) {
  Context& context = *stream.context;
  auto done = std::make_shared<Completion>();
  if (stream.legacy()) {
    for (const StreamPtr& other : context.streams)
      if (other->blocking()) add(after, other->last);
  } else if (stream.blocking()) {
    add(after, context.legacy->last);
  }
  if (stream.queue != nullptr) {
    add(after, *stream.queue);
    *stream.queue = done;
  }
  stream.last = done;
  stream.push({std::move(run), std::move(after), done});
  return done;
}

CUresult submit(Stream& stream, CUgraphNodeType type, Operation run, CompletionPtr* done) {
  if (stream.capture != nullptr) return capture_node(stream, type, [run = std::move(run)] { return run; });
  STANDIN_TRY(check_legacy(stream));
  CompletionPtr end = enqueue(stream, std::move(run));
  if (done != nullptr) *done = std::move(end);
  return CUDA_SUCCESS;
}

Completions work_of(const Stream& stream) {
  Completions found{stream.last};
  if (!stream.legacy()) return found;
  for (const StreamPtr& other : stream.context->streams)
    if (other->blocking()) add(found, other->last);
  return found;
}

Completions work_of(const Context& context) {
  Completions found;
  for (const StreamPtr& stream : context.streams) add(found, stream->last);
  return found;
}

void wait_unlocked(Lock& lock, const Completions& completions) {
  lock.unlock();
  wait_for(completions);
  lock.lock();
}

}  // namespace rondo::standin
