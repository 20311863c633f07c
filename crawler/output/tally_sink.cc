#include "crawler/output/tally_sink.h"

#include <system_error>

#include "url/url_credentials.h"

namespace trawl {

Result<void> TallySink::add(PageOutput& page, std::string_view) {
  if (!page.listed) return {};
  std::string url;
  std::string error = scrubbed(page.outcome.error);
  target_.tally->add({.url = without_credentials(page.lease.url, url),
                      .host = page.lease.host,
                      .status = page.outcome.status,
                      .error = error,
                      .reason = page.page.reason,
                      .bytes = page.page.bytes,
                      .elapsed = page.page.elapsed,
                      .fetched_at = page.page.fetched_at,
                      .redirect = !page.page.redirect.empty(),
                      .duplicate = !page.written.duplicate_of.empty(),
                      .truncated = !page.page.truncated.empty(),
                      .recrawl = page.lease.recrawl});
  return {};
}

Result<void> TallySink::do_periodic_work() {
  if (std::chrono::steady_clock::now() >= stored_ + kStoreInterval) store();
  return {};
}

Result<void> TallySink::close() {
  if (!failed_) store();
  return {};
}

void TallySink::store() {
  std::error_code missing;
  const auto size = std::filesystem::file_size(pages_, missing);
  target_.save(missing ? 0 : size);
  stored_ = std::chrono::steady_clock::now();
}

}  // namespace trawl
