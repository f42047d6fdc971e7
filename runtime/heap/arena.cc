// SPDX-License-Identifier: Apache-2.0
#include "arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "words.h"

namespace rondo::heap {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

void* map_at(std::byte* place, size_t bytes, int protection, int flags, int fd) {
  return ::mmap(place, bytes, protection, flags | MAP_FIXED | MAP_NORESERVE, fd, 0);
}

void reserve_again(std::byte* place, size_t bytes) {
  map_at(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/// A copy takes the block's place. Other threads that write meanwhile do so without the caller's knowledge,
/// and what they write then may be lost, so this is only for lack of anything better.
bool replace_by_copy(std::byte* block, size_t bytes) {
  void* const copy = ::mmap(nullptr, bytes, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return false;
  std::memcpy(copy, block, bytes);
  return ::mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, block) == block;
}

/// Where the administrator wants huge pages for all memory, files in memory need to be advised to have them.
bool wants_huge_pages() {
  char text[64] = {};
  const int fd = ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  return got > 0 && std::strstr(text, "[always]") != nullptr;
}

void punch(int fd, size_t offset, size_t bytes) {
  ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

/// Whether a page, by its word in /proc/self/pagemap, is there and is not the file's.
bool is_own(uint64_t page) {
  constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62, kOfFile = uint64_t{1} << 61;
  return (page & (kPresent | kSwapped)) != 0 && (page & kOfFile) == 0;
}

/// Empties the file, in these granules, where the process has written to pages since, which are its own then.
void punch_behind(int fd, int pagemap, const std::byte* begin, size_t offset, uint32_t granules) {
  constexpr size_t kPageBytes = 4096, kPages = kGranuleBytes / kPageBytes;
  uint64_t words[kPages];
  for (uint32_t granule = 0; granule < granules; ++granule, offset += kGranuleBytes) {
    const auto first = reinterpret_cast<uintptr_t>(begin + offset) / kPageBytes;
    const ssize_t got = ::pread(pagemap, words, sizeof words, static_cast<off_t>(first * sizeof words[0]));
    if (got != sizeof words) return;
    for (size_t page = 0; page < kPages;) {
      size_t end = page;
      while (end < kPages && is_own(words[end])) ++end;
      if (end != page) punch(fd, offset + page * kPageBytes, (end - page) * kPageBytes);
      page = end + 1;
    }
  }
}

}  // namespace

bool advise(std::byte* begin, size_t bytes, int advice) {
  return ::syscall(SYS_madvise, begin, bytes, advice) == 0;
}

bool Arena::make(std::byte* place, size_t size, uint64_t new_number) {
  const size_t granules = size / kGranuleBytes;
  if (!file.make(size, kSeals)) return false;
  void* const notes = ::mmap(nullptr, RunMap::bytes_for(granules), kReadWrite,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const bool is_mapped =
      notes != MAP_FAILED && map_at(place, size, kReadWrite, MAP_SHARED, file.descriptor()) == place;
  if (!is_mapped) {
    if (notes != MAP_FAILED) ::munmap(notes, RunMap::bytes_for(granules));
    file.close();
    return false;
  }
  if (wants_huge_pages()) advise(place, size, MADV_HUGEPAGE);
  advise(place, size, MADV_DONTDUMP);
  map.begin(notes, static_cast<uint32_t>(granules));
  begin = place;
  bytes = size;
  blocks = 0;
  dumped = 0;
  // Pairs with the acquire load in find(): a thread that has a block got it from one that holds the lock
  // anyway.
  std::atomic_ref(number).store(new_number, std::memory_order_release);
  return true;
}

void Arena::dump_to(uint32_t granules) {
  constexpr uint32_t kStep = 64;  // seldom enough
  if (granules <= dumped) return;
  const uint32_t end = std::min((granules + kStep - 1) / kStep * kStep, map.granules());
  advise(at(dumped), (end - dumped) * kGranuleBytes, MADV_DODUMP);
  dumped = end;
}

void Arena::drop() {
  std::atomic_ref(number).store(0);
  reserve_again(begin, bytes);
  file.close();
  ::munmap(map.notes(), RunMap::bytes_for(map.granules()));
  bytes = 0;
}

bool Arena::empty(uint32_t first, uint32_t granules) const {
  return advise(at(first), granules * kGranuleBytes, is_lent() ? MADV_REMOVE : MADV_DONTNEED);
}

void Arena::empty_file(uint32_t first, uint32_t granules) const {
  const int fd = file.descriptor();
  if (fd >= 0) punch(fd, first * kGranuleBytes, granules * kGranuleBytes);
}

void Arena::tidy_file(bool blocks_too) const {
  const int fd = file.descriptor();
  const int pages = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  for (uint32_t first = 0; first < map.granules(); first += map.run_length(first)) {
    if (fd < 0 || pages < 0) break;
    if (map.length(first) == 0)
      empty_file(first, map.run_length(first));
    else if (blocks_too)
      punch_behind(fd, pages, begin, first * kGranuleBytes, map.length(first));
  }
  if (pages >= 0) ::close(pages);
}

void Arena::keep_private() {
  // Before the memory changes hands: a thread that has written to it since, and then looks, finds it not
  // lent.
  std::atomic_ref(number).store(0);
  const int fd = file.descriptor();
  if (fd >= 0) {
    if (map_at(begin, bytes, kReadWrite, MAP_PRIVATE, fd) == begin) {
      advise(at(dumped), (map.granules() - dumped) * kGranuleBytes, MADV_DONTDUMP);
      return;
    }
    die("the kernel does not let memory be kept apart from a forked process's: more than vm.max_map_count?");
  }
  for (uint32_t at_granule = 0; at_granule < map.granules(); at_granule += map.run_length(at_granule)) {
    const uint32_t length = map.length(at_granule);
    if (length != 0 && !replace_by_copy(at(at_granule), length * kGranuleBytes))
      die("there is no memory to keep blocks apart from a forked process's, as the program has closed their "
          "file");
  }
}

std::byte* reserve(size_t bytes, size_t alignment) {
  void* const all =
      ::mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(all);
  return static_cast<std::byte*>(all) + ((0 - address) & (alignment - 1));
}

}  // namespace rondo::heap
