// SPDX-License-Identifier: Apache-2.0
#include "host_kernels.h"

#include <array>

#include "blocks.h"
#include "compare.h"
#include "kernels.h"
#include "stamps.h"
#include "ticket.h"

namespace rondo::device {
namespace {

/// Runs on one thread: lanes of a fold need no barrier, so more threads would test nothing.
void run_fold_list(const void* argument, uint32_t /*blocks*/, uint32_t /*threads*/) {
  const auto& list = *static_cast<const FoldList*>(argument);
  BlockMeeting alone(1);
  Block block(alone, 0);
  std::array<void*, FoldList::kMaxPointers> shared{};
  void* const* const pointers = pass(list, 0, block, shared.data());
  if (pointers != nullptr) fold_all(list, pointers, {0, 1});
}

constexpr uint32_t kMaxHostThreads = 2;  // per block

void run_execute(const void* argument, uint32_t blocks, uint32_t threads) {
  Blocks all;
  all.add(0, threads < kMaxHostThreads ? threads : kMaxHostThreads, *static_cast<const CallList*>(argument),
          blocks);
  all.run();
}

void run_compare(const void* argument, uint32_t /*blocks*/, uint32_t /*threads*/) {
  compare(*static_cast<const Comparison*>(argument), 0, 1);
}

void run_ticket(const void* argument, uint32_t /*blocks*/, uint32_t /*threads*/) {
  draw(*static_cast<const Ticket*>(argument));
}

constexpr std::array kKernels = {
    HostKernel{kFoldListKernel, sizeof(FoldList), run_fold_list},
    HostKernel{kExecuteKernel, sizeof(CallList), run_execute},
    HostKernel{kTicketKernel, sizeof(Ticket), run_ticket},
    HostKernel{kCompareKernel, sizeof(Comparison), run_compare},
};

}  // namespace

std::span<const HostKernel> host_kernels() { return kKernels; }

}  // namespace rondo::device
