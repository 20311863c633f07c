#include "bindings/python/src/leases.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/python/src/dicts.h"
#include "bindings/python/src/requests.h"

namespace trawl::python {

namespace {

using std::chrono::milliseconds;

struct LeaseObject {
  PyObject_HEAD std::shared_ptr<Opened>* opened;
  Lease* lease;
  PyObject* on_end;  // for trawl.aio; null: none
};

PyTypeObject* lease_type = nullptr;

Outcome outcome_of(PyObject* status, PyObject* error, PyObject* reason) {
  Outcome outcome;
  if (status != nullptr) outcome.status = static_cast<int>(unsigned_of(status, "status", 999));
  outcome.error = std::string(text_or_empty(error, "error"));
  outcome.reason = std::string(text_or_empty(reason, "reason"));
  return outcome;
}

// Says to trawl.aio, once, that nobody works on the lease any more.
void say_end(PyObject* self) {
  const Ref listener(std::exchange(reinterpret_cast<LeaseObject*>(self)->on_end, nullptr));
  if (!listener) return;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (!Ref(PyObject_CallNoArgs(listener.get()))) PyErr_WriteUnraisable(listener.get());
  PyErr_Restore(type, value, traceback);
}

PyObject* on_end(PyObject* self, PyObject* call) {
  const Ref before(std::exchange(reinterpret_cast<LeaseObject*>(self)->on_end,
                                 Ref::of_borrowed(call).release()));
  Py_RETURN_NONE;
}

// Ends a lease by `call(frontier)`; its end is also said if it had ended before, but not if it
// stays open (Outcome::end_later).
template <class Call>
auto ended(PyObject* self, Opened& opened, Call&& call, bool stays_open = false) {
  std::optional<decltype(call(*opened.frontier))> result;
  {
    const WithoutGil others_run;
    result.emplace(call(*opened.frontier));
  }
  if (*result ? !stays_open
              : result->error().code == ErrorCode::kNotFound ||
                    result->error().code == ErrorCode::kClosed) {
    say_end(self);
  }
  return value_of(std::move(*result));
}

void dealloc_lease(PyObject* self) {
  say_end(self);
  delete reinterpret_cast<LeaseObject*>(self)->lease;
  free_with_opened<LeaseObject>(self);
}

const Lease& lease_of(PyObject* self) {
  return *reinterpret_cast<LeaseObject*>(self)->lease;
}

template <auto kMember>
PyObject* get_text(PyObject* self, void*) {
  return guarded([&] { return str_of(lease_of(self).*kMember).release(); });
}
template <auto kMember>
PyObject* get_number(PyObject* self, void*) {
  return PyLong_FromLongLong(static_cast<long long>(lease_of(self).*kMember));
}
PyObject* get_id(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(lease_of(self).id);
}
PyObject* get_note(PyObject* self, void*) {
  return guarded([&] { return bytes_of(lease_of(self).note).release(); });
}
PyObject* get_recrawl(PyObject* self, void*) {
  return PyBool_FromLong(lease_of(self).recrawl ? 1 : 0);
}

PyObject* lease_complete(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* status = nullptr;
    PyObject* links = nullptr;
    PyObject* error = nullptr;
    PyObject* reason = nullptr;
    PyObject* recrawl_at = nullptr;
    PyObject* note = nullptr;
    int requested = 1, end_later = 0;
    const char* names[] = {"status", "links",     "error",     "reason", "recrawl_at",
                           "note",   "requested", "end_later", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$OOOOpp", const_cast<char**>(names), &status,
                                    &links, &error, &reason, &recrawl_at, &note, &requested,
                                    &end_later) == 0) {
      throw PythonError();
    }
    const auto opened = opened_of<LeaseObject>(self);
    const Lease& lease = lease_of(self);
    Outcome outcome = outcome_of(status, error, reason);
    if (status == nullptr) outcome.status = 200;
    outcome.requested = requested != 0;
    outcome.end_later = end_later != 0;
    if (recrawl_at != nullptr && recrawl_at != Py_None)
      outcome.recrawl_at = wall_time_of(recrawl_at, "recrawl_at");
    if (note != nullptr && note != Py_None) outcome.note = std::string(text_of(note, "note"));
    const Requests found = requests_of(links, {.depth = lease.depth + 1}, "links");
    const auto answers = ended(
        self, *opened,
        [&](Frontier& frontier) { return frontier.complete(lease.id, outcome, found.all); },
        outcome.end_later);
    return PyLong_FromSsize_t(std::count(answers.begin(), answers.end(), Admission::kNew));
  });
}

