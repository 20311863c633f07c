// The type Frontier: opening one, offers, leases, totals.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trawl/embedded_frontier.h"
#include "trawl/memory_frontier.h"

#include "bindings/python/src/dicts.h"
#include "bindings/python/src/filter_stats.h"
#include "bindings/python/src/frontier_object.h"
#include "bindings/python/src/frontier_options.h"
#include "bindings/python/src/kept_urls.h"
#include "bindings/python/src/leases.h"
#include "bindings/python/src/requests.h"

namespace trawl::python {

namespace {

using std::chrono::milliseconds;

// A waiting lease looks for signals this often.
constexpr milliseconds kSlice{100};

int open_frontier(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded(-1, [&] {
    auto& handle = reinterpret_cast<FrontierObject*>(self)->opened;
    require_unmade(self, handle);
    const auto options = frontier_options(args, kwargs);
    std::optional<Result<std::unique_ptr<Frontier>>> made;
    {
      const WithoutGil others_run;
      if (options.directory.empty()) {
        MemoryOptions in_memory;
        in_memory.politeness = options.politeness;
        in_memory.retry = options.retry;
        in_memory.limits = options.limits;
        in_memory.profile = options.seen.profile;
        made.emplace(MemoryFrontier::create(in_memory));
      } else {
        made.emplace(EmbeddedFrontier::open(options));
        if (*made) let_forked_children_exit();
      }
    }
    auto opened = std::make_shared<Opened>();
    opened->frontier = value_of(std::move(*made));
    auto shared = std::make_unique<std::shared_ptr<Opened>>(std::move(opened));
    require_unmade(self, handle);  // another thread may have been quicker
    handle = shared.release();
    return 0;
  });
}

PyObject* offer(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* urls = nullptr;
    int wait = 1;
    PyObject* priority = nullptr;
    PyObject* depth = nullptr;
    PyObject* queue = nullptr;
    PyObject* parent = nullptr;
    PyObject* note = nullptr;
    PyObject* not_before = nullptr;
    int again = 0;
    int seen_only = 0;
    const char* names[] = {"urls", "wait",       "priority", "depth",     "queue", "parent",
                           "note", "not_before", "again",    "seen_only", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pOOOOOOpp", const_cast<char**>(names), &urls,
                                    &wait, &priority, &depth, &queue, &parent, &note, &not_before,
                                    &again, &seen_only) == 0) {
      throw PythonError();
    }
    const auto opened = opened_of<FrontierObject>(self);
    Defaults defaults;
    if (priority != nullptr) {
      defaults.priority = static_cast<std::int32_t>(
          signed_of(priority, "priority", std::numeric_limits<std::int32_t>::min(),
                    std::numeric_limits<std::int32_t>::max()));
    }
    if (depth != nullptr)
      defaults.depth = static_cast<std::uint32_t>(unsigned_of(depth, "depth", UINT32_MAX));
    defaults.queue = text_or_empty(queue, "queue");
    defaults.parent = text_or_empty(parent, "parent");
    defaults.note = text_or_empty(note, "note");
    defaults.again = again != 0;
    defaults.seen_only = seen_only != 0;
    if (not_before != nullptr && not_before != Py_None)
      defaults.not_before = wall_time_of(not_before, "not_before");
    const Requests requests = requests_of(urls, defaults, "urls");
    Ref answers = answers_of(without_gil(*opened, [&](Frontier& frontier) {
      return frontier.offer(requests.all, wait != 0 ? OfferWait::kDurable : OfferWait::kAnswer);
    }));
    if (wait == 0) ++opened->offers;
    return answers.release();
  });
}

// The progress, with all offers of earlier calls: a frontier sees them when they are durable, and
// must not seem to be at its end before.
Progress progress_of(Opened& opened) {
  const auto ask = [](Frontier& frontier) { return frontier.progress(); };
  // Compared first: what other threads flush meanwhile is not in the progress.
  const bool all_flushed = opened.flushed_offers == opened.offers;
  const Progress progress = without_gil(opened, ask);
  const std::uint64_t offers = opened.offers;
  if (!progress.at_end() || all_flushed) return progress;
  without_gil(opened, [](Frontier& frontier) { return frontier.flush(); });
  opened.flushed_offers = std::max(opened.flushed_offers, offers);
  return without_gil(opened, ask);
}

