// A document passes through these stages, none of which holds all of it:
//  1. GzipStream decompresses gzip, detected by its first two bytes; several members are one
//  stream.
//  2. Blocks of 16 KiB are formed, so that the result does not depend on how the bytes arrive.
//  3. Utf8Stream decodes, by a byte order mark, the pattern of UTF-16, or the XML declaration, else
//     as UTF-8. ISO-8859-1 means windows-1252, as in browsers. A declaration of UTF-16 that can be
//     read as ASCII is wrong and ignored.
//  4. XmlRepairer rewrites what a parser would refuse: '&' without a reference, names of HTML 4
//     entities, CDATA, comments, DOCTYPE, control characters, mismatched end tags.
//  5. XmlPushParser is libxml2's push parser: no tree, no network, no files, no DTD.
//  6. SitemapElements finds entries and fields, in any case and namespace. A field ends with the
//     next tag, an entry with the next entry.
// Declarations never reach the parser, and references to entities declared in the document stay
// text, so entities cannot expand. Tags are cut at 64 KiB, 64 attributes and names of 256 bytes.
// Elements nested more than 100,000 deep, 256 KiB of different names, or 100,000 XML errors end the
// reading. So time is linear in the document's length and in max_result_bytes.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "trawl/sitemap.h"

#include "base/ascii.h"
#include "base/one_thread.h"
#include "base/utf8.h"
#include "crawler/parse/sitemap/entry_collector.h"
#include "crawler/parse/sitemap/gzip_stream.h"
#include "crawler/parse/sitemap/sitemap_elements.h"
#include "crawler/parse/sitemap/text_sitemap_parser.h"
#include "crawler/parse/sitemap/utf8_stream.h"
#include "crawler/parse/sitemap/xml_push_parser.h"
#include "crawler/parse/sitemap/xml_repairer.h"

namespace trawl {
namespace {

// The stages after decompression see only blocks of this size, so the result does not depend on how
// the bytes arrive.
constexpr std::size_t kBlock = 16u << 10;

// Limit of text before the XML, such as warnings of the program that made it.
constexpr std::size_t kMaxPreface = 1024;

// Where XML begins in a text with other text before it; npos if nowhere.
std::size_t xml_start(std::string_view text) {
  // A list of URLs.
  if (starts_with_in_any_case(text, "http://") || starts_with_in_any_case(text, "https://"))
    return text.npos;
  const std::string preface = to_lower(text.substr(0, kMaxPreface));
  std::size_t start = text.npos;
  for (const char* const begin : {"<?xml", "<urlset", "<sitemapindex", "<rss", "<feed"})
    start = std::min(start, preface.find(begin));
  return start;
}

}  // namespace

// Bytes -> GzipStream -> blocks -> Utf8Stream -> XmlRepairer -> XmlPushParser -> SitemapElements,
// or, if the text does not begin with a '<', -> TextSitemapParser; both -> EntryCollector.
struct SitemapReader::State {
  State(const Url& base, OnEntry callback, const SitemapOptions& options, OnDropped on_dropped)
      : on_entry(std::move(callback)),
        collector(base, options, std::move(on_dropped)),
        lines(collector),
        elements(collector),
        parser(elements) {}

  OneAtATime reading;

  void feed(std::string_view bytes);
  void finish();
  void take_block(bool last);
  void take_text(bool last);
  void take_xml(bool last);
  bool choose_format();
  void skip_preface(std::size_t start);
  void deliver();
  void add_warnings(bool cut_short);

  enum class Format { kUndecided, kText, kXml };

