// The URLs set aside, page by page.
#include <algorithm>

#include "trawl/set_aside.h"

#include "bindings/c/frontier_handle.h"

using namespace trawl;
using namespace trawl::c;

struct trawl_set_aside {
  std::vector<SetAsideUrl> urls;
};

namespace {

constexpr std::size_t kMostAtOnce = 1'000'000;

}  // namespace

void trawl_set_aside_url_init(trawl_set_aside_url* url) {
  clear_struct(url);
}

trawl_status trawl_frontier_set_aside(trawl_frontier* frontier, trawl_str after, size_t limit,
                                      trawl_set_aside** urls, trawl_error** error) {
  return with_frontier(frontier, error, [&](Frontier& opened) -> Checked {
    if (auto given = require(urls, "urls"); !given) return given;
    const auto from = view_of(after, "after");
    if (!from) return tl::unexpected(from.error());
    if (limit == 0) return invalid("limit is 0: ask for at least one URL");
    auto found = opened.set_aside(*from, std::min(limit, kMostAtOnce));
    if (!found) return failure(found.error());
    *urls = new trawl_set_aside{std::move(*found)};
    return {};
  });
}

size_t trawl_set_aside_count(const trawl_set_aside* urls) {
  return urls == nullptr ? 0 : urls->urls.size();
}

trawl_status trawl_set_aside_get(const trawl_set_aside* urls, size_t index,
                                 trawl_set_aside_url* url, trawl_error** error) {
  return guarded(error, [&]() -> Checked {
    if (auto given = require(urls, "urls"); !given) return given;
    if (index >= urls->urls.size()) return invalid("index is not below trawl_set_aside_count()");
    const SetAsideUrl& found = urls->urls[index];
    trawl_set_aside_url out;
    trawl_set_aside_url_init(&out);
    out.state = found.state == SetAsideState::kHeld ? TRAWL_ONLY_HELD : TRAWL_ONLY_FAILED;
    out.status = found.status;
    out.url = str_of(found.url);
    out.host = str_of(found.host);
    out.reason = str_of(found.reason);
    out.parent = str_of(found.parent);
    out.note = str_of(found.note);
    out.position = str_of(found.position);
    out.rules = found.rules;
    out.since_ms = unix_ms(found.since);
    out.was_queued = found.was_queued ? 1 : 0;
    out.priority = found.priority;
    out.depth = found.depth;
    out.redirects = found.redirects;
    return write_struct(url, out, "url");
  });
}

void trawl_set_aside_free(trawl_set_aside* urls) {
  delete urls;
}
