// SPDX-License-Identifier: Apache-2.0
// late_job PASTIME: a rank of a job in which rank 1 does something else for three seconds while the others
// wait in an all_reduce. Prints the error of the others, and how rank 1's system call ended; exits with 0,
// so that the launcher ends no rank early.
#include <poll.h>
#include <pthread.h>
#include <rondo/rondo.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {

constexpr int kLate_s = 3;
constexpr int kLate_ms = 1000 * kLate_s;
volatile sig_atomic_t loop_ends = 0;
volatile long turns = 0;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> is_locked{false};

void end_loop(int) { loop_ends = 1; }

}  // namespace

// Not static and not inlined, so that they have a name and a frame.

[[gnu::noinline]] int spend_loop() {
  ::signal(SIGALRM, end_loop);
  ::alarm(kLate_s);
  while (loop_ends == 0) turns = turns + 1;
  return 0;
}

[[gnu::noinline]] int spend_sleep() { return static_cast<int>(::sleep(kLate_s)) + static_cast<int>(turns); }

[[gnu::noinline]] int spend_poll() { return ::poll(nullptr, 0, kLate_ms) + static_cast<int>(turns); }

[[gnu::noinline]] int spend_epoll() {
  const int fd = ::epoll_create1(0);
  epoll_event event{};
  const int result = ::epoll_wait(fd, &event, 1, kLate_ms);
  ::close(fd);
  return result;
}

[[gnu::noinline]] int spend_lock() {
  std::thread holder([] {
    ::pthread_mutex_lock(&mutex);
    is_locked = true;
    ::sleep(kLate_s);
    ::pthread_mutex_unlock(&mutex);
  });
  while (!is_locked) ::usleep(1000);
  const int result = ::pthread_mutex_lock(&mutex);
  ::pthread_mutex_unlock(&mutex);
  holder.join();
  return result;
}

[[gnu::noinline]] int spend_stopped() { return ::raise(SIGSTOP); }

[[gnu::noinline]] int step(const char* pastime) {
  constexpr struct NamedPastime {
    const char* name;
    int (*spend)();
  } kAll[] = {{"loop", spend_loop},   {"sleep", spend_sleep}, {"poll", spend_poll},
              {"epoll", spend_epoll}, {"lock", spend_lock},   {"stopped", spend_stopped}};
  int result = -1;
  errno = 0;
  for (const NamedPastime& one : kAll)
    if (std::strcmp(one.name, pastime) == 0) result = one.spend();
  std::printf("result %d, errno %d\n", result, errno);
  return result;
}

int main(int argc, char** argv) {
  rondo_comm_t world = nullptr;
  int rank = 0;
  if (argc != 2 || rondo_init(&world, nullptr, nullptr) != RONDO_OK || rondo_rank(world, &rank) != RONDO_OK)
    return 1;
  double value = 1;
  if (rondo_all_reduce(&value, &value, 1, RONDO_FLOAT64, RONDO_SUM, world, nullptr) != RONDO_OK) return 1;
  if (rank == 1) {
    std::printf("process %d\n", ::getpid());
    std::fflush(stdout);
    step(argv[1]);
  } else if (rondo_all_reduce(&value, &value, 1, RONDO_FLOAT64, RONDO_SUM, world, nullptr) != RONDO_OK) {
    std::printf("%s\n", rondo_last_error(nullptr));
  }
  rondo_destroy(world);
  return 0;
}
