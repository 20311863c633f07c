#include "crawler/output/page_line.h"

#include "crawler/output/json_line.h"

namespace trawl {

namespace {

void append_place(JsonLine& line, const std::optional<WarcPlace>& place) {
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

void append_page_line(std::string& out, const Completion& completion, const PageOutput& output) {
  const PageRecord& page = output.page;
  const Lease& lease = completion.lease;
  const Outcome& outcome = completion.outcome;
  JsonLine line(out);
  line.text("url", lease.url)
      .signed_number("status", outcome.status)
      .text_or_null("error", outcome.error)
      .text_or_null("redirect", page.redirect)
      .text_or_null("content_type", page.content_type)
      .number("bytes", page.bytes)
      .number("depth", lease.depth)
      .text_or_null("parent", lease.parent)
      .number("links", page.links)
      .number("new_links", completion.new_links + page.new_links_before)
      .time("fetched_at", page.fetched_at)
      .signed_number("elapsed_ms", page.elapsed.count())
      .text_or_null("digest", page.digest)
      .text_or_null("duplicate_of", output.written.duplicate_of)
      .text_or_null("reason", page.reason);
  append_place(line, output.written.place);
  line.text_or_null("canonical", page.canonical);
  append_robots(line, page);
  line.text_or_null("etag", page.etag)
      .text_or_null("last_modified", page.last_modified)
      .number("attempts", lease.attempts + (outcome.requested ? 1u : 0u))
      .boolean("recrawl", lease.recrawl)
      .text_or_null("truncated", page.truncated);
  line.end();
}

void append_link_line(std::string& out, std::string_view from, const LinkRecord& link) {
  JsonLine line(out);
  line.text("from", from)
      .text("to", link.to)
      .text("kind", link.kind)
      .text_or_null("text", link.text)
      .text_or_null("rel", link.rel);
  line.end();
}

void append_skipped_line(std::string& out, std::string_view from, const SkippedRecord& skipped) {
  JsonLine line(out);
  line.text("url", skipped.url)
      .text("reason", skipped.reason)
      .text_or_null("rule", skipped.rule)
      .text_or_null("from", from);
  line.end();
}

}  // namespace trawl
