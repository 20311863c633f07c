#include "bindings/python/src/kept_urls.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "trawl/frontier.h"

#include "bindings/python/src/dicts.h"
#include "bindings/python/src/frontier_object.h"

namespace trawl::python {

namespace {

Ref dict_of(const HostInfo& host) {
  constexpr const char* kStates[] = {"active", "blocked", "parked", "at_limit"};
  Ref dict(checked(PyDict_New()));
  put(dict.get(), "host", str_of(host.host));
  put(dict.get(), "state", str_of(kStates[static_cast<std::size_t>(host.state)]));
  put(dict.get(), "queued", host.queued);
  put(dict.get(), "leased", std::uint64_t{host.leased});
  put(dict.get(), "failures", std::uint64_t{host.failures});
  const HostSettings& settings = host.settings;
  if (settings.delay)
    put(dict.get(), "delay", std::chrono::duration<double>(*settings.delay).count());
  if (settings.exact_delay)
    put(dict.get(), "exact_delay", Ref(PyBool_FromLong(*settings.exact_delay ? 1 : 0)));
  if (settings.leases) put(dict.get(), "leases", std::uint64_t{*settings.leases});
  if (settings.limit && *settings.limit != HostSettings::kNoLimit)
    put(dict.get(), "limit", *settings.limit);
  if (settings.blocked_until && *settings.blocked_until < HostSettings::kParked)
    put(dict.get(), "blocked_until", unix_seconds(*settings.blocked_until));
  return dict;
}

Ref dict_of(const SetAsideUrl& url) {
  Ref dict(checked(PyDict_New()));
  const bool held = url.state == SetAsideState::kHeld;
  put(dict.get(), "state", str_of(held ? "held" : "failed"));
  const std::pair<const char*, const std::string*> texts[] = {
      {"url", &url.url}, {"host", &url.host}, {"reason", &url.reason}, {"parent", &url.parent}};
  for (const auto& [name, text] : texts)
    put(dict.get(), name, str_of(*text));
  put(dict.get(), "status", static_cast<std::uint64_t>(std::max(url.status, 0)));
  put(dict.get(), "rules", url.rules);
  put(dict.get(), "since", unix_seconds(url.since));
  put(dict.get(), "was_queued", Ref(PyBool_FromLong(url.was_queued ? 1 : 0)));
  put(dict.get(), "priority", Ref(PyLong_FromLong(url.priority)));
  put(dict.get(), "depth", std::uint64_t{url.depth});
  put(dict.get(), "redirects", std::uint64_t{url.redirects});
  put(dict.get(), "note", bytes_of(url.note));
  put(dict.get(), "position", bytes_of(url.position));
  return dict;
}

// A list of what one of the frontier's listings has behind `after`, at most `limit`.
template <class Listing>
PyObject* page_of(PyObject* self, PyObject* args, PyObject* kwargs, const Listing& listing) {
  return guarded([&]() -> PyObject* {
    PyObject* after = nullptr;
    PyObject* limit = nullptr;
    const char* names[] = {"after", "limit", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", const_cast<char**>(names), &after,
                                    &limit) == 0) {
      throw PythonError();
    }
    const auto opened = opened_of<FrontierObject>(self);
    const std::string_view from = text_or_empty(after, "after");
    const std::size_t most =
        limit == nullptr ? 1000 : static_cast<std::size_t>(unsigned_of(limit, "limit", 1'000'000));
    if (most == 0) raise(PyExc_ValueError, "limit must be at least 1");
    Ref list(checked(PyList_New(0)));
    for (const auto& one :
         without_gil(*opened, [&](Frontier& frontier) { return listing(frontier, from, most); })) {
      checked(PyList_Append(list.get(), dict_of(one).get()));
    }
    return list.release();
  });
}

}  // namespace

PyObject* host(PyObject* self, PyObject* name) {
  return guarded([&] {
    const auto opened = opened_of<FrontierObject>(self);
    const std::string_view text = text_of(name, "host");
    return dict_of(without_gil(*opened, [&](Frontier& frontier) { return frontier.host(text); }))
        .release();
  });
}

PyObject* hosts(PyObject* self, PyObject* args, PyObject* kwargs) {
  return page_of(self, args, kwargs,
                 [](Frontier& frontier, std::string_view after, std::size_t limit) {
                   return frontier.hosts(after, limit);
                 });
}