PyObject* lease(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* max = nullptr;
    PyObject* wait = nullptr;
    const char* names[] = {"max", "wait", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", const_cast<char**>(names), &max, &wait) ==
        0) {
      throw PythonError();
    }
    const auto opened = opened_of<FrontierObject>(self);
    const std::size_t most =
        max == nullptr ? 1 : static_cast<std::size_t>(unsigned_of(max, "max", 1'000'000));
    if (most == 0) raise(PyExc_ValueError, "max must be at least 1");
    const bool forever = wait == Py_None;
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const SteadyTime until = now() + ms_of(forever           ? kYear
                                           : wait == nullptr ? 0
                                                             : seconds_of(wait, "wait", kYear));
    std::vector<Lease> leases;
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(until - now());
      const LeaseRequest request{.max = most, .wait = std::clamp(left, milliseconds(0), kSlice)};
      leases = without_gil(*opened, [&](Frontier& frontier) { return frontier.lease(request); });
      if (!leases.empty() || left <= milliseconds(0)) break;
      checked(PyErr_CheckSignals());  // ^C
      if (progress_of(*opened).at_end()) break;
    }
    Ref list(checked(PyList_New(0)));
    for (Lease& one : leases) {
      const Ref object(wrapped_lease(opened, std::move(one)));
      checked(PyList_Append(list.get(), object.get()));
    }
    return list.release();
  });
}

template <auto kCall>
PyObject* plain(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const auto opened = opened_of<FrontierObject>(self);
    without_gil(*opened, [](Frontier& frontier) { return (frontier.*kCall)(); });
    Py_RETURN_NONE;
  });
}

PyObject* progress(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const auto opened = opened_of<FrontierObject>(self);
    const Progress now = progress_of(*opened);
    const char* const state = now.finished             ? "finished"
                              : now.exhausted          ? "exhausted"
                              : now.only_recrawls_wait ? "only_recrawls_wait"
                                                       : "running";
    return PyUnicode_FromString(state);
  });
}

PyObject* stats(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto opened = opened_of<FrontierObject>(self);
    const FrontierStats now =
        without_gil(*opened, [](Frontier& frontier) { return frontier.stats(); });
    Ref dict(checked(PyDict_New()));
    const std::pair<const char*, std::uint64_t> counts[] = {
        {"admitted", now.admitted},
        {"completed", now.completed},
        {"failed", now.failed},
        {"skipped", now.skipped},
        {"succeeded", now.succeeded},
        {"held", now.held},
        {"set_aside_failed", now.set_aside_failed},
        {"seen", now.seen},
        {"invalid", now.invalid},
        {"dropped", now.dropped},
        {"retried", now.retried},
        {"recrawls", now.recrawls},
        {"deferred", now.deferred},
        {"queued", now.queued},
        {"leased", now.leased},
        {"hosts", now.hosts},
        {"hosts_blocked", now.hosts_blocked},
        {"hosts_parked", now.hosts_parked},
        {"expired", now.expired},
        {"checkpoints", now.checkpoints},
        {"memory", now.memory}};
    for (const auto& [name, count] : counts)
      put(dict.get(), name, count);
    put(dict.get(), "false_positive_rate", now.false_positive_rate);
    put(dict.get(), "expected_lost", now.expected_lost);
    put(dict.get(), "filter", dict_of(now.filter));
    return dict.release();
  });
}

PyObject* event_fd(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const auto opened = opened_of<FrontierObject>(self);
    if (!opened->wake) {
      auto wake = std::make_shared<WakeFd>();
      if (wake->get() < 0) raise(PyExc_OSError, "the system gave no eventfd");
      without_gil(*opened,
                  [&](Frontier& frontier) { return frontier.on_wake([wake] { wake->signal(); }); });
      wake->signal();  // what became due before is not missed
      opened->wake = std::move(wake);
    }
    return PyLong_FromLong(opened->wake->get());
  });
}

