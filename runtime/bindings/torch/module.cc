// SPDX-License-Identifier: Apache-2.0
// The Python module rondo._torch_2_15, or what else the build calls it after its torch.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>

#include "backend.h"
#include "failures.h"
#include "lent_tensors.h"

namespace rondo::torch_binding {
namespace {

using Seconds = std::chrono::duration<float>;

c10::intrusive_ptr<RondoBackend> create(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                        std::chrono::milliseconds timeout, const std::string& group,
                                        std::vector<int64_t> global_ranks) {
  const py::gil_scoped_release released;
  return c10::make_intrusive<RondoBackend>(store, rank, size, timeout, group, std::move(global_ranks));
}

/// A subclass of DistBackendError, so that handlers of that catch it too.
void define_mismatch(py::module_& module) {
  const py::object base = py::module_::import("torch.distributed").attr("DistBackendError");
  // Exceptions may still be thrown while the interpreter shuts down.
  static PyObject* type = PyErr_NewExceptionWithDoc("rondo.CollectiveMismatch",
                                                    "Ranks disagree about a call; the text names both calls.",
                                                    base.ptr(), nullptr);
  module.attr("CollectiveMismatch") = py::handle(type);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const CollectiveMismatch& mismatch) {
      PyErr_SetString(type, mismatch.what_without_backtrace());
    }
  });
}

}  // namespace

PYBIND11_MODULE(RONDO_TORCH_MODULE, module) {
  py::module_::import("torch.distributed");
  define_mismatch(module);
  py::class_<RondoBackend, c10::intrusive_ptr<RondoBackend>, c10d::Backend> backend(module,
                                                                                    "ProcessGroupRondo");
  backend
      .def(py::init(&create), py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout"),
           py::arg("group"), py::arg("global_ranks") = std::vector<int64_t>())
      .def("shares_memory", &RondoBackend::shares_memory)
      // torch calls it at ranks that are not in the new group; there is nothing to do there.
      .def("perform_nocolor_split", [](RondoBackend&, const py::object&) {});
  // Before 2.14 split_group() looks for options to pass on; without any it uses the copy from
  // getBackendOptions().
  if (!py::hasattr(backend, "options"))
    backend.def_property_readonly("options", [](const RondoBackend&) { return py::none(); });
  module.def("lend_tensors", &lend_tensors);
  module.def("shut_down_all", &RondoBackend::shut_down_all, py::call_guard<py::gil_scoped_release>());
}

}  // namespace rondo::torch_binding