PyObject* set_host(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* name = nullptr;
    PyObject* delay = nullptr;
    PyObject* exact = nullptr;
    PyObject* leases = nullptr;
    PyObject* limit = nullptr;
    PyObject* blocked_until = nullptr;
    PyObject* parked = nullptr;
    const char* names[] = {"host",  "delay",         "exact_delay", "leases",
                           "limit", "blocked_until", "parked",      nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOOOO", const_cast<char**>(names), &name,
                                    &delay, &exact, &leases, &limit, &blocked_until,
                                    &parked) == 0) {
      throw PythonError();
    }
    const auto opened = opened_of<FrontierObject>(self);
    const std::string_view text = text_of(name, "host");
    HostSettings settings;
    if (delay != nullptr) settings.delay = ms_of(seconds_of(delay, "delay", kYear));
    if (exact != nullptr) {
      const int is_exact = PyObject_IsTrue(exact);
      checked(is_exact);
      settings.exact_delay = is_exact != 0;
    }
    if (leases != nullptr)
      settings.leases = static_cast<std::uint32_t>(unsigned_of(leases, "leases", UINT32_MAX));
    if (limit != nullptr) {
      settings.limit = limit == Py_None ? HostSettings::kNoLimit
                                        : unsigned_of(limit, "limit", HostSettings::kNoLimit - 1);
    }
    if (blocked_until != nullptr) {
      settings.blocked_until = blocked_until == Py_None
                                   ? HostSettings::kNotBlocked
                                   : wall_time_of(blocked_until, "blocked_until");
    }
    if (parked != nullptr) {
      const int is_parked = PyObject_IsTrue(parked);
      checked(is_parked);
      settings.blocked_until = is_parked != 0 ? HostSettings::kParked : HostSettings::kNotBlocked;
    }
    without_gil(*opened, [&](Frontier& frontier) { return frontier.set_host(text, settings); });
    Py_RETURN_NONE;
  });
}

PyObject* drop_host(PyObject* self, PyObject* name) {
  return guarded([&] {
    const auto opened = opened_of<FrontierObject>(self);
    const std::string_view text = text_of(name, "host");
    return PyLong_FromUnsignedLongLong(
        without_gil(*opened, [&](Frontier& frontier) { return frontier.drop_host(text); }));
  });
}

PyObject* set_aside(PyObject* self, PyObject* args, PyObject* kwargs) {
  return page_of(self, args, kwargs,
                 [](Frontier& frontier, std::string_view after, std::size_t limit) {
                   return frontier.set_aside(after, limit);
                 });
}

PyObject* retry(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* state = nullptr;
    PyObject* url = nullptr;
    PyObject* host_name = nullptr;
    PyObject* reason = nullptr;
    PyObject* status = nullptr;
    const char* names[] = {"state", "url", "host", "reason", "status", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOO", const_cast<char**>(names), &state,
                                    &url, &host_name, &reason, &status) == 0) {
      throw PythonError();
    }
    const auto opened = opened_of<FrontierObject>(self);
    RetryWhich which;
    const std::string_view wanted = text_or_empty(state, "state");
    if (wanted == "held") {
      which.state = SetAsideState::kHeld;
    } else if (wanted == "failed") {
      which.state = SetAsideState::kFailed;
    } else if (!wanted.empty()) {
      raise(PyExc_ValueError, "state must be \"held\" or \"failed\"");
    }
    which.key = std::string(text_or_empty(url, "url"));
    which.host = std::string(text_or_empty(host_name, "host"));
    which.reason = std::string(text_or_empty(reason, "reason"));
    if (status != nullptr && status != Py_None) {
      which.first_status = static_cast<int>(unsigned_of(status, "status", 999));
      which.last_status = which.first_status;
    }
    return PyLong_FromUnsignedLongLong(
        without_gil(*opened, [&](Frontier& frontier) { return frontier.retry(which); }));
  });
}

PyObject* lookup(PyObject* self, PyObject* url) {
  return guarded([&] {
    constexpr const char* kKinds[] = {"unknown", "waiting", "deferred", "leased",
                                      "held",    "failed",  "done",     "seen"};
    const auto opened = opened_of<FrontierObject>(self);
    const std::string_view text = text_of(url, "url");
    const UrlState state =
        without_gil(*opened, [&](Frontier& frontier) { return frontier.lookup(text); });
    Ref dict(checked(PyDict_New()));
    put(dict.get(), "state", str_of(kKinds[static_cast<std::size_t>(state.kind)]));
    put(dict.get(), "host", str_of(state.host));
    put(dict.get(), "reason", str_of(state.reason));
    put(dict.get(), "status", static_cast<std::uint64_t>(std::max(state.status, 0)));
    put(dict.get(), "at", time_or_none(state.at));
    put(dict.get(), "fetches", std::uint64_t{state.fetches});
    put(dict.get(), "depth", std::uint64_t{state.depth});
    put(dict.get(), "note", bytes_of(state.note));
    return dict.release();
  });
}

}  // namespace trawl::python
