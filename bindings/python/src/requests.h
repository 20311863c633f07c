// Requests: the URLs of a call, and the answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trawl/lease.h"

#include "bindings/python/src/support.h"

namespace trawl::python {

// What applies to all URLs of a call that do not say otherwise.
struct Defaults {
  std::int32_t priority = 0;
  std::uint32_t depth = 0;
  std::string_view queue, parent, note;
  bool again = false;
  bool seen_only = false;
  std::optional<SystemTime> not_before;
};

// The requests of a call. The views belong to the objects, which are kept.
struct Requests {
  Ref items;
  std::vector<Ref> kept;
  std::vector<UrlRequest> all;
};

// Items are texts, objects of trawl.Url, or what looks like one. Null: no request.
Requests requests_of(PyObject* iterable, const Defaults& defaults, const char* name);
// A list of members of trawl.Admission.
Ref answers_of(const std::vector<Admission>& answers);
// Takes the members of trawl.Admission, in the order of the C++ ones.
PyObject* set_admissions(PyObject*, PyObject* members);

}  // namespace trawl::python
