#include "frontier/store/stored_url_dump.h"

namespace trawl {

DumpedUrl dumped_url(const UrlRecord& record, std::string_view queue) {
  return {.url = record.url,
          .host = queue,
          .parent = record.parent,
          .depth = record.depth,
          .redirects = record.redirects,
          .attempts = record.attempts,
          .recrawl = record.recrawl,
          .note = record.note};
}

DumpedUrl dumped_url(const SetAsideUrl& url) {
  return {.url = url.url,
          .host = url.host,
          .parent = url.parent,
          .priority = url.priority,
          .depth = url.depth,
          .redirects = url.redirects,
          .note = url.note,
          .state = url.state == SetAsideState::kHeld ? WaitingState::kHeld : WaitingState::kFailed,
          .reason = url.reason,
          .status = url.status,
          .since = url.since};
}

}  // namespace trawl
