// SPDX-License-Identifier: Apache-2.0
/* Calls every function of NVIDIA's own nccl.h once, in C99, with host pointers and the NULL stream, as a
 * program unaware of Rondo would. check_header.py reports functions missing here. One thread drives two
 * ranks. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 2
#define COUNT 5

static int calls = 0;

static void expect_result(ncclResult_t got, ncclResult_t expected, const char* call, int line) {
  ++calls;
  if (got == expected) return;
  fprintf(stderr, "line %d: %s: %d (%s), not %d: %s\n", line, call, got, ncclGetErrorString(got), expected,
          ncclGetLastError(NULL));
  exit(1);
}

static void expect_true(int condition, const char* text, int line) {
  if (condition) return;
  fprintf(stderr, "line %d: not so: %s\n", line, text);
  exit(1);
}

#define DONE(call) expect_result(call, ncclSuccess, #call, __LINE__)
#define FAILS(call, result) expect_result(call, result, #call, __LINE__)
#define TRUE(condition) expect_true(condition, #condition, __LINE__)
#define EACH(rank) for (int rank = 0; rank < RANKS; ++rank)

static ncclComm_t comms[RANKS];
static float mine[RANKS][RANKS * COUNT];
static float got[RANKS][RANKS * COUNT];

/* Rank r's value at i is 100 r + i. */
static void fill(void) {
  EACH(r) {
    for (int i = 0; i < RANKS * COUNT; ++i) mine[r][i] = (float)(100 * r + i);
    memset(got[r], 0, sizeof got[r]);
  }
}

#define TOGETHER(call)      \
  do {                      \
    fill();                 \
    DONE(ncclGroupStart()); \
    EACH(r) DONE(call);     \
    DONE(ncclGroupEnd());   \
  } while (0)

static void start(void) {
  ncclUniqueId id;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  int version = 0;
  DONE(ncclGetVersion(&version));
  TRUE(version >= 21800);
  DONE(ncclGetUniqueId(&id));
  DONE(ncclGroupStart());
  EACH(r) DONE(ncclCommInitRank(&comms[r], RANKS, id, r));
  DONE(ncclGroupEnd());
  EACH(r) DONE(ncclCommDestroy(comms[r]));
  DONE(ncclGetUniqueId(&id));
  DONE(ncclGroupStart());
  EACH(r) DONE(ncclCommInitRankScalable(&comms[r], RANKS, r, 1, &id, &config));
  DONE(ncclGroupEnd());
  EACH(r) DONE(ncclCommAbort(comms[r]));
  DONE(ncclGetUniqueId(&id));
  DONE(ncclCommInitRankConfig(&comms[0], 1, id, 0, &config));
  DONE(ncclCommFinalize(comms[0]));
  DONE(ncclCommDestroy(comms[0]));
  DONE(ncclCommInitAll(comms, RANKS, NULL));
}

static void ask(void) {
  EACH(r) {
    int value = -1;
    ncclResult_t state = ncclInProgress;
    DONE(ncclCommCount(comms[r], &value));
    TRUE(value == RANKS);
    DONE(ncclCommUserRank(comms[r], &value));
    TRUE(value == r);
    DONE(ncclCommCuDevice(comms[r], &value));
    TRUE(value == -1);
    DONE(ncclCommGetAsyncError(comms[r], &state));
    TRUE(state == ncclSuccess);
  }
}

static void reduce(void) {
  TOGETHER(ncclAllReduce(mine[r], got[r], COUNT, ncclFloat, ncclSum, comms[r], NULL));
  EACH(r) TRUE(got[r][4] == 108);
  TOGETHER(ncclReduce(mine[r], got[r], COUNT, ncclFloat, ncclMax, 1, comms[r], NULL));
  TRUE(got[1][4] == 104 && got[0][4] == 0);
  TOGETHER(ncclReduceScatter(mine[r], got[r], COUNT, ncclFloat, ncclAvg, comms[r], NULL));
  TRUE(got[0][0] == 50 && got[1][0] == 55);
}

