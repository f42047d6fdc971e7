// SPDX-License-Identifier: Apache-2.0
// ErrorKind: what a user acts on differently. A row: the kind, the number of its id (R0203), and the code of
// its errors unless a site gives another one. Below 100 are the codes themselves, the kinds of errors whose
// text says all that there is to say.
//
// Every row has one in docs/troubleshooting.md, docs/infiniband.md or docs/plugin.md, of which rondo-explain
// is made, and a test holds the two together. A number never gets another meaning.
#pragma once

#include "base/status.h"

#define RONDO_ERROR_KINDS(X)                    \
  /* Ranks do not meet */                       \
  X(RanksDidNotJoin, 101, Timeout)              \
  X(RankZeroNotFound, 102, Timeout)             \
  X(LauncherIncomplete, 103, InvalidArgument)   \
  X(SecretMissing, 104, InvalidUsage)           \
  X(SecretDiffers, 105, InvalidUsage)           \
  X(VersionDiffers, 106, InvalidUsage)          \
  X(RankCountsDiffer, 107, Mismatch)            \
  X(RankTwice, 108, InvalidArgument)            \
  X(InterfaceUnknown, 109, InvalidArgument)     \
  X(OnlyLoopback, 110, SystemError)             \
  X(NoTransport, 111, SystemError)              \
  X(NeighboursSilent, 112, Timeout)             \
  X(TransportCannotReach, 113, InvalidUsage)    \
  X(SecretUnreadable, 114, InvalidArgument)     \
  X(MethodInvalid, 115, InvalidArgument)        \
  X(UniqueIdInvalid, 116, InvalidArgument)      \
  X(IdFileRefused, 117, InvalidArgument)        \
  X(HostUnresolved, 118, InvalidArgument)       \
  X(CannotListen, 119, SystemError)             \
  X(SecretTooShort, 120, SystemError)           \
  X(MeetingPlaceMissing, 121, InvalidArgument)  \
  X(CannotConnect, 122, SystemError)            \
  /* A call does not end */                     \
  X(RankIsLate, 201, Timeout)                   \
  X(RankIsSilent, 202, Timeout)                 \
  X(WaitCircle, 203, Timeout)                   \
  X(HostUnreachable, 204, RemoteError)          \
  X(RankHasLeft, 205, RemoteError)              \
  X(CallOverdue, 206, Timeout)                  \
  X(StreamStalled, 207, Timeout)                \
  X(FinalizeOverdue, 208, Timeout)              \
  X(MemoryNotClosed, 209, Timeout)              \
  X(ShrinkOverdue, 210, Timeout)                \
  /* Ranks disagree */                          \
  X(RanksDisagree, 301, Mismatch)               \
  X(SettingsDiffer, 302, Mismatch)              \
  X(MessageUnreceived, 303, Mismatch)           \
  X(FinalizedInstead, 304, Mismatch)            \
  X(LengthsDiffer, 305, Mismatch)               \
  X(MessageUnfinished, 306, InvalidUsage)       \
  X(CommunicatorsDiffer, 307, Mismatch)         \
  /* A rank is gone */                          \
  X(RankDied, 401, RemoteError)                 \
  X(RankDiedAtStart, 402, RemoteError)          \
  X(OneMoreGone, 403, RemoteError)              \
  X(RankAborted, 404, Aborted)                  \
  X(ConnectionBroken, 405, RemoteError)         \
  X(MessageBroken, 406, RemoteError)            \
  X(MessageCancelled, 407, RemoteError)         \
  X(SharingFailed, 408, RemoteError)            \
  X(RankFailedInInit, 409, RemoteError)         \
  /* Limits of the system */                    \
  X(TooManyDescriptors, 501, SystemError)       \
  X(TooManyFilesOfHost, 502, SystemError)       \
  X(NoMemoryOfSystem, 503, SystemError)         \
  X(TooManyThreads, 504, SystemError)           \
  X(DiskFull, 505, SystemError)                 \
  X(PermissionDenied, 506, SystemError)         \
  /* Arguments and the order of calls */        \
  X(NullArgument, 601, InvalidArgument)         \
  X(RankOutOfRange, 602, InvalidArgument)       \
  X(CountTooLarge, 603, InvalidArgument)        \
  X(NoSuchHandle, 604, InvalidArgument)         \
  X(BuffersOverlap, 605, InvalidArgument)       \
  X(OpNotOfType, 606, InvalidArgument)          \
  X(SettingInvalid, 607, InvalidArgument)       \
  X(ConfigInvalid, 608, InvalidArgument)        \
  X(CommFinished, 609, InvalidUsage)            \
  X(GroupUsage, 610, InvalidUsage)              \
  X(NameUnknown, 611, InvalidArgument)          \
  X(NotRegistered, 612, InvalidArgument)        \
  X(MemoryFreed, 613, InvalidUsage)             \
  X(AfterFork, 614, InvalidUsage)               \
  X(RuleInvalid, 615, InvalidArgument)          \
  X(FileNameInvalid, 616, InvalidArgument)      \
  X(StructSizeUnknown, 617, InvalidArgument)    \
  X(RequestUsage, 618, InvalidUsage)            \
  /* GPUs */                                    \
  X(BuiltWithoutCuda, 701, Unsupported)         \
  X(NoCudaDriver, 702, Unsupported)             \
  X(CudaDriverOld, 703, Unsupported)            \
  X(RankWithoutGpu, 704, InvalidArgument)       \
  X(MemoryOutOfReach, 705, InvalidArgument)     \
  X(MemoryOfOtherGpu, 706, InvalidArgument)     \
  X(GpuWasReset, 707, SystemError)              \
  X(CudaFailed, 708, SystemError)               \
  X(PeerWithoutGpu, 709, Unsupported)           \
  X(GpuIsShared, 710, Unsupported)              \
  X(CapturesDiffer, 711, InvalidUsage)          \
  X(KernelsInOneGraph, 712, InvalidUsage)       \
  X(TooManyBlocks, 713, Unsupported)            \
  X(StreamInvalid, 714, InvalidArgument)        \
  X(DeviceInvalid, 715, InvalidArgument)        \
  X(GpuMemoryNotShared, 716, Unsupported)       \
  X(HostOpOnGpu, 717, Unsupported)              \
  X(NotAligned, 718, InvalidArgument)           \
  X(GpuOutOfMemory, 719, OutOfMemory)           \
  /* What was requested cannot be done */       \
  X(AlgorithmCannot, 801, Unsupported)          \
  X(NotReproducible, 802, Unsupported)          \
  X(ProtocolCannot, 803, Unsupported)           \
  X(SlotsTooSmall, 804, Unsupported)            \
  X(NoSuchPlan, 805, Unsupported)               \
  X(MachineIsNotRanks, 806, InvalidUsage)       \
  X(TooLargeToVerify, 807, Unsupported)         \
  X(TooLargeToPlan, 808, Unsupported)           \
  X(NeedsOutput, 809, InvalidUsage)             \
  X(GpusNotJoined, 810, Unsupported)            \
  /* Files */                                   \
  X(FileUnreadable, 901, SystemError)           \
  X(FileUnwritable, 902, SystemError)           \
  X(FileMalformed, 903, InvalidArgument)        \
  X(FileTooLarge, 904, InvalidArgument)         \
  X(ProgramIsWrong, 905, InvalidArgument)       \
  X(CostsNotKept, 906, InvalidArgument)         \
  X(MachineTooLarge, 907, InvalidArgument)      \
  X(FormatCannot, 908, Unsupported)             \
  /* InfiniBand and RoCE: docs/infiniband.md */ \
  X(VerbsLibraryMissing, 1001, Unsupported)     \
  X(VerbsLibraryOld, 1002, Unsupported)         \
  X(NoVerbsDevice, 1003, Unsupported)           \
  X(NoVerbsPort, 1004, Unsupported)             \
  X(LockedMemoryLimit, 1005, InvalidUsage)      \
  X(VerbsBytesUsed, 1006, InvalidUsage)         \
  X(NoGpuDirect, 1007, Unsupported)             \
  X(NoPortReaches, 1008, Unsupported)           \
  X(NoPathCarries, 1009, Unsupported)           \
  X(QueuePairFailed, 1010, RemoteError)         \
  X(LinkLost, 1011, RemoteError)                \
  X(VerbsDeviceFailed, 1012, SystemError)       \
  X(PartitionMissing, 1013, InvalidArgument)    \
  X(VerbsSettingsDiffer, 1014, Mismatch)        \
  X(PeerRefusesVerbs, 1015, Unsupported)        \
  X(PortsExcluded, 1016, InvalidArgument)       \
  X(GidMissing, 1017, InvalidArgument)          \
  X(NoPagingOnDemand, 1018, Unsupported)        \
  /* Network plugins: docs/plugin.md */         \
  X(PluginNotLoaded, 1101, Unsupported)         \
  X(PluginOld, 1102, Unsupported)               \
  X(NoPluginTable, 1103, Unsupported)           \
  X(PluginIncomplete, 1104, Unsupported)        \
  X(PluginFailed, 1105, SystemError)            \
  X(PluginWithoutDevice, 1106, Unsupported)     \
  X(PluginsDiffer, 1107, Unsupported)           \
  X(PluginSlotTooLarge, 1108, Unsupported)      \
  X(PluginNotConnected, 1109, Unsupported)      \
  X(PeerRefusesPlugin, 1110, Unsupported)       \
  X(NoPluginNamed, 1111, Unsupported)

namespace rondo {

enum class ErrorKind : uint16_t {
#define RONDO_ERROR_KIND(name, number, code) name = number,
  RONDO_ERROR_KINDS(RONDO_ERROR_KIND)
#undef RONDO_ERROR_KIND
};

}  // namespace rondo
