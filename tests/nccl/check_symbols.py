# SPDX-License-Identifier: Apache-2.0
"""check_symbols.py LIBRARY FUNCTIONS.h NVIDIA-LIBRARY...: the symbols that libnccl.so.2 exports."""
import re
import subprocess
import sys
import unittest

from nccl_header import exported

LIBRARY, FUNCTIONS, *OTHERS = sys.argv[1:]

# The exports of NCCL 2.30.7, without the prefix.
NCCL_2_30 = """
AllGather AllReduce AlltoAll Bcast Broadcast CommAbort CommCount CommCuDevice CommDeregister CommDestroy CommFinalize
CommGetAsyncError CommGetUniqueId CommGrow CommInitAll CommInitRank CommInitRankConfig CommInitRankScalable
CommMemStats CommQueryProperties CommRegister CommResume CommRevoke CommShrink CommSplit CommSuspend CommUserRank
CommWindowDeregister CommWindowRegister DevCommCreate DevCommDestroy Gather GetErrorString GetLastError
GetLsaDevicePointer GetLsaMultimemDevicePointer GetMultimemDevicePointer GetPeerDevicePointer GetUniqueId GetVersion
GinBarrierCreateRequirement GinInboxA2ACreateRequirement GinOutboxCreateRequirement GroupEnd GroupSimulateEnd
GroupStart LLA2ACalcSlots LLA2ACreateRequirement LsaBarrierCreateRequirement MemAlloc MemFree ParamBind ParamDumpAll
ParamGet ParamGetAllParameterKeys ParamGetI16 ParamGetI32 ParamGetI64 ParamGetI8 ParamGetParameter ParamGetStr
ParamGetU16 ParamGetU32 ParamGetU64 ParamGetU8 PutSignal Recv RedOpCreatePreMulSum RedOpDestroy Reduce ReduceScatter
ResetDebugInit Scatter Send Signal TeamLsa TeamRail TeamRankToLsa TeamRankToWorld TeamWorld WaitSignal WinGetUserPtr
""".split() + ["ResetDebugInitInternal"]


class Symbols(unittest.TestCase):
    def test_nccl_2_30_whole_and_by_both_names(self):
        self.assertEqual({prefix + name for prefix in ("nccl", "pnccl") for name in NCCL_2_30}, exported(LIBRARY))

    def test_they_are_those_of_the_table(self):
        with open(FUNCTIONS, encoding="utf-8") as file:
            table = re.findall(r"X\([\w \t*]+, (\w+),", file.read())
        self.assertEqual(sorted(table), sorted(NCCL_2_30))

    def test_all_that_other_libraries_of_this_machine_export(self):
        for other in OTHERS:
            self.assertEqual(exported(other) - exported(LIBRARY), set(), other)
        print(f"compared with {', '.join(OTHERS) or 'no other library: there is none here'}")

    def test_it_is_called_as_nccl_is(self):
        dynamic = subprocess.run(["readelf", "-d", LIBRARY], check=True, text=True, capture_output=True).stdout
        self.assertIn("soname: [libnccl.so.2]", dynamic)
        self.assertNotIn("librondo", dynamic)
        self.assertIsNone(re.search(r"R(UN)?PATH", dynamic.replace("Library rpath: [$ORIGIN", "")))


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - wrong} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 0)