static void multiply(void) {
  float half = 0.5f;
  ncclRedOp_t ops[RANKS];
  EACH(r) DONE(ncclRedOpCreatePreMulSum(&ops[r], &half, ncclFloat, ncclScalarHostImmediate, comms[r]));
  TOGETHER(ncclAllReduce(mine[r], got[r], COUNT, ncclFloat, ops[r], comms[r], NULL));
  EACH(r) TRUE(got[r][4] == 54);
  EACH(r) DONE(ncclRedOpDestroy(ops[r], comms[r]));
}

static void move(void) {
  TOGETHER(ncclBroadcast(mine[r], got[r], COUNT, ncclFloat, 1, comms[r], NULL));
  EACH(r) TRUE(got[r][1] == 101);
  TOGETHER(ncclBcast(mine[r], COUNT, ncclFloat, 1, comms[r], NULL));
  EACH(r) TRUE(mine[r][1] == 101);
  TOGETHER(ncclAllGather(mine[r], got[r], COUNT, ncclFloat, comms[r], NULL));
  EACH(r) TRUE(got[r][1] == 1 && got[r][COUNT + 1] == 101);
  fill();
  DONE(ncclGroupStart());
  EACH(r) DONE(ncclSend(mine[r], COUNT, ncclFloat, 1 - r, comms[r], NULL));
  EACH(r) DONE(ncclRecv(got[r], COUNT, ncclFloat, 1 - r, comms[r], NULL));
  DONE(ncclGroupEnd());
  TRUE(got[0][1] == 101 && got[1][1] == 1);
#if NCCL_VERSION_CODE >= 22800
  TOGETHER(ncclAlltoAll(mine[r], got[r], COUNT, ncclFloat, comms[r], NULL));
  TRUE(got[0][COUNT] == 100 && got[1][0] == COUNT);
  TOGETHER(ncclGather(mine[r], got[r], COUNT, ncclFloat, 0, comms[r], NULL));
  TRUE(got[0][COUNT] == 100 && got[1][COUNT] == 0);
  TOGETHER(ncclScatter(mine[r], got[r], COUNT, ncclFloat, 0, comms[r], NULL));
  TRUE(got[0][0] == 0 && got[1][0] == COUNT);
#endif
}

static void use_memory(void) {
  void* memory = NULL;
  void* handle = NULL;
  DONE(ncclMemAlloc(&memory, 4096));
  DONE(ncclCommRegister(comms[0], memory, 4096, &handle));
  DONE(ncclCommDeregister(comms[0], handle));
#if NCCL_VERSION_CODE >= 22700
  ncclWindow_t window = (ncclWindow_t)memory;
  DONE(ncclCommWindowRegister(comms[0], memory, 4096, &window, NCCL_WIN_DEFAULT));
  TRUE(window == NULL);
  DONE(ncclCommWindowDeregister(comms[0], window));
#endif
  DONE(ncclMemFree(memory));
}

static void divide(void) {
  ncclComm_t split[RANKS];
  DONE(ncclGroupStart());
  EACH(r) DONE(ncclCommSplit(comms[r], r == 0 ? 0 : NCCL_SPLIT_NOCOLOR, 0, &split[r], NULL));
  DONE(ncclGroupEnd());
  TRUE(split[0] != NULL && split[1] == NULL);
  DONE(ncclCommDestroy(split[0]));
#if NCCL_VERSION_CODE >= 22700
  int excluded = 1;
  ncclComm_t alone;
  DONE(ncclCommShrink(comms[0], &excluded, 1, &alone, NULL, NCCL_SHRINK_DEFAULT));
  DONE(ncclCommDestroy(alone));
#endif
}

static void fail(void) {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  DONE(ncclGroupStart());
  DONE(ncclGroupSimulateEnd(&info));
  TRUE(info.estimatedTime == NCCL_UNDEF_FLOAT);
  FAILS(ncclAllReduce(mine, got, 1, ncclNumTypes, ncclSum, comms[0], NULL), ncclInvalidArgument);
  TRUE(strstr(ncclGetLastError(comms[0]), "datatype is") != NULL);
}

