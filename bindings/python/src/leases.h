// Lease objects.
#pragma once

#include <memory>

#include "trawl/lease.h"

#include "bindings/python/src/opened_frontier.h"

namespace trawl::python {

// A trawl.Lease.
PyObject* wrapped_lease(const std::shared_ptr<Opened>& opened, Lease lease);
void add_lease(PyObject* module);

}  // namespace trawl::python
