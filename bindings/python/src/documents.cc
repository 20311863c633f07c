// URLs, canonical keys, robots.txt, links of pages, sitemaps.
#include <memory>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/links.h"
#include "trawl/robots.h"
#include "trawl/sitemap.h"
#include "trawl/url.h"

#include "bindings/python/src/profile_rules.h"
#include "bindings/python/src/support.h"

namespace trawl::python {

namespace {

Url url_of(PyObject* text, const char* name) {
  return value_of(Url::parse(text_of(text, name)));
}

// An object that owns one C++ value.
template <class Value>
struct Holder {
  PyObject_HEAD Value* value;
};
template <class Value>
Value& held(PyObject* self) {
  Value* const value = reinterpret_cast<Holder<Value>*>(self)->value;
  if (value == nullptr) raise_unmade(self);
  return *value;
}
template <class Value>
int hold(PyObject* self, Value value) {
  Value*& to = reinterpret_cast<Holder<Value>*>(self)->value;
  require_unmade(self, to);
  to = std::make_unique<Value>(std::move(value)).release();
  return 0;
}
template <class Value>
void drop(PyObject* self) {
  delete reinterpret_cast<Holder<Value>*>(self)->value;
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// ---- Canonicalizer ----

int make_canonicalizer(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded(-1, [&] {
    PyObject* rules = nullptr;
    const char* names[] = {"rules", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &rules) == 0)
      throw PythonError();
    return hold(self, Canonicalizer(profile_of(rules)));
  });
}

PyObject* key_of(PyObject* self, PyObject* url) {
  return guarded(
      [&] { return str_of(held<Canonicalizer>(self).key(url_of(url, "url"))).release(); });
}

PyMethodDef canonicalizer_methods[] = {
    kNoPickle,
    {"key", &key_of, METH_O,
     "key($self, url, /)\n--\n\nThe canonical key of a URL, by which URLs are the same."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot canonicalizer_slots[] = {
    {Py_tp_doc,
     const_cast<char*>("Canonicalizer(rules=None)\n--\n\nDecides which URLs are the same.")},
    {Py_tp_new, reinterpret_cast<void*>(&allocate_object)},
    {Py_tp_init, reinterpret_cast<void*>(&make_canonicalizer)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&drop<Canonicalizer>)},
    {Py_tp_methods, canonicalizer_methods},
    {0, nullptr}};
PyType_Spec canonicalizer_spec = {"trawl.Canonicalizer", sizeof(Holder<Canonicalizer>), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, canonicalizer_slots};

// ---- Robots ----

int make_robots(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded(-1, [&] {
    PyObject* text = nullptr;
    const char* names[] = {"text", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &text) == 0)
      throw PythonError();
    return hold(self, Robots::parse(text_of(text, "text")));
  });
}

PyObject* is_allowed(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* agent = nullptr;
    PyObject* url = nullptr;
    const char* names[] = {"agent", "url", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "OO:allowed", const_cast<char**>(names), &agent,
                                    &url) == 0) {
      throw PythonError();
    }
    return PyBool_FromLong(
        held<Robots>(self).allowed(text_of(agent, "agent"), url_of(url, "url")) ? 1 : 0);
  });
}

PyObject* crawl_delay(PyObject* self, PyObject* agent) {
  return guarded([&]() -> PyObject* {
    const auto delay = held<Robots>(self).crawl_delay(text_of(agent, "agent"));
    if (!delay) Py_RETURN_NONE;
    return PyFloat_FromDouble(std::chrono::duration<double>(*delay).count());
  });
}

PyObject* sitemaps(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref list(checked(PyList_New(0)));
    for (const std::string& url : held<Robots>(self).sitemaps())
      checked(PyList_Append(list.get(), str_of(url).get()));
    return list.release();
  });
}

PyMethodDef robots_methods[] = {
    kNoPickle,
    {"allowed", method(is_allowed), kWithKeywords,
     "allowed($self, agent, url)\n--\n\nWhether a crawler may fetch a URL."},
    {"crawl_delay", &crawl_delay, METH_O,
     "crawl_delay($self, agent, /)\n--\n\nThe agent's Crawl-delay in seconds, or None."},
    {"sitemaps", &sitemaps, METH_NOARGS, "sitemaps($self)\n--\n\nThe URLs of the Sitemap lines."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot robots_slots[] = {
    {Py_tp_doc, const_cast<char*>("Robots(text)\n--\n\nThe rules of a robots.txt.")},
    {Py_tp_new, reinterpret_cast<void*>(&allocate_object)},
    {Py_tp_init, reinterpret_cast<void*>(&make_robots)},
    {Py_tp_dealloc, reinterpret_cast<void*>(&drop<Robots>)},
    {Py_tp_methods, robots_methods},
    {0, nullptr}};
PyType_Spec robots_spec = {"trawl.Robots", sizeof(Holder<Robots>), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, robots_slots};

// ---- functions ----

PyObject* resolve(PyObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* text = nullptr;
    PyObject* base = nullptr;
    const char* names[] = {"url", "base", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:resolve", const_cast<char**>(names), &text,
                                    &base) == 0) {
      throw PythonError();
    }
    Url base_url;
    const bool has_base = base != nullptr && base != Py_None;
    if (has_base) base_url = url_of(base, "base");
    const Url url = value_of(Url::parse(text_of(text, "url"), has_base ? &base_url : nullptr));
    return str_of(url.href()).release();
  });
}