#if NCCL_VERSION_CODE >= 22900
/* Functions newer than the version in most toolkits. */
static void newer(void) {
  ncclUniqueId id;
  ncclComm_t grown[RANKS];
  ncclWaitSignalDesc_t signal = {1, 0, 0, 0};
  void* pointer = NULL;
  uint64_t bytes = 1;
  DONE(ncclCommGetUniqueId(comms[0], &id));
  DONE(ncclGroupStart());
  EACH(r) DONE(ncclCommGrow(comms[r], RANKS, r == 0 ? &id : NULL, -1, &grown[r], NULL));
  DONE(ncclGroupEnd());
  EACH(r) DONE(ncclCommDestroy(grown[r]));
  DONE(ncclCommMemStats(comms[0], ncclStatGpuMemTotal, &bytes));
  TRUE(bytes == 0);
  FAILS(ncclCommSuspend(comms[0], NCCL_SUSPEND_MEM), ncclInvalidUsage);
  FAILS(ncclCommResume(comms[0]), ncclInvalidUsage);
  FAILS(ncclWinGetUserPtr(comms[0], NULL, &pointer), ncclInvalidArgument);
  FAILS(ncclPutSignal(mine, 1, ncclFloat, 0, NULL, 0, 0, 0, 0, comms[0], NULL), ncclInvalidUsage);
  FAILS(ncclSignal(0, 0, 0, 0, comms[0], NULL), ncclInvalidUsage);
  FAILS(ncclWaitSignal(1, &signal, comms[0], NULL), ncclInvalidUsage);
}
#endif

#if NCCL_VERSION_CODE >= 23004
static void read_parameters(void) {
  ncclParamHandle_t handle = NULL;
  int8_t i8 = 0;
  int16_t i16 = 0;
  int32_t i32 = 0;
  int64_t i64 = 0;
  uint8_t u8 = 0;
  uint16_t u16 = 0;
  uint32_t u32 = 0;
  uint64_t u64 = 0;
  const char* text = NULL;
  const char** keys = NULL;
  char raw[8];
  int length = 0;
  DONE(ncclParamBind(&handle, "NCCL_MAX_NCHANNELS"));
  DONE(ncclParamGetI8(handle, &i8));
  DONE(ncclParamGetI16(handle, &i16));
  DONE(ncclParamGetI32(handle, &i32));
  DONE(ncclParamGetI64(handle, &i64));
  DONE(ncclParamGetU8(handle, &u8));
  DONE(ncclParamGetU16(handle, &u16));
  DONE(ncclParamGetU32(handle, &u32));
  DONE(ncclParamGetU64(handle, &u64));
  TRUE(i8 == 7 && i16 == 7 && i32 == 7 && i64 == 7 && u8 == 7 && u16 == 7 && u32 == 7 && u64 == 7);
  DONE(ncclParamGetStr(handle, &text));
  TRUE(strcmp(text, "7") == 0);
  DONE(ncclParamGet(handle, raw, sizeof raw, &length));
  TRUE(length == 1 && raw[0] == '7');
  DONE(ncclParamGetParameter("NCCL_MAX_NCHANNELS", &text, &length));
  TRUE(strcmp(text, "7") == 0);
  DONE(ncclParamGetAllParameterKeys(&keys, &length));
  TRUE(length > 10);
  ncclParamDumpAll();
}
#endif

int main(void) {
  start();
  ask();
  reduce();
  multiply();
  move();
  use_memory();
  divide();
  fail();
#if NCCL_VERSION_CODE >= 22900
  newer();
#endif
#if NCCL_VERSION_CODE >= 23004
  read_parameters();
#endif
#if NCCL_VERSION_CODE >= 22809
  DONE(ncclCommRevoke(comms[0], NCCL_REVOKE_DEFAULT));
#endif
#if NCCL_VERSION_CODE < 23000 /* later headers may declare a macro in its place */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  ncclResetDebugInit();
#endif
  EACH(r) DONE(ncclCommDestroy(comms[r]));
  printf("%d calls\n", calls);
  return 0;
}
