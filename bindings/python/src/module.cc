// The extension module trawl._trawl, for the limited API of Python 3.10 and later.
#include "bindings/python/src/support.h"

namespace {

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "trawl._trawl",
                          "Trawl's frontier, filters and parsers. Use the package trawl.",
                          -1,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__trawl() {
  using namespace trawl::python;
  return guarded([]() -> PyObject* {
    require_main_interpreter();
    Ref module(checked(PyModule_Create(&definition)));
    checked(PyModule_AddStringConstant(module.get(), "__version__", TRAWL_VERSION));
    add_errors(module.get());
    add_filters(module.get());
    add_sizing(module.get());
    add_documents(module.get());
    add_frontier(module.get());
    return module.release();
  });
}
