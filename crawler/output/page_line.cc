#include "crawler/output/page_line.h"

#include <string>

#include "crawler/output/json_line.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

void append_place(JsonLine& line, const std::optional<WarcLocation>& place) {
  if (!place) {
    line.null("warc");
    return;
  }
  line.begin_object("warc")
      .text("file", place->file)
      .number("offset", place->offset)
      .number("length", place->length)
      .end_object();
}

void append_robots(JsonLine& line, const PageRecord& page) {
  if (!page.noindex && !page.nofollow && !page.noarchive) {
    line.null("robots");
    return;
  }
  line.begin_array("robots");
  if (page.noindex) line.item("noindex");
  if (page.nofollow) line.item("nofollow");
  if (page.noarchive) line.item("noarchive");
  line.end_array();
}

}  // namespace

void append_page_line(std::string& out, const PageOutput& output) {
  const PageRecord& page = output.page;
  const Lease& lease = output.lease;
  const Outcome& outcome = output.outcome;
  JsonLine line(out);
  std::string scratch;  // of one value at a time
  line.text("url", without_credentials(lease.url, scratch))
      .signed_number("status", outcome.status)
      .text_or_null("error", scrubbed(outcome.error))
      .text_or_null("redirect", without_credentials(page.redirect, scratch))
      .text_or_null("content_type", page.content_type)
      .number("bytes", page.bytes)
      .number("depth", lease.depth)
      .text_or_null("parent", without_credentials(lease.parent, scratch))
      .number("links", page.links)
      .number("new_links", page.new_links)
      .time("fetched_at", page.fetched_at)
      .signed_number("elapsed_ms", page.elapsed.count())
      .text_or_null("digest", page.digest)
      .text_or_null("duplicate_of", without_credentials(output.written.duplicate_of, scratch))
      .text_or_null("reason", page.reason);
  append_place(line, output.written.place);
  line.text_or_null("canonical", without_credentials(page.canonical, scratch));
  append_robots(line, page);
  line.text_or_null("etag", page.etag)
      .text_or_null("last_modified", page.last_modified)
      .number("attempts", lease.attempts + (outcome.requested ? 1u : 0u))
      .boolean("recrawl", lease.recrawl)
      .text_or_null("truncated", page.truncated)
      .text_or_null("title", page.title)
      .text_or_null("language", page.language);
  if (page.text) line.text_or_null("text", *page.text);
  line.text_or_null("file", output.written.file);
  if (page.guesses > 0) line.number("guesses", page.guesses);
  if (!page.seed_note.empty()) line.text("seed_note", page.seed_note);
  line.end();
}

void append_link_line(std::string& out, std::string_view from, const LinkRecord& link) {
  JsonLine line(out);
  std::string scratch;  // of one value at a time
  line.text("from", without_credentials(from, scratch))
      .text("to", without_credentials(link.to, scratch))
      .text("kind", link.kind)
      .text_or_null("text", link.text)
      .text_or_null("rel", link.rel);
  line.end();
}

void append_skipped_line(std::string& out, std::string_view from, const SkippedRecord& skipped) {
  JsonLine line(out);
  std::string scratch;  // of one value at a time
  line.text("url", without_credentials(skipped.url, scratch))
      .text("reason", skipped.reason)
      .text_or_null("rule", skipped.rule)
      .text_or_null("from", without_credentials(from, scratch));
  line.end();
}

}  // namespace trawl