LinkKinds kinds_of(PyObject* kinds) {
  if (kinds == nullptr || kinds == Py_None) return LinkKinds::pages();
  const Ref names = items_of(kinds, "kinds");
  LinkKinds wanted;
  for (Py_ssize_t i = 0; i < PyTuple_Size(names.get()); ++i) {
    const std::string_view name = text_of(PyTuple_GetItem(names.get(), i), "a kind");
    const auto kind = find_link_kind(name);
    if (!kind) {
      raise(PyExc_ValueError, "no such kind of link: \"" + std::string(name) +
                                  "\"; one of navigation, form, document, resource, related, "
                                  "citation, refresh, guess");
    }
    wanted |= LinkKinds{*kind};
  }
  return wanted;
}

// Of a page: a tuple that trawl/__init__.py gives names to.
PyObject* extract(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* html = nullptr;
    PyObject* base = nullptr;
    PyObject* content_type = nullptr;
    PyObject* kinds = nullptr;
    int texts = 0;
    PyObject* max_text = nullptr;
    if (PyArg_ParseTuple(args, "OOOOpO", &html, &base, &content_type, &kinds, &texts, &max_text) ==
        0) {
      throw PythonError();
    }
    LinkOptions options;
    options.kinds = kinds_of(kinds);
    options.texts = texts != 0;
    options.max_text = unsigned_of(max_text, "max_text", std::uint64_t{1} << 30);
    const std::string_view bytes = text_of(html, "html");
    const std::string_view type = text_or_empty(content_type, "content_type");
    Url base_url;
    if (base != Py_None) base_url = url_of(base, "url");
    PageLinks page;
    {
      const WithoutGil others_run;
      LinkExtractor(std::move(options)).extract_into(bytes, type, base_url, page);
    }
    Ref links(checked(PyList_New(0)));
    for (const Link& link : page.links) {
      const Ref one(checked(
          Py_BuildValue("(NNONNNN)", str_of(link.url.href()).release(),
                        str_of(to_string(link.kind)).release(), link.follow ? Py_True : Py_False,
                        str_of(link.element).release(), str_of(link.attribute).release(),
                        str_of(link.rel).release(), str_of(link.text).release())));
      checked(PyList_Append(links.get(), one.get()));
    }
    const auto or_none = [](const std::optional<Url>& url) {
      return url ? str_of(url->href()).release() : Ref::of_borrowed(Py_None).release();
    };
    return checked(Py_BuildValue("(NNNNNNNOOO)", links.release(), str_of(page.title).release(),
                                 str_of(page.language).release(), str_of(page.text).release(),
                                 str_of(page.encoding).release(), or_none(page.canonical),
                                 or_none(page.refresh ? page.refresh->url : std::nullopt),
                                 page.robots.noindex ? Py_True : Py_False,
                                 page.robots.nofollow ? Py_True : Py_False,
                                 page.skipped != LinksSkipped::kNo ? Py_True : Py_False));
  });
}

PyObject* parse_map(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* data = nullptr;
    PyObject* base = nullptr;
    if (PyArg_ParseTuple(args, "OO", &data, &base) == 0) throw PythonError();
    const std::string_view bytes = text_of(data, "data");
    const Url base_url = url_of(base, "url");
    Sitemap map;
    {
      const WithoutGil others_run;
      map = Sitemap::parse(bytes, base_url);
    }
    Ref entries(checked(PyList_New(0)));
    for (const SitemapEntry& entry : map.entries) {
      Ref modified = entry.last_modified
                         ? Ref(PyLong_FromLongLong(entry.last_modified->time_since_epoch().count()))
                         : Ref::of_borrowed(Py_None);
      Ref frequency = entry.change_frequency ? str_of(to_string(*entry.change_frequency))
                                             : Ref::of_borrowed(Py_None);
      Ref priority =
          entry.priority ? Ref(PyFloat_FromDouble(*entry.priority)) : Ref::of_borrowed(Py_None);
      const Ref one(
          checked(Py_BuildValue("(NNNN)", str_of(entry.url.href()).release(), modified.release(),
                                frequency.release(), priority.release())));
      checked(PyList_Append(entries.get(), one.get()));
    }
    Ref warnings(checked(PyList_New(0)));
    for (const std::string& warning : map.warnings)
      checked(PyList_Append(warnings.get(), str_of(warning).get()));
    return checked(Py_BuildValue("(NNON)", str_of(to_string(map.kind)).release(), entries.release(),
                                 map.complete ? Py_True : Py_False, warnings.release()));
  });
}

PyMethodDef functions[] = {
    {"resolve", method(resolve), kWithKeywords,
     "resolve(url, base=None)\n--\n\nParses a URL, relative to a base."},
    {"extract_links", &extract, METH_VARARGS, "See trawl.extract_links()."},
    {"parse_sitemap", &parse_map, METH_VARARGS, "See trawl.parse_sitemap()."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Profile profile_of(PyObject* rules) {
  if (rules == nullptr || rules == Py_None) return {};
  const Ref names = items_of(rules, "rules");
  RulesText text;
  text.rules.emplace();
  for (Py_ssize_t i = 0; i < PyTuple_Size(names.get()); ++i)
    text.rules->emplace_back(text_of(PyTuple_GetItem(names.get(), i), "a rule"));
  if (text.rules->empty()) return {};
  return value_of(Profile::from_text(text));
}

void add_documents(PyObject* module) {
  add_type(module, canonicalizer_spec, "Canonicalizer");
  add_type(module, robots_spec, "Robots");
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace trawl::python
