// SPDX-License-Identifier: Apache-2.0
#include "next_malloc.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace rondo::heap {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;
constexpr size_t kAlignment = 16;

alignas(kAlignment) constinit std::byte buffer[kBufferBytes] = {};
constinit std::atomic<size_t> used{0};
constinit std::atomic<bool> is_free_here{false};

/// Each piece follows a word with its size.
void* from_buffer(size_t bytes) {
  const size_t needed = kAlignment + (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t at = bytes < kBufferBytes ? used.fetch_add(needed) : kBufferBytes;
  if (at + needed > kBufferBytes) die("the program needs much memory before its allocator can be found");
  std::memcpy(buffer + at, &bytes, sizeof bytes);
  return buffer + at + kAlignment;
}

void* zeros_from_buffer(size_t count, size_t bytes) { return from_buffer(count * bytes); }

void* resized_in_buffer(void* old, size_t bytes) {
  void* const made = from_buffer(bytes);
  if (old != nullptr) std::memcpy(made, old, bytes < bytes_in_buffer(old) ? bytes : bytes_in_buffer(old));
  return made;
}

int aligned_in_buffer(void** made, size_t, size_t) {
  *made = nullptr;
  return ENOMEM;
}

void* none_aligned(size_t, size_t) { return nullptr; }
void* none(size_t) { return nullptr; }

constexpr NextMalloc kBuffer = {
    .malloc = from_buffer,
    .calloc = zeros_from_buffer,
    .realloc = resized_in_buffer,
    .free = [](void*) { is_free_here.store(true); },
    .posix_memalign = aligned_in_buffer,
    .aligned_alloc = none_aligned,
    .memalign = none_aligned,
    .valloc = none,
    .pvalloc = none,
    .malloc_usable_size = [](void*) -> size_t { return 0; },
    .malloc_trim = [](size_t) { return 0; },
    .madvise = [](void*, size_t, int) { return 0; },
    .mprotect = [](void*, size_t, int) { return -1; },
    .mlock = [](const void*, size_t) { return -1; },
    .pthread_attr_setstack = [](pthread_attr_t*, void*, size_t) { return ENOMEM; },
};

enum class Search : int { Due, Running, Done };
constinit std::atomic<Search> search{Search::Due};
constinit NextMalloc found = {};
constinit bool charge = false;

template <class Function>
void find(Function& function, const char* name, Function otherwise) {
  void* const address = ::dlsym(RTLD_NEXT, name);
  function = address != nullptr ? reinterpret_cast<Function>(address) : otherwise;
}

/// Whether a function is this library's, or is called by an entry in the program: one that is linked for a
/// fixed address has such an entry for each function whose address it takes, and this is the address.
bool may_be_of_this_library(const void* function) {
  Dl_info theirs{}, ours{};
  void* symbol = nullptr;
  if (::dladdr1(function, &theirs, &symbol, RTLD_DL_SYMENT) == 0 || ::dladdr(&found, &ours) == 0)
    return false;
  return theirs.dli_fbase == ours.dli_fbase ||
         (symbol != nullptr && static_cast<const ElfW(Sym)*>(symbol)->st_shndx == SHN_UNDEF);
}

bool find_charge() {
  if (!may_be_of_this_library(::dlsym(RTLD_DEFAULT, "malloc"))) return false;
  ::free(nullptr);  // comes to the buffer, if it comes here
  return is_free_here.load();
}

void find_all() {
  charge = find_charge();
  find(found.malloc, "malloc", {});
  find(found.calloc, "calloc", {});
  find(found.realloc, "realloc", {});
  find(found.free, "free", {});
  if (found.malloc == nullptr || found.calloc == nullptr || found.realloc == nullptr || found.free == nullptr)
    die("the program has no malloc() besides");
  find(found.posix_memalign, "posix_memalign", kBuffer.posix_memalign);
  find(found.aligned_alloc, "aligned_alloc", kBuffer.aligned_alloc);
  find(found.memalign, "memalign", kBuffer.memalign);
  find(found.valloc, "valloc", kBuffer.valloc);
  find(found.pvalloc, "pvalloc", kBuffer.pvalloc);
  find(found.malloc_usable_size, "malloc_usable_size", kBuffer.malloc_usable_size);
  find(found.malloc_trim, "malloc_trim", kBuffer.malloc_trim);
  find(found.madvise, "madvise", kBuffer.madvise);
  find(found.mprotect, "mprotect", kBuffer.mprotect);
  find(found.mlock, "mlock", kBuffer.mlock);
  find(found.pthread_attr_setstack, "pthread_attr_setstack", kBuffer.pthread_attr_setstack);
}

}  // namespace

const NextMalloc& next_malloc() {
  // Pairs with the release store below.
  if (search.load(std::memory_order_acquire) == Search::Done) return found;
  Search due = Search::Due;
  if (!search.compare_exchange_strong(due, Search::Running)) return due == Search::Done ? found : kBuffer;
  const int error = errno;
  find_all();
  errno = error;
  search.store(Search::Done, std::memory_order_release);
  return found;
}

bool is_in_charge() {
  next_malloc();
  return charge;
}

/// It was preloaded for their sake.
Importance importance_of_refusal() { return Importance::Warning; }

bool is_of_buffer(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(buffer) < kBufferBytes;
}

size_t bytes_in_buffer(const void* pointer) {
  size_t bytes = 0;
  std::memcpy(&bytes, static_cast<const std::byte*>(pointer) - kAlignment, sizeof bytes);
  return bytes;
}

}  // namespace rondo::heap
