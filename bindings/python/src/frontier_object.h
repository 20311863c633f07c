// FrontierObject: a trawl.Frontier.
#pragma once

#include <memory>

#include "bindings/python/src/opened_frontier.h"

namespace trawl::python {

struct FrontierObject {
  PyObject_HEAD std::shared_ptr<Opened>* opened;
};

}  // namespace trawl::python
