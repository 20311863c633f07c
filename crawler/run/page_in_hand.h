// PageInHand: what is known of the page that a thread handles.
#pragma once

#include <chrono>
#include <optional>

#include "trawl/frontier.h"
#include "trawl/robots_directives.h"
#include "trawl/url.h"

#include "crawler/decide/url_note.h"
#include "crawler/http/http_client.h"
#include "crawler/output/page_output.h"
#include "crawler/run/crawl_context.h"
#include "crawler/run/fetched_page.h"
#include "crawler/run/page_reader.h"

namespace trawl {

struct PageInHand {
  const OpenLease& open;
  const Url& url;
  const HttpResponse& response;
  ReadPage& read;
  SystemTime fetched_at;
  UrlNote note;  // that the lease came with
  PageOutput& output;
  Outcome& outcome;
  RobotsDirectives asked = {};                         // X-Robots-Tag
  std::optional<FirstCopy> first_copy = std::nullopt;  // another URL had this body first
  std::optional<RevisitOf> earlier = std::nullopt;     // the record that has this body
  bool unchanged = false;                              // since the fetch before
  bool parsed = false;                                 // its links are in `read`
  bool leads_on = true;                                // see PageFollower::leads_on()
};

inline std::chrono::sys_seconds seconds_of(SystemTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

}  // namespace trawl
