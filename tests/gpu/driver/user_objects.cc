// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "graph.h"
#include "user_object.h"

using namespace rondo::standin;

CUuserObject_st::~CUuserObject_st() {
  std::thread([with = destroy, of = object] {
    in_host_function() = true;
    with(of);
  }).detach();
}

namespace {

CUresult drop_user_references(CUuserObject object, unsigned count) {
  STANDIN_REQUIRE(count != 0 && count <= object->user_references, CUDA_ERROR_INVALID_VALUE);
  object->user_references -= count;
  if (object->user_references == 0) driver().user_objects.remove(object);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuUserObjectCreate(CUuserObject* object, void* ptr, CUhostFn destroy, unsigned references,
                            unsigned flags) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(object != nullptr && destroy != nullptr && references != 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, CUDA_ERROR_INVALID_VALUE);
    auto made = std::make_shared<CUuserObject_st>(ptr, destroy);
    made->user_references = references;
    *object = driver().user_objects.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(driver().user_objects.find(object) != nullptr, CUDA_ERROR_INVALID_VALUE);
    object->user_references += count;
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(driver().user_objects.find(object) != nullptr, CUDA_ERROR_INVALID_VALUE);
    return drop_user_references(object, count);
  });
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
  return call(__func__, [&](Lock&) {
    const auto held = driver().user_objects.find(object);
    const auto by = driver().graphs.find(graph);
    STANDIN_REQUIRE(held != nullptr && by != nullptr, CUDA_ERROR_INVALID_VALUE);
    if ((flags & CU_GRAPH_USER_OBJECT_MOVE) != 0) STANDIN_TRY(drop_user_references(object, count));
    by->user_objects.insert(by->user_objects.end(), count, held);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
  return call(__func__, [&](Lock&) {
    const auto by = driver().graphs.find(graph);
    STANDIN_REQUIRE(by != nullptr, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; ++i) {
      const auto found = std::find_if(by->user_objects.begin(), by->user_objects.end(),
                                      [&](const auto& held) { return held.get() == object; });
      STANDIN_REQUIRE(found != by->user_objects.end(), CUDA_ERROR_INVALID_VALUE);
      by->user_objects.erase(found);
    }
    return CUDA_SUCCESS;
  });
}
