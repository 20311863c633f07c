"""Requests of Scrapy as bytes and back. Scrapy's own way takes four times as long."""

import pickle
import re

import scrapy
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.request import request_from_dict

_PLAIN_HOST = re.compile(r"https?://([a-z0-9.-]+)(?::[0-9]*)?(?:[/?#]|$)")
# Whether this version's requests have what we know, and nothing else.
_KNOWN = set(scrapy.Request.attributes) == {
    "url", "callback", "method", "headers", "body", "cookies", "meta", "encoding", "priority", "dont_filter", "errback",
    "flags", "cb_kwargs"}


def stored_request(request, spider):
    """Raises what to_dict() and pickle do for a request that cannot be stored."""
    stored = None
    if type(request) is scrapy.Request and _KNOWN:
        stored = _short(request, spider)
    if stored is None:
        stored = request.to_dict(spider=spider)
    return pickle.dumps(stored, protocol=4)


def _short(request, spider):
    """What to_dict() returns, without what is as in any request. None: ask that."""
    stored = {"url": request.url}
    if request.headers:
        stored["headers"] = dict(request.headers)
    if request.body:
        stored["body"] = request.body
    if request.cookies:
        stored["cookies"] = request.cookies
    if request.meta:
        stored["meta"] = request.meta
    if request.priority:
        stored["priority"] = request.priority
    if request.dont_filter:
        stored["dont_filter"] = request.dont_filter
    if request.flags:
        stored["flags"] = request.flags
    if request.cb_kwargs:
        stored["cb_kwargs"] = request.cb_kwargs
    if request.method != "GET":
        stored["method"] = request.method
    if request.encoding != "utf-8":
        stored["encoding"] = request.encoding
    for name, call in (("callback", request.callback), ("errback", request.errback)):
        if call is None:
            continue
        method = getattr(call, "__name__", "")
        if getattr(call, "__self__", None) is not spider or getattr(spider, method, None) != call:
            return None
        stored[name] = method
    return stored


class _Stored(scrapy.Request):
    """A request whose URL was made safe before it was stored: to do it again would take most of the time."""

    __slots__ = ()

    def _set_url(self, url):
        self._url = url


def _made_of(options):
    request = scrapy.Request.__new__(scrapy.Request)
    request.__class__ = _Stored
    request.__init__(**options)  # pylint: disable=unnecessary-dunder-call
    request.__class__ = scrapy.Request
    return request


def _can_make():
    """Whether this version's requests can be made so."""
    try:
        return _made_of({"url": "http://a.example/ "}).url == "http://a.example/ "
    except (AttributeError, TypeError, ValueError):
        return False


_CAN_MAKE = _can_make()


def restored_request(data, spider):
    stored = pickle.loads(data)
    if "_class" in stored or not _CAN_MAKE:
        return request_from_dict(stored, spider=spider)
    options = stored
    if "callback" in stored or "errback" in stored:
        options = dict(stored)
        for name in ("callback", "errback"):
            if options.get(name):
                options[name] = getattr(spider, options[name])
    try:
        return _made_of(options)
    except TypeError:  # stored by another version of Scrapy
        return request_from_dict(stored, spider=spider)


def host_of(request):
    """As urlparse() finds it, which takes ten times as long: it is asked for URLs out of the ordinary."""
    match = _PLAIN_HOST.match(request.url)
    if match:
        return match[1]
    try:
        return urlparse_cached(request).hostname
    except ValueError:
        return None