FailureReason failure_named(std::string_view name) {
  constexpr std::pair<std::string_view, FailureReason> kNames[] = {
      {"timeout", FailureReason::kTimeout},
      {"connection", FailureReason::kConnection},
      {"too_many_requests", FailureReason::kTooManyRequests},
      {"unavailable", FailureReason::kUnavailable},
      {"server_error", FailureReason::kServerError},
      {"permanent", FailureReason::kPermanent},
      {"no_such_host", FailureReason::kNoSuchHost}};
  for (const auto& [known, reason] : kNames)
    if (known == name) return reason;
  raise(PyExc_ValueError, "no such reason: \"" + std::string(name) +
                              "\"; one of timeout, connection, too_many_requests, unavailable, "
                              "server_error, permanent, no_such_host");
}

PyObject* lease_fail(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* reason = nullptr;
    PyObject* retry_after = nullptr;
    PyObject* status = nullptr;
    PyObject* error = nullptr;
    const char* names[] = {"reason", "retry_after", "status", "error", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OO", const_cast<char**>(names), &reason,
                                    &retry_after, &status, &error) == 0) {
      throw PythonError();
    }
    const auto opened = opened_of<LeaseObject>(self);
    const FailureReason why = failure_named(text_of(reason, "reason"));
    const Outcome outcome = outcome_of(status, error, nullptr);
    std::optional<milliseconds> after;
    if (retry_after != nullptr && retry_after != Py_None)
      after = ms_of(seconds_of(retry_after, "retry_after", kYear));
    const auto verdict = ended(self, *opened, [&](Frontier& frontier) {
      return frontier.fail(lease_of(self).id, why, after, outcome);
    });
    return time_or_none(verdict.retry_at).release();
  });
}

PyObject* lease_hold(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* reason = nullptr;
    PyObject* rules = nullptr;
    int always = 0;
    const char* names[] = {"reason", "rules", "always", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$p", const_cast<char**>(names), &reason,
                                    &rules, &always) == 0) {
      throw PythonError();
    }
    const auto opened = opened_of<LeaseObject>(self);
    const HoldReason why{.reason = text_of(reason, "reason"),
                         .rules = rules == nullptr ? 0 : unsigned_of(rules, "rules", UINT64_MAX),
                         .always = always != 0};
    ended(self, *opened, [&](Frontier& frontier) { return frontier.hold(lease_of(self).id, why); });
    Py_RETURN_NONE;
  });
}

PyObject* lease_release(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* after = nullptr;
    const char* names[] = {"after", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &after) == 0)
      throw PythonError();
    const auto opened = opened_of<LeaseObject>(self);
    std::optional<SteadyTime> next;
    if (after != nullptr && after != Py_None)
      next = std::chrono::steady_clock::now() + ms_of(seconds_of(after, "after", kYear));
    ended(self, *opened, [&](Frontier& frontier) {
      return frontier.release(lease_of(self).id, next, std::nullopt);
    });
    Py_RETURN_NONE;
  });
}

PyObject* lease_fetched(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const auto opened = opened_of<LeaseObject>(self);
    without_gil(*opened, [&](Frontier& frontier) { return frontier.fetched(lease_of(self).id); });
    Py_RETURN_NONE;
  });
}

