// Frontier and Lease.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include "trawl/embedded_frontier.h"
#include "trawl/memory_frontier.h"

#include "bindings/python/src/filter_stats.h"
#include "bindings/python/src/frontier_options.h"
#include "bindings/python/src/support.h"

namespace trawl::python {

namespace {

using std::chrono::milliseconds;

constexpr double kYear = 365.0 * 24 * 3600;
// A waiting lease looks for signals this often.
constexpr milliseconds kSlice{100};

// An eventfd that the frontier's callback signals.
class WakeFd {
 public:
  WakeFd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~WakeFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  WakeFd(const WakeFd&) = delete;
  WakeFd& operator=(const WakeFd&) = delete;
  int get() const { return fd_; }
  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
  }

 private:
  int fd_;
};

// What a Frontier object and its leases share.
struct Opened {
  std::unique_ptr<Frontier> frontier;
  std::uint32_t generation = fork_generation();
  std::shared_ptr<const WakeFd> wake;  // guarded by the GIL
  // Calls that offered URLs without waiting, and how many of them were flushed. Guarded by the GIL.
  std::uint64_t offers = 0, flushed_offers = 0;
};

struct FrontierObject {
  PyObject_HEAD std::shared_ptr<Opened>* opened;
};
struct LeaseObject {
  PyObject_HEAD std::shared_ptr<Opened>* opened;
  Lease* lease;
  PyObject* on_end;  // for trawl.aio; null: none
};

PyTypeObject* lease_type = nullptr;
std::array<PyObject*, 7> admissions{};  // the members of trawl.Admission

template <class Object>
std::shared_ptr<Opened> opened_of(PyObject* self) {
  std::shared_ptr<Opened>* const opened = reinterpret_cast<Object*>(self)->opened;
  if (opened == nullptr) raise_unmade(self);
  if ((*opened)->generation != fork_generation()) {
    set_forked();
    throw PythonError();
  }
  return *opened;
}

// Calls `call(frontier)` while other threads run.
template <class Call>
auto without_gil(Opened& opened, Call&& call) {
  using Returned = decltype(call(*opened.frontier));
  std::optional<Returned> result;
  {
    const WithoutGil others_run;
    result.emplace(call(*opened.frontier));
  }
  return value_of(std::move(*result));
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

double unix_seconds(SystemTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}
Ref none() {
  return Ref::of_borrowed(Py_None);
}
Ref time_or_none(const std::optional<SystemTime>& time) {
  return time ? Ref(checked(PyFloat_FromDouble(unix_seconds(*time)))) : none();
}
void put(PyObject* dict, const char* name, Ref value) {
  checked(value.get());
  checked(PyDict_SetItemString(dict, name, value.get()));
}
void put(PyObject* dict, const char* name, std::uint64_t value) {
  put(dict, name, Ref(PyLong_FromUnsignedLongLong(value)));
}
void put(PyObject* dict, const char* name, double value) {
  put(dict, name, Ref(PyFloat_FromDouble(value)));
}

// ---- requests ----

// What applies to all URLs of a call that do not say otherwise.
struct Defaults {
  std::int32_t priority = 0;
  std::uint32_t depth = 0;
  std::string_view queue, parent, note;
  bool again = false;
  bool seen_only = false;
  std::optional<SystemTime> not_before;
};

Ref attribute(PyObject* object, const char* name) {
  return Ref(checked(PyObject_GetAttrString(object, name)));
}

// The requests of a call. The views belong to the objects, which are kept.
struct Requests {
  Ref items;
  std::vector<Ref> kept;
  std::vector<UrlRequest> all;

  std::string_view text(PyObject* object, const char* name) {
    Ref value = attribute(object, name);
    const std::string_view view = text_or_empty(value.get(), name);
    kept.push_back(std::move(value));
    return view;
  }
};

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
  request.key = requests.text(item, "key");
  request.queue = requests.text(item, "queue");
  request.parent = requests.text(item, "parent");
  request.note = requests.text(item, "note");
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
  if (const std::string_view hold = requests.text(item, "hold"); !hold.empty())
    request.hold = HoldReason{.reason = hold};
}

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

Outcome outcome_of(PyObject* status, PyObject* error, PyObject* reason) {
  Outcome outcome;
  if (status != nullptr) outcome.status = static_cast<int>(unsigned_of(status, "status", 999));
  outcome.error = std::string(text_or_empty(error, "error"));
  outcome.reason = std::string(text_or_empty(reason, "reason"));
  return outcome;
}

// ---- Lease ----

PyObject* wrapped_lease(const std::shared_ptr<Opened>& opened, Lease lease) {
  auto owned = std::make_unique<Lease>(std::move(lease));
  auto shared = std::make_unique<std::shared_ptr<Opened>>(opened);
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(lease_type, Py_tp_alloc));
  PyObject* const self = checked(allocate(lease_type, 0));
  reinterpret_cast<LeaseObject*>(self)->lease = owned.release();
  reinterpret_cast<LeaseObject*>(self)->opened = shared.release();
  return self;
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
  auto* const object = reinterpret_cast<LeaseObject*>(self);
  delete object->lease;
  if (object->opened != nullptr) {
    std::unique_ptr<std::shared_ptr<Opened>> last(object->opened);
    if ((*last)->generation == fork_generation()) {
      const WithoutGil others_run;  // it may be the last owner
      last.reset();
    } else {
      (void)last.release();
    }
  }
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
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

// ---- Frontier ----

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

void dealloc_frontier(PyObject* self) {
  auto* const object = reinterpret_cast<FrontierObject*>(self);
  if (object->opened != nullptr) {
    std::unique_ptr<std::shared_ptr<Opened>> last(object->opened);
    if ((*last)->generation == fork_generation()) {
      const WithoutGil others_run;
      last.reset();
    } else {
      (void)last.release();
    }
  }
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
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

PyObject* host(PyObject* self, PyObject* name) {
  return guarded([&] {
    const auto opened = opened_of<FrontierObject>(self);
    const std::string_view text = text_of(name, "host");
    return dict_of(without_gil(*opened, [&](Frontier& frontier) { return frontier.host(text); }))
        .release();
  });
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

PyObject* hosts(PyObject* self, PyObject* args, PyObject* kwargs) {
  return page_of(self, args, kwargs,
                 [](Frontier& frontier, std::string_view after, std::size_t limit) {
                   return frontier.hosts(after, limit);
                 });
}

PyObject* set_aside(PyObject* self, PyObject* args, PyObject* kwargs) {
  return page_of(self, args, kwargs,
                 [](Frontier& frontier, std::string_view after, std::size_t limit) {
                   return frontier.set_aside(after, limit);
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
    {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc_frontier)},
    {Py_tp_methods, frontier_methods},
    {0, nullptr}};
PyType_Spec frontier_spec = {"trawl._trawl.Frontier", sizeof(FrontierObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, frontier_slots};

// Takes the members of trawl.Admission, in the order of the C++ ones.
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
  add_type(module, lease_spec, "Lease", &lease_type);
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace trawl::python