  OnEntry on_entry;
  EntryCollector collector;
  GzipStream gzip;
  Utf8Stream decoder;
  TextSitemapParser lines;
  SitemapElements elements;
  XmlPushParser parser;
  XmlRepairer repairer;
  std::string block;     // an incomplete block
  std::string text;      // the block as UTF-8
  std::string repaired;  // the text as XML
  Format format = Format::kUndecided;
  bool done = false;  // no more bytes are needed
  bool over_size = false;
  bool skipped_preface = false;
  bool finished = false;
};

void SitemapReader::State::feed(std::string_view bytes) {
  const std::uint64_t max_bytes = collector.options().max_bytes;
  SitemapInfo& info = collector.info();
  while (!done) {
    const std::size_t before = block.size();
    const std::uint64_t left = max_bytes - info.bytes;
    // One byte beyond the limit, to detect that there is more.
    const std::size_t room =
        static_cast<std::size_t>(std::min<std::uint64_t>(kBlock - before, left + 1));
    gzip.read(bytes, room, block);
    const std::size_t added = block.size() - before;
    if (added > left) {
      block.pop_back();
      info.bytes = max_bytes;
      over_size = true;
      done = true;
      return;
    }
    info.bytes += added;
    if (block.size() == kBlock) take_block(false);
    if (added == 0 && bytes.empty()) return;
  }
}

void SitemapReader::State::finish() {
  if (finished) return;
  finished = true;
  const bool cut_short = done && !over_size;
  if (!done) {
    const std::string_view held = gzip.finish();
    const std::size_t room = static_cast<std::size_t>(std::min<std::uint64_t>(
        held.size(), collector.options().max_bytes - collector.info().bytes));
    block.append(held.substr(0, room));
    collector.info().bytes += room;
    over_size = room < held.size();
  }
  if (!cut_short) take_block(true);
  done = true;
  collector.info().gzip = gzip.is_gzip();
  add_warnings(cut_short);
}

void SitemapReader::State::take_block(bool last) {
  decoder.decode(block, last, text);
  block.clear();
  if (format == Format::kUndecided && !choose_format()) {
    // Only white space so far.
    text.clear();
    return;
  }
  if (format == Format::kText) {
    take_text(last);
  } else {
    take_xml(last);
  }
  text.clear();
  deliver();
}

bool SitemapReader::State::choose_format() {
  // A second byte order mark occurs in concatenated files.
  std::size_t start = 0;
  while (start < text.size()) {
    const std::string_view rest = std::string_view(text).substr(start);
    if (rest.starts_with(kByteOrderMark)) {
      text.replace(start, 3, "");
    } else if (rest.front() == ' ' || (rest.front() >= '\t' && rest.front() <= '\r')) {
      ++start;
    } else {
      const bool markup = rest.front() == '<';
      format = markup ? Format::kXml : Format::kText;
      // Warnings may be HTML, and then begin with a line break.
      if (!markup || starts_with_in_any_case(rest, "<br")) skip_preface(start);
      return true;
    }
  }
  return false;
}

void SitemapReader::State::skip_preface(std::size_t start) {
  const std::size_t length = xml_start(std::string_view(text).substr(start));
  if (length == std::string::npos) return;
  format = Format::kXml;
  skipped_preface = true;
  // Line numbers stay right.
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(start + length);
  text.erase(std::remove_if(text.begin(), end, [](char c) { return c != '\n' && c != '\r'; }), end);
}

void SitemapReader::State::take_text(bool last) {
  if (!lines.feed(text)) {
    done = true;
    return;
  }
  // At a limit, the last line is incomplete.
  if (last && !over_size && !gzip.damaged() && !gzip.truncated()) lines.finish();
}

void SitemapReader::State::take_xml(bool last) {
  repaired.clear();
  repairer.repair(text, repaired);
  if (last) repairer.finish(repaired);
  const bool going_on = parser.feed(repaired);
  done = !going_on || elements.done();
  if (last && !done) parser.finish();
  if (last || !going_on) elements.finish();
}

void SitemapReader::State::deliver() {
  std::vector<SitemapEntry> ready;
  ready.swap(collector.ready());
  for (SitemapEntry& entry : ready)
    on_entry(std::move(entry));
}

void SitemapReader::State::add_warnings(bool cut_short) {
  SitemapInfo& info = collector.info();
  const bool to_the_end = !cut_short && !over_size;
  if (gzip.damaged() && to_the_end)
    collector.warn_incomplete("damaged gzip data: only the part before the damage is used");
  if (gzip.truncated() && to_the_end)
    collector.warn_incomplete("ends in the middle of its gzip data");
  if (over_size) {
    collector.warn_incomplete("more than " + std::to_string(collector.options().max_bytes) +
                              " bytes: the rest is not read");
  }
  if (decoder.repaired())
    collector.warn("has bytes that are not UTF-8: they are read as windows-1252");
  if (skipped_preface) collector.warn("the text before the XML is ignored");
  if (format == Format::kXml) {
    if (repairer.declares_entities()) collector.warn("declares entities: they are not expanded");
    if (info.kind == SitemapKind::kUnknown) {
      collector.warn(elements.root().empty() ? "not a sitemap: markup without an element"
                     : elements.root() == "html"
                         ? "not a sitemap: an HTML page"
                         : "not a sitemap: its root element is <" + elements.root() + ">");
      // Reading stopped at such a root.
      if (!elements.root().empty() || parser.stopped()) info.complete = false;
      return;
    }
    // Errors after the last entry within the limit are not reported.
    if (collector.full()) return;
    if (!parser.first_error().empty()) {
      collector.warn_incomplete("an XML error in " + parser.first_error() +
                                (parser.stopped() ? "; only the part before it is used" : ""));
    } else if (repairer.repaired_tags()) {
      collector.warn_incomplete("an XML error in line " + std::to_string(repairer.repaired_line()) +
                                ": mismatched tags");
    }
    if (!parser.root_closed() && to_the_end)
      collector.warn_incomplete("ends in the middle: <" + elements.root() + "> is not closed");
  } else if (info.kind == SitemapKind::kUnknown) {
    collector.warn(info.bytes == 0 ? "not a sitemap: the document is empty"
                                   : "not a sitemap: neither XML nor a list of URLs");
  }
}

SitemapReader::SitemapReader(const Url& base, OnEntry on_entry, const SitemapOptions& options,
                             OnDropped on_dropped)
    : state_(std::make_unique<State>(base, std::move(on_entry), options, std::move(on_dropped))) {}
SitemapReader::SitemapReader(SitemapReader&&) noexcept = default;
SitemapReader& SitemapReader::operator=(SitemapReader&&) noexcept = default;
SitemapReader::~SitemapReader() = default;

bool SitemapReader::feed(std::string_view bytes) {
  const OneAtATime::Use use(state_->reading);
  state_->feed(bytes);
  return !state_->done;
}

const SitemapInfo& SitemapReader::finish() {
  const OneAtATime::Use use(state_->reading);
  state_->finish();
  return state_->collector.info();
}

const SitemapInfo& SitemapReader::info() const noexcept {
  return state_->collector.info();
}

}  // namespace trawl