PyObject* lease_renew(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const auto opened = opened_of<LeaseObject>(self);
    without_gil(*opened, [&](Frontier& frontier) { return frontier.renew(lease_of(self).id); });
    Py_RETURN_NONE;
  });
}

PyObject* repr_of_lease(PyObject* self) {
  return guarded([&] {
    return PyUnicode_FromFormat("<trawl.Lease %llu of %s>",
                                static_cast<unsigned long long>(lease_of(self).id),
                                lease_of(self).url.c_str());
  });
}

PyMethodDef lease_methods[] = {
    kNoPickle,
    {"complete", method(lease_complete), kWithKeywords,
     "complete($self, status=200, links=(), *, error=None, reason=None, recrawl_at=None, "
     "note=None, requested=True, end_later=False)\n--\n\nEnds the lease and admits the links "
     "found. Returns how many were new."},
    {"fail", method(lease_fail), kWithKeywords,
     "fail($self, reason, retry_after=None, *, status=0, error=None)\n--\n\nEnds a lease whose "
     "fetch failed. Returns the time of the retry, or None."},
    {"hold", method(lease_hold), kWithKeywords,
     "hold($self, reason, rules=0, *, always=False)\n--\n\nSets the URL aside without a request."},
    {"release", method(lease_release), kWithKeywords,
     "release($self, after=None)\n--\n\nReturns the URL unfetched to its queue."},
    {"fetched", lease_fetched, METH_NOARGS,
     "fetched($self)\n--\n\nThe request has ended: the host may get another lease meanwhile."},
    {"renew", lease_renew, METH_NOARGS, "renew($self)\n--\n\nMakes the lease expire later."},
    {"_on_end", on_end, METH_O, "For trawl.aio: calls when nobody works on the lease any more."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef lease_getters[] = {
    {"id", get_id, nullptr, "unique, also across runs", nullptr},
    {"url", get_text<&Lease::url>, nullptr, "what to fetch", nullptr},
    {"host", get_text<&Lease::host>, nullptr, "the name of its queue", nullptr},
    {"parent", get_text<&Lease::parent>, nullptr, "the page that linked to it", nullptr},
    {"note", get_note, nullptr, "the caller's bytes", nullptr},
    {"priority", get_number<&Lease::priority>, nullptr, "as offered", nullptr},
    {"depth", get_number<&Lease::depth>, nullptr, "links followed from a seed", nullptr},
    {"redirects", get_number<&Lease::redirects>, nullptr, "as offered", nullptr},
    {"attempts", get_number<&Lease::attempts>, nullptr, "failed fetches before", nullptr},
    {"recrawl", get_recrawl, nullptr, "whether it was completed before", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot lease_slots[] = {{Py_tp_doc, const_cast<char*>("A URL handed out for fetching.")},
                             {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc_lease)},
                             {Py_tp_methods, lease_methods},
                             {Py_tp_getset, lease_getters},
                             {Py_tp_repr, reinterpret_cast<void*>(&repr_of_lease)},
                             {0, nullptr}};
PyType_Spec lease_spec = {"trawl.Lease", sizeof(LeaseObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, lease_slots};

}  // namespace

PyObject* wrapped_lease(const std::shared_ptr<Opened>& opened, Lease lease) {
  auto owned = std::make_unique<Lease>(std::move(lease));
  auto shared = std::make_unique<std::shared_ptr<Opened>>(opened);
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(lease_type, Py_tp_alloc));
  PyObject* const self = checked(allocate(lease_type, 0));
  reinterpret_cast<LeaseObject*>(self)->lease = owned.release();
  reinterpret_cast<LeaseObject*>(self)->opened = shared.release();
  return self;
}

void add_lease(PyObject* module) {
  add_type(module, lease_spec, "Lease", &lease_type);
}

}  // namespace trawl::python
