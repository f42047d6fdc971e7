// SPDX-License-Identifier: Apache-2.0
// A rank of a program that is compiled with -fno-exceptions: it uses each class of rondo::nothrow, and exits
// with 0 if all of its calls give what they should. rondo-run starts it.
#include <rondo/plan.hpp>
#include <rondo/rondo.hpp>

#include <chrono>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

using namespace rondo::nothrow;
using rondo::Code;
using rondo::Op;
using rondo::Result;

Result<void> wrong(const char* what) { return rondo::Error(Code::internal_error, what); }

Result<void> check_collectives(const Communicator& comm) {
  const auto size = static_cast<std::size_t>(comm.size());
  std::vector<int> ranks(size), sums(13, comm.rank());
  const int own = comm.rank();
  if (auto result = comm.all_gather(own, ranks); !result) return result;
  if (auto result = comm.all_reduce(sums, Op::sum); !result) return result;
  if (sums != std::vector<int>(13, std::accumulate(ranks.begin(), ranks.end(), 0))) return wrong("a sum");
  const auto larger = Reduction<int>::create([](int left, int right) { return left < right ? right : left; });
  if (!larger) return larger.error();
  int most = own;
  if (auto result = comm.all_reduce(most, *larger); !result) return result;
  return most == comm.size() - 1 ? Result<void>() : wrong("a maximum");
}

Result<void> check_messages(const Communicator& comm) {
  const int right = (comm.rank() + 1) % comm.size(), left = (comm.rank() + comm.size() - 1) % comm.size();
  const int own = comm.rank();
  int got = -1, got_later = -1;
  const auto exchanged = Group::run([&]() -> Result<void> {
    if (auto result = comm.send(own, right); !result) return result;
    return comm.recv(got, left);
  });
  if (!exchanged) return exchanged;
  auto received = comm.irecv(got_later, left, 1), sent = comm.isend(own, right, 1);
  if (!received || !sent) return wrong("a started message");
  std::vector<Request> requests;
  requests.push_back(std::move(*received));
  requests.push_back(std::move(*sent));
  if (auto result = rondo::wait_all(requests); !result) return result;
  if (auto result = requests[1].wait_for(std::chrono::seconds(20)); !result || !*result)
    return wrong("a send");
  return got == left && got_later == left ? Result<void>() : wrong("a message");
}

Result<void> check_prepared(const Communicator& comm) {
  const int right = (comm.rank() + 1) % comm.size(), left = (comm.rank() + comm.size() - 1) % comm.size();
  int own = comm.rank(), got = -1;
  const auto ring = Group::prepare([&]() -> Result<void> {
    if (auto result = comm.send(own, right); !result) return result;
    return comm.recv(got, left);
  });
  if (!ring) return ring.error();
  for (int step = 0; step < 4; ++step) {
    own = comm.rank() + step;
    if (auto result = step % 2 == 0 ? ring->start() : ring->run(); !result) return result;
    if (auto result = ring->wait(); !result) return result;
    if (got != left + step) return wrong("a prepared message");
  }
  const auto refused = Group::prepare([&] { return comm.send(own, comm.size()); });
  return !refused && refused.error().code() == Code::invalid_argument ? Result<void>() : wrong("an error");
}

Result<void> check_queue_and_memory(const Communicator& comm) {
  auto queue = Queue::create();
  auto event = Event::create();
  auto memory = Memory<double>::allocate(1'000);
  if (!queue || !event || !memory) return wrong("a queue, an event or memory");
  for (double& value : *memory) value = 0.5;
  auto registration = comm.register_memory(*memory);
  if (!registration) return registration.error();
  if (auto result = comm.on(*queue).all_reduce(*memory, Op::sum); !result) return result;
  if (auto result = event->record(*queue); !result) return result;
  if (auto result = event->wait(); !result) return result;
  if (auto result = queue->close(); !result) return result;
  if (auto result = registration->close(); !result) return result;
  return (*memory)[999] == 0.5 * comm.size() ? Result<void>() : wrong("a sum in registered memory");
}

/// A group whose calls fail is not made; nor is a call whose lengths do not fit.
Result<void> check_errors(const Communicator& comm) {
  int value = 1;
  const auto refused = Group::run([&]() -> Result<void> {
    if (auto result = comm.all_reduce(value, Op::sum); !result) return result;
    return comm.broadcast(value, comm.size());
  });
  if (refused || refused.error().code() != Code::invalid_argument || value != 1)
    return wrong("a refused group");
  std::vector<int> long_one(3), short_one(2);
  const auto lengths = comm.all_reduce(long_one, short_one, Op::sum);
  if (lengths || lengths.error().code() != Code::invalid_argument) return wrong("a refused length");
  const auto carrier = Communicator::init({.transport = "carrier"});
  return carrier ? wrong("an unknown transport") : Result<void>();
}

Result<void> run() {
  auto comm = Communicator::init();
  if (!comm) return comm.error();
  for (const auto part :
       {check_collectives, check_messages, check_prepared, check_queue_and_memory, check_errors})
    if (auto result = part(*comm); !result) return result;
  auto half = comm->split(comm->rank() % 2, 0);
  if (!half) return half.error();
  if (auto result = half->close(); !result) return result;
  return comm->close();
}

}  // namespace

// Members of templates are compiled only if something uses them.
template class rondo::BasicCalls<rondo::Returning>;
template class rondo::BasicCommunicator<rondo::Returning>;
template class rondo::BasicPrepared<rondo::Returning>;
template class rondo::BasicRequest<rondo::Returning>;
template class rondo::BasicGroup<rondo::Returning>;
template class rondo::BasicQueue<rondo::Returning>;
template class rondo::BasicEvent<rondo::Returning>;
template class rondo::BasicRegistration<rondo::Returning>;
template class rondo::BasicMemory<rondo::Returning, int>;
template class rondo::BasicReduction<rondo::Returning, int>;
template class rondo::BasicTopology<rondo::Returning>;
template class rondo::BasicPlan<rondo::Returning>;
template class rondo::BasicPlanRun<rondo::Returning>;

int main() {
  const Result<void> result = run();
  if (!result) std::fprintf(stderr, "%s\n", result.error().what());
  return result ? 0 : 1;
}