PyObject* next_due(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const auto opened = opened_of<FrontierObject>(self);
    const auto due = without_gil(*opened, [](Frontier& frontier) { return frontier.next_due(); });
    if (!due) Py_RETURN_NONE;
    const std::chrono::duration<double> left = *due - std::chrono::steady_clock::now();
    return PyFloat_FromDouble(std::max(0.0, left.count()));
  });
}

PyMethodDef frontier_methods[] = {
    kNoPickle,
    {"offer", method(offer), kWithKeywords,
     "offer($self, urls, *, wait=True, priority=0, depth=0, queue=None, parent=None, note=None, "
     "not_before=None, again=False, seen_only=False)\n--\n\nAdmits the URLs that are new."},
    {"lease", method(lease), kWithKeywords,
     "lease($self, max=1, wait=0)\n--\n\nLeases up to `max` URLs that are due."},
    {"flush", plain<&Frontier::flush>, METH_NOARGS,
     "flush($self)\n--\n\nWaits until everything before is durable."},
    {"checkpoint", plain<&Frontier::checkpoint>, METH_NOARGS,
     "checkpoint($self)\n--\n\nWrites a snapshot of the filter."},
    {"close", plain<&Frontier::close>, METH_NOARGS,
     "close($self)\n--\n\nMakes everything durable; releases it."},
    {"progress", progress, METH_NOARGS,
     "progress($self)\n--\n\n\"running\", \"finished\", \"exhausted\" or \"only_recrawls_wait\"."},
    {"stats", stats, METH_NOARGS, "stats($self)\n--\n\nTotals and the present state, a dict."},
    {"host", host, METH_O, "host($self, host, /)\n--\n\nThe state of a host, a dict."},
    {"hosts", method(hosts), kWithKeywords,
     "hosts($self, after=None, limit=1000)\n--\n\nPages through the hosts."},
    {"set_aside", method(set_aside), kWithKeywords,
     "set_aside($self, after=None, limit=1000)\n--\n\nPages through the URLs set aside."},
    {"set_host", method(set_host), kWithKeywords,
     "set_host($self, host, *, delay=..., exact_delay=..., leases=..., limit=..., "
     "blocked_until=..., parked=...)\n--\n\nChanges the settings of a host."},
    {"drop_host", drop_host, METH_O,
     "drop_host($self, host, /)\n--\n\nDeletes a host's queue. Returns how many URLs it had."},
    {"retry", method(retry), kWithKeywords,
     "retry($self, *, state=None, url=None, host=None, reason=None, status=None)\n--\n\nQueues "
     "URLs set aside again. Returns how many."},
    {"lookup", lookup, METH_O, "lookup($self, url, /)\n--\n\nWhat is known of a URL, a dict."},
    {"event_fd", event_fd, METH_NOARGS,
     "event_fd($self)\n--\n\nA descriptor that becomes readable when to lease."},
    {"next_due", next_due, METH_NOARGS,
     "next_due($self)\n--\n\nSeconds until a lease may succeed, or None."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot frontier_slots[] = {
    {Py_tp_doc, const_cast<char*>("URLs in, leases out; each URL once, none lost.")},
    {Py_tp_new, reinterpret_cast<void*>(&allocate_object)},
    {Py_tp_init, reinterpret_cast<void*>(&open_frontier)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&free_with_opened<FrontierObject>)},
    {Py_tp_methods, frontier_methods},
    {0, nullptr}};
PyType_Spec frontier_spec = {"trawl._trawl.Frontier", sizeof(FrontierObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, frontier_slots};

PyObject* leave_others(PyObject*, PyObject*) {
  leave_others_behind();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_admissions", set_admissions, METH_O, "For trawl/__init__.py."},
    {"leave_others_behind", leave_others, METH_NOARGS, "The interpreter is about to end."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_frontier(PyObject* module) {
  add_type(module, frontier_spec, "Frontier");
  add_lease(module);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace trawl::python
