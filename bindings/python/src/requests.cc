#include "bindings/python/src/requests.h"

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace trawl::python {

namespace {

std::array<PyObject*, 7> admissions{};  // the members of trawl.Admission

Ref attribute(PyObject* object, const char* name) {
  return Ref(checked(PyObject_GetAttrString(object, name)));
}

std::string_view text_of_attribute(Requests& requests, PyObject* object, const char* name) {
  Ref value = attribute(object, name);
  const std::string_view view = text_or_empty(value.get(), name);
  requests.kept.push_back(std::move(value));
  return view;
}

// That of an item of plain text, without the text.
UrlRequest plain_request(const Defaults& defaults) {
  UrlRequest request;
  request.priority = defaults.priority;
  request.depth = defaults.depth;
  request.queue = defaults.queue;
  request.parent = defaults.parent;
  request.note = defaults.note;
  request.again = defaults.again;
  request.seen_only = defaults.seen_only;
  request.not_before = defaults.not_before;
  return request;
}

// Reads the attributes of a trawl.Url, or of what looks like one.
void read_request(PyObject* item, Requests& requests, UrlRequest& request) {
  Ref url(PyObject_GetAttrString(item, "url"));
  if (!url) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw PythonError();
    PyErr_Clear();
    (void)text_of(item, "a URL");  // says what it is instead
  }
  request.url = text_of(url.get(), "url");
  requests.kept.push_back(std::move(url));
  request.key = text_of_attribute(requests, item, "key");
  request.queue = text_of_attribute(requests, item, "queue");
  request.parent = text_of_attribute(requests, item, "parent");
  request.note = text_of_attribute(requests, item, "note");
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  request.priority = static_cast<std::int32_t>(
      signed_of(attribute(item, "priority").get(), "priority", kLeast, kMost));
  if (const Ref depth = attribute(item, "depth"); depth.get() != Py_None)
    request.depth = static_cast<std::uint32_t>(unsigned_of(depth.get(), "depth", UINT32_MAX));
  request.redirects = static_cast<std::uint32_t>(
      unsigned_of(attribute(item, "redirects").get(), "redirects", UINT32_MAX));
  const int again = PyObject_IsTrue(attribute(item, "again").get());
  checked(again);
  request.again = again != 0;
  if (const Ref at = attribute(item, "not_before"); at.get() != Py_None)
    request.not_before = wall_time_of(at.get(), "not_before");
  else
    request.not_before.reset();
  if (const std::string_view hold = text_of_attribute(requests, item, "hold"); !hold.empty())
    request.hold = HoldReason{.reason = hold};
}

}  // namespace

Requests requests_of(PyObject* iterable, const Defaults& defaults, const char* name) {
  Requests requests;
  if (iterable == nullptr) return requests;
  requests.items = items_of(iterable, name);
  const Py_ssize_t count = PyTuple_Size(requests.items.get());
  requests.all.reserve(static_cast<std::size_t>(count));
  const UrlRequest plain = plain_request(defaults);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PyTuple_GetItem(requests.items.get(), i);
    UrlRequest& request = requests.all.emplace_back(plain);
    if (PyUnicode_Check(item) || PyBytes_Check(item))
      request.url = text_of(item, "a URL");
    else
      read_request(item, requests, request);
  }
  return requests;
}

Ref answers_of(const std::vector<Admission>& answers) {
  Ref list(checked(PyList_New(static_cast<Py_ssize_t>(answers.size()))));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    PyObject* const member = admissions[static_cast<std::size_t>(answers[i])];
    Py_INCREF(member);
    checked(PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), member));
  }
  return list;
}

PyObject* set_admissions(PyObject*, PyObject* members) {
  return guarded([&]() -> PyObject* {
    require_main_interpreter();  // an interpreter may get the module that another one has made
    const Ref all = items_of(members, "members");
    if (PyTuple_Size(all.get()) != static_cast<Py_ssize_t>(admissions.size()))
      raise(PyExc_ValueError, "there are seven members");
    for (std::size_t i = 0; i < admissions.size(); ++i) {
      admissions[i] = PyTuple_GetItem(all.get(), static_cast<Py_ssize_t>(i));
      Py_INCREF(admissions[i]);
    }
    Py_RETURN_NONE;
  });
}

}  // namespace trawl::python
