// SPDX-License-Identifier: Apache-2.0
#include "start.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "next_malloc.h"
#include "state.h"
#include "words.h"

namespace rondo::heap {
namespace {

constexpr size_t kUsualFrom = size_t{256} << 10;
constexpr size_t kPageBytes = 4096;

size_t wanted_from() {
  const char* const text = std::getenv("RONDO_HEAP_FROM");
  if (text == nullptr || *text == '\0') return kUsualFrom;
  size_t bytes = 0;
  if (read_size(text, bytes) && bytes >= kGranuleBytes) return bytes;
  Sentence sentence;
  sentence << "RONDO_HEAP_FROM is '" << text
           << "': it must be a number of bytes from 64K on, for example 256K or 1M. "
           << "It is taken for 256K";
  say(Importance::Warning, sentence.text());
  return kUsualFrom;
}

/// Whether the kernel refuses memory that it may not be able to provide: it would end the program where a
/// shared page cannot be provided, while malloc() can say so.
bool never_overcommits() {
  char text[1] = {};
  const int fd = ::open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, text, 1);
  ::close(fd);
  return got == 1 && text[0] == '2';
}

/// RLIMIT_AS counts what is reserved, RLIMIT_DATA the whole of each arena once a fork has ended its lending.
bool is_memory_limited() {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

/// Null if the heap can serve.
const char* obstacle() {
  if (::sysconf(_SC_PAGESIZE) != static_cast<long>(kPageBytes)) return "pages do not have 4096 bytes";
  if (!is_in_charge()) return "the program has another malloc() that comes first";
  if (is_memory_limited()) return "the process's address space or data is limited (ulimit -v, ulimit -d)";
  if (never_overcommits()) return "vm.overcommit_memory is 2";
  state.max_block = static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * kPageBytes;
  std::byte* const region = reserve(kRegionBytes, kArenaBytes);
  if (region == nullptr) return "the kernel gives no address space";
  OwnFile trial;
  if (!trial.make(kArenaBytes, 0))
    return "the kernel makes no files in memory (memfd_create), or no large ones";
  trial.close();
  if (!watch_forks()) return "forks cannot be noticed";
  for (uint32_t slot = 0; slot < kMaxArenas; ++slot) state.arena_of[slot] = static_cast<uint16_t>(slot);
  state.region.store(region);
  return nullptr;
}

/// Under the lock.
HeapState::Readiness start() {
  if (::getauxval(AT_SECURE) != 0) return HeapState::Readiness::Off;
  state.from.store(wanted_from());
  const char* const why_not = obstacle();
  if (why_not == nullptr) return HeapState::Readiness::On;
  say(importance_of_refusal(), "large blocks are those of the usual malloc(): ", why_not);
  return HeapState::Readiness::Off;
}

}  // namespace

size_t smallest_block() {
  const size_t from = state.from.load(std::memory_order_relaxed);
  return from != 0 ? from : kGranuleBytes;
}

bool is_on() {
  const HeapState::Readiness known = state.readiness.load(std::memory_order_acquire);
  if (known != HeapState::Readiness::Unknown) return known == HeapState::Readiness::On;
  if (state.is_forking_here()) return false;
  next_malloc();  // not under the lock, as it takes the dynamic linker's
  const int error = errno;
  const HeapLock lock;
  if (state.readiness.load() == HeapState::Readiness::Unknown) state.readiness.store(start());
  errno = error;
  return state.readiness.load() == HeapState::Readiness::On;
}

}  // namespace rondo::heap
