#include "bindings/python/src/frontier_options.h"

#include <chrono>
#include <cmath>

#include "bindings/python/src/profile_rules.h"

namespace trawl::python {

namespace {

constexpr double kYear = 365.0 * 24 * 3600;

using Set = void (*)(EmbeddedOptions& options, PyObject* value, const char* name);
struct Option {
  const char* name;
  Set set;
};

std::chrono::milliseconds wait_of(PyObject* value, const char* name) {
  return ms_of(seconds_of(value, name, kYear));
}
std::uint32_t count_of(PyObject* value, const char* name) {
  return static_cast<std::uint32_t>(unsigned_of(value, name, UINT32_MAX));
}
std::uint64_t size_of(PyObject* value, const char* name) {
  return unsigned_of(value, name, ~std::uint64_t{0} >> 1);
}
bool truth_of(PyObject* value) {
  const int truth = PyObject_IsTrue(value);
  checked(truth);
  return truth != 0;
}

#define TRAWL_OPTION(name, member, convert)                                \
  Option {                                                                 \
#name, [](EmbeddedOptions & options, PyObject * value,                 \
              const char* what) { options.member = convert(value, what); } \
  }

constexpr Option kOptions[] = {
    TRAWL_OPTION(delay, politeness.delay, wait_of),
    TRAWL_OPTION(domain_delay, politeness.domain_delay, wait_of),
    TRAWL_OPTION(ip_delay, politeness.ip_delay, wait_of),
    TRAWL_OPTION(adaptive_delay, politeness.adaptive_delay, real_of),
    TRAWL_OPTION(max_adaptive_delay, politeness.max_adaptive_delay, wait_of),
    TRAWL_OPTION(leases_per_host, politeness.leases_per_host, count_of),
    TRAWL_OPTION(retries, retry.retries, count_of),
    TRAWL_OPTION(retry_delay, retry.retry_delay, wait_of),
    TRAWL_OPTION(max_retry_delay, retry.max_retry_delay, wait_of),
    TRAWL_OPTION(host_backoff, retry.host_backoff, wait_of),
    TRAWL_OPTION(max_host_backoff, retry.max_host_backoff, wait_of),
    TRAWL_OPTION(host_failures, retry.host_failures, count_of),
    TRAWL_OPTION(park_time, retry.park_time, wait_of),
    TRAWL_OPTION(no_such_host_wait, retry.no_such_host_wait, wait_of),
    TRAWL_OPTION(max_url_length, limits.max_url_length, count_of),
    TRAWL_OPTION(max_note_bytes, limits.max_note_bytes, count_of),
    TRAWL_OPTION(lease_timeout, limits.lease_timeout, wait_of),
    TRAWL_OPTION(max_open_leases, limits.max_open_leases, count_of),
    TRAWL_OPTION(expected_urls, seen.expected_urls, size_of),
    TRAWL_OPTION(false_positive_rate, seen.false_positive_rate, real_of),
    TRAWL_OPTION(max_filter_memory, seen.max_memory, size_of),
    TRAWL_OPTION(max_memory, store.max_memory, size_of),
    TRAWL_OPTION(max_set_aside, store.max_set_aside, size_of),
    TRAWL_OPTION(shards, store.shards, count_of),
    TRAWL_OPTION(keep_checkpoints, checkpoints.keep, count_of),
    TRAWL_OPTION(max_replay, checkpoints.max_replay, wait_of),
    TRAWL_OPTION(checkpoint_interval, checkpoints.interval, wait_of),
    TRAWL_OPTION(checkpoint_admissions, checkpoints.admissions, size_of),
    TRAWL_OPTION(max_checkpoint_rate, checkpoints.max_rate, size_of),
    {"exact",
     [](EmbeddedOptions& options, PyObject* value, const char*) {
       options.seen.mode = truth_of(value) ? FilterMode::kExact : FilterMode::kBloom;
     }},
    {"ledger", [](EmbeddedOptions& options, PyObject* value,
                  const char*) { options.seen.ledger = truth_of(value); }},
    {"rules", [](EmbeddedOptions& options, PyObject* value,
                 const char*) { options.seen.profile = profile_of(value); }},
    {"replace_rules", [](EmbeddedOptions& options, PyObject* value,
                         const char*) { options.seen.replace_profile = truth_of(value); }},
    {"revive_hosts", [](EmbeddedOptions& options, PyObject* value,
                        const char*) { options.revive_hosts = truth_of(value); }},
    {"durability",
     [](EmbeddedOptions& options, PyObject* value, const char* name) {
       const std::string_view text = text_of(value, name);
       if (text != "async" && text != "sync")
         raise(PyExc_ValueError, "durability must be \"async\" or \"sync\"");
       options.store.durability = text == "sync" ? Durability::kSync : Durability::kAsync;
     }},
    {"mode",
     [](EmbeddedOptions& options, PyObject* value, const char* name) {
       const std::string_view text = text_of(value, name);
       if (text == "create_or_resume") {
         options.mode = OpenMode::kCreateOrResume;
       } else if (text == "create") {
         options.mode = OpenMode::kCreate;
       } else if (text == "resume") {
         options.mode = OpenMode::kResume;
       } else {
         raise(PyExc_ValueError, "mode must be \"create_or_resume\", \"create\" or \"resume\"");
       }
     }},
};
#undef TRAWL_OPTION

void set_option(EmbeddedOptions& options, std::string_view name, PyObject* value) {
  for (const Option& option : kOptions) {
    if (option.name == name) return option.set(options, value, option.name);
  }
  raise(PyExc_TypeError, "Frontier() has no option '" + std::string(name) + "'");
}

}  // namespace

EmbeddedOptions frontier_options(PyObject* args, PyObject* kwargs) {
  EmbeddedOptions options;
  PyObject* directory = nullptr;
  if (PyArg_ParseTuple(args, "|O:Frontier", &directory) == 0) throw PythonError();
  Py_ssize_t at = 0;
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  while (kwargs != nullptr && PyDict_Next(kwargs, &at, &name, &value) != 0) {
    const std::string_view text = text_of(name, "an option");
    if (text == "directory" && directory == nullptr) {
      directory = value;
    } else {
      set_option(options, text, value);
    }
  }
  if (options.seen.mode == FilterMode::kExact) options.seen.ledger = true;
  if (directory == nullptr)
    raise(PyExc_TypeError, "Frontier() needs a directory; None means one in memory");
  if (directory == Py_None) return options;
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(directory, &encoded) == 0) throw PythonError();
  const Ref owned(encoded);
  const std::string_view path = text_of(encoded, "directory");
  if (path.empty()) raise(PyExc_ValueError, "directory must not be empty");
  options.directory = std::filesystem::path(path);
  return options;
}

}  // namespace trawl::python
