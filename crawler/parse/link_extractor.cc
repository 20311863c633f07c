// Extracts links in up to two passes. The scanner reads the tokens of a page without building a
// tree; if it meets a construct where only tree construction decides what is an element, it says
// kNeedsTree, and Gumbo parses the page again. If Gumbo gives up (too deep, too slow, too large),
// the scanner's answer is used. Both engines report to a ReferenceCollector, so they find the same
// kinds of references. Only then are references resolved to URLs.
//
// Memory and time are bounded for hostile pages: LinkOptions::max_memory covers references and
// resolved links, and the time that Gumbo took reduces the time for resolving links.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "trawl/links.h"

#include "base/ascii.h"
#include "base/one_thread.h"
#include "base/thread_time.h"
#include "base/utf8_validation.h"
#include "crawler/parse/encoding/page_encoding.h"
#include "crawler/parse/encoding/valid_utf8.h"
#include "crawler/parse/headers/link_types.h"
#include "crawler/parse/headers/media_type.h"
#include "crawler/parse/headers/product_token.h"
#include "crawler/parse/html/anchor_text_reader.h"
#include "crawler/parse/html/gumbo_page_reader.h"
#include "crawler/parse/html/page_references.h"
#include "crawler/parse/html/page_scanner.h"
#include "crawler/parse/html/page_text_reader.h"
#include "crawler/parse/html/reference_collector.h"
#include "crawler/parse/repeated_references.h"
#include "crawler/parse/svg_reader.h"

namespace trawl {
namespace {

// The limit of the tokenizer's offsets.
constexpr std::size_t kLargestPage = std::size_t{1} << 30;

LinksSkipped skipped_by(GumboSandbox::Verdict verdict) {
  switch (verdict) {
    case GumboSandbox::Verdict::kParsed:
      return LinksSkipped::kNo;
    case GumboSandbox::Verdict::kTooMuchMemory:
      return LinksSkipped::kTooLarge;
    case GumboSandbox::Verdict::kTooDeep:
      return LinksSkipped::kTooDeep;
    case GumboSandbox::Verdict::kTooSlow:
      return LinksSkipped::kTooSlow;
    case GumboSandbox::Verdict::kBroken:
      return LinksSkipped::kUnparsable;
  }
  return LinksSkipped::kNo;
}

constexpr std::chrono::milliseconds kLongestTime = std::chrono::hours(1);
constexpr std::size_t kLinksPerClockRead = 1024;
constexpr std::chrono::milliseconds kLeastForLinks{200};

// Buffers of ordinary pages are kept; larger ones are freed.
constexpr std::size_t kLongestDropped =
    2048;  // bytes kept of a dropped reference: data: URLs may be long
constexpr std::size_t kOrdinaryLinks = 10'000;
constexpr std::size_t kOrdinaryBytes = 4u << 20;
// Links of earlier pages, whose buffers later ones use: of pages whose links take at most so much.
constexpr std::size_t kSpareLinks = 4096;
constexpr std::size_t kMostSpareBytes = 1u << 20;

LinkOptions validated(LinkOptions options) {
  options.agent = std::string(robots_token(options.agent));
  options.max_bytes = std::min(options.max_bytes, kLargestPage);
  options.max_time = std::clamp(options.max_time, std::chrono::milliseconds(0), kLongestTime);
  return options;
}

// With such a base, relative references are resolved against the document itself.
bool is_no_base_url(std::string_view reference) {
  skip_white_space(reference);
  const std::string_view scheme = reference.substr(0, reference.find(':'));
  return equal_in_any_case(scheme, "data") || equal_in_any_case(scheme, "javascript");
}

// Clears what was written for a page that was given up.
void forget_contents(PageLinks& page) {
  page.links.clear();
  page.base.reset();
  page.canonical.reset();
  page.refresh.reset();
  page.robots = {};
  page.title.clear();
  page.language.clear();
  page.text.clear();
  page.invalid = 0;
  page.other_scheme = 0;
  page.dropped.clear();
  page.repeated = 0;
}

}  // namespace

struct LinkExtractor::State {
  explicit State(LinkOptions given) : options(validated(std::move(given))) {
    if (options.distinct) repeated.emplace();
  }

  OneAtATime extracting;

  void extract(std::string_view html, PageEncoding encoding, const Url& url, PageLinks& page);
  LinksSkipped read(std::string_view html, PageLinks& page);
  LinksSkipped read_with_gumbo(std::string_view html);
  LinksSkipped read_as_svg(std::string_view text, PageLinks& page);
  void read_prolog(std::string_view text, ReferenceCollector& collector, PageReferences& found);
  void resolve_facts(const PageReferences& found, const Url& url, PageLinks& page);
  std::chrono::nanoseconds deadline_for_links() const;
  LinksSkipped resolve_links(const PageReferences& found, const Url& url, PageLinks& page);
  Result<void> parse(std::string_view reference, const Url* base, Url& out);
  std::optional<Url> parse(std::string_view reference, const Url* base);
  const Url* base_of(const Url& url, const PageLinks& page) const;
  Link& link_at(std::size_t i, std::vector<Link>& links);
  void cut(std::vector<Link>& links, std::size_t count, std::size_t memory);
  void shrink(PageLinks& page);

  const LinkOptions options;
  PageScanner scanner;
  std::optional<GumboPageReader> gumbo;
  PageReferences scanned;
  PageReferences from_tree;
  const PageReferences* answer = nullptr;
  // When parsing with Gumbo began, in thread time; absent without Gumbo.
  std::optional<std::chrono::nanoseconds> started;
  std::size_t memory_used = 0;  // by the tree
  PageEncoding query_encoding = PageEncoding::utf8();
  bool is_svg = false;
  bool is_xhtml = false;
  bool base_is_foreign = false;                // <base> is not an http(s) URL
  std::string utf8;                            // the decoded page, if it is not UTF-8
  std::string query;                           // a reference with its query in the page's encoding
  std::vector<Link> spare;                     // of earlier pages
  std::optional<RepeatedReferences> repeated;  // with LinkOptions::distinct
  AnchorTextReader texts;
  PageTextReader page_text;
};

// `html`: the page in UTF-8; `encoding`: its original encoding.
void LinkExtractor::State::extract(std::string_view html, PageEncoding encoding, const Url& url,
                                   PageLinks& page) {
  page.invalid = 0;
  page.other_scheme = 0;
  page.dropped.clear();
  page.repeated = 0;
  page.encoding = encoding.name();
  query_encoding = encoding.output();
  started.reset();
  page.skipped = is_svg ? read_as_svg(html, page) : read(html, page);
  if (page.skipped == LinksSkipped::kNo) {
    resolve_facts(*answer, url, page);
    page.skipped = resolve_links(*answer, url, page);
  }
  page.text.clear();
  if (page.skipped != LinksSkipped::kNo) forget_contents(page);
  if (options.max_text > 0) page_text.read(html, options.max_text, page.text);
  shrink(page);
}

// Reads the references of a page into `answer`, and sets page.engine.
LinksSkipped LinkExtractor::State::read(std::string_view html, PageLinks& page) {
  memory_used = 0;
  if (options.engine == LinkEngine::kScanner) {
    page.engine = LinkEngine::kScanner;
    answer = &scanned;
    scanned.clear();
    ReferenceCollector collector(options, scanned);
    read_prolog(html, collector, scanned);
    if (scanner.scan(html, collector, scanned) == PageScanner::Verdict::kExact) {
      return LinksSkipped::kNo;
    }
  }
  const LinksSkipped skipped = read_with_gumbo(html);
  if (skipped != LinksSkipped::kNo && options.engine == LinkEngine::kScanner) {
    // Uses the scanner's answer, and frees the tree's memory for it.
    gumbo.reset();
    memory_used = 0;
    return LinksSkipped::kNo;
  }
  page.engine = LinkEngine::kGumbo;
  answer = &from_tree;
  return skipped;
}

LinksSkipped LinkExtractor::State::read_with_gumbo(std::string_view html) {
  started = thread_time();
  from_tree.clear();
  ReferenceCollector collector(options, from_tree);
  read_prolog(html, collector, from_tree);
  gumbo.emplace(options);
  const LinksSkipped skipped = skipped_by(gumbo->read(html, collector));
  memory_used = gumbo->memory_used();
  return skipped;
}

// XHTML may have style sheets that the engines do not know.
void LinkExtractor::State::read_prolog(std::string_view text, ReferenceCollector& collector,
                                       PageReferences& found) {
  if (is_xhtml && is_utf8(text)) read_xml_prolog(text, collector, found);
}

// SVG is XML, which neither engine reads.
LinksSkipped LinkExtractor::State::read_as_svg(std::string_view text, PageLinks& page) {
  memory_used = 0;
  page.engine = LinkEngine::kScanner;
  answer = &scanned;
  scanned.clear();
  ReferenceCollector collector(options, scanned);
  std::string valid;
  read_svg(replace_invalid_utf8(text, valid), collector, scanned);
  return LinksSkipped::kNo;
}

Result<void> LinkExtractor::State::parse(std::string_view reference, const Url* base, Url& out) {
  if (!query_encoding.is_utf8()) reference = encode_query(reference, query_encoding, query);
  return Url::parse_into(reference, base, out);
}

std::optional<Url> LinkExtractor::State::parse(std::string_view reference, const Url* base) {
  Url url;
  if (!parse(reference, base, url)) return std::nullopt;
  return url;
}

// The base of relative links. Null if it is not an http(s) URL: then only absolute URLs are links.
const Url* LinkExtractor::State::base_of(const Url& url, const PageLinks& page) const {
  if (base_is_foreign) return nullptr;
  return page.base ? &*page.base : &url;
}

// Fills in everything except the links.
void LinkExtractor::State::resolve_facts(const PageReferences& found, const Url& url,
                                         PageLinks& page) {
  base_is_foreign = false;
  page.base.reset();
  if (Url base; found.base) {
    const auto parsed = parse(*found.base, &url, base);
    if (parsed) {
      page.base = std::move(base);
    } else {
      base_is_foreign =
          parsed.error().code == ErrorCode::kUnsupportedScheme && !is_no_base_url(*found.base);
    }
  }
  const Url* base = base_of(url, page);
  page.canonical = found.canonical ? parse(*found.canonical, base) : std::nullopt;
  page.robots = found.robots;
  page.title = found.title;
  page.language = found.language.value_or(found.meta_language.value_or(std::string()));
  page.refresh.reset();
  if (found.refresh) {
    page.refresh.emplace(MetaRefresh{.delay = found.refresh->delay, .url = {}});
    if (!found.refresh->url.empty()) page.refresh->url = parse(found.refresh->url, base);
  }
}

// The time for resolving links is reduced by Gumbo's time, but not to zero.
std::chrono::nanoseconds LinkExtractor::State::deadline_for_links() const {
  const auto now = thread_time();
  return std::max(started.value_or(now) + options.max_time,
                  now + std::min(options.max_time, kLeastForLinks));
}

// Fills in the links. Bounded in memory, since with a long base many short references expand
// greatly, and in time, since international host names are slow to resolve.
LinksSkipped LinkExtractor::State::resolve_links(const PageReferences& found, const Url& url,
                                                 PageLinks& page) {
  const Url* base = base_of(url, page);
  std::optional<std::chrono::nanoseconds> deadline;  // set only after the first links
  std::size_t memory = memory_used + found.memory() + found.references.size() * sizeof(Link);
  if (found.too_large || memory > options.max_memory) return LinksSkipped::kTooLarge;
  page.links.reserve(found.references.size());
  if (repeated) repeated->begin(found.references);
  auto anchor = found.anchors.begin();
  std::size_t count =
      0;  // links so far; the vector still has those of the previous page after them
  for (std::size_t i = 0; i < found.references.size(); ++i) {
    if (i % kLinksPerClockRead == kLinksPerClockRead - 1) {
      if (!deadline) deadline = deadline_for_links();
      if (thread_time() > *deadline) return LinksSkipped::kTooSlow;
    }
    const Reference& reference = found.references[i];
    if (repeated) {
      if (const auto link = repeated->find(i)) {
        page.links[*link].times += reference.times;
        page.repeated += reference.times;
        continue;
      }
    }
    Link& link = link_at(count, page.links);
    const auto parsed = parse(reference.value, base, link.url);
    if (!parsed) {
      const bool foreign = base_is_foreign || parsed.error().code == ErrorCode::kUnsupportedScheme;
      (foreign ? page.other_scheme : page.invalid) += reference.times;
      if (!options.dropped) continue;
      page.dropped.push_back({std::string(reference.value.substr(0, kLongestDropped)), foreign});
      memory += sizeof(DroppedLink) + page.dropped.back().text.capacity();
      if (memory > options.max_memory) return LinksSkipped::kTooLarge;
      continue;
    }
    link.kind = reference.kind;
    link.follow = !page.robots.nofollow && !says_nofollow(reference.rel);
    link.element = to_string(reference.element);
    link.attribute = to_string(reference.attribute);
    link.rel = reference.rel;
    link.times = reference.times;
    page.repeated += reference.times - 1;
    link.text.clear();
    while (anchor != found.anchors.end() && anchor->reference < i)
      ++anchor;
    if (anchor != found.anchors.end() && anchor->reference == i) texts.read(*anchor, link.text);
    memory += link.url.href().size() + link.rel.size();
    if (!link.text.empty()) memory += link.text.capacity();
    if (memory > options.max_memory) return LinksSkipped::kTooLarge;
    if (repeated) repeated->note(i, static_cast<std::uint32_t>(count));
    ++count;
  }
  cut(page.links, count, memory);
  return LinksSkipped::kNo;
}

// A page's links[i], of an earlier page if there is none.
Link& LinkExtractor::State::link_at(std::size_t i, std::vector<Link>& links) {
  if (i < links.size()) return links[i];
  if (spare.empty()) return links.emplace_back();
  links.push_back(std::move(spare.back()));
  spare.pop_back();
  return links.back();
}

// Pages differ in their number of links: the buffers of those that one has too many are kept.
void LinkExtractor::State::cut(std::vector<Link>& links, std::size_t count, std::size_t memory) {
  if (memory <= kMostSpareBytes) {
    for (; links.size() > count && spare.size() < kSpareLinks; links.pop_back())
      spare.push_back(std::move(links.back()));
  } else {
    spare.clear();
  }
  links.resize(count);
}

// Frees the memory of an exceptionally large page.
void LinkExtractor::State::shrink(PageLinks& page) {
  gumbo.reset();
  if (scanned.memory() > kOrdinaryBytes) scanned = {};
  if (from_tree.memory() > kOrdinaryBytes) from_tree = {};
  if (repeated) repeated->shrink(kOrdinaryLinks);
  for (std::string* buffer : {&utf8, &query}) {
    if (buffer->capacity() > kOrdinaryBytes) std::string().swap(*buffer);
  }
  if (page.links.capacity() > kOrdinaryLinks && page.links.size() <= kOrdinaryLinks / 2) {
    page.links.shrink_to_fit();
  }
  if (page.dropped.capacity() > kOrdinaryLinks) page.dropped.shrink_to_fit();
}

LinkExtractor::LinkExtractor(LinkOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
LinkExtractor::LinkExtractor(LinkExtractor&&) noexcept = default;
LinkExtractor& LinkExtractor::operator=(LinkExtractor&&) noexcept = default;
LinkExtractor::~LinkExtractor() = default;

const LinkOptions& LinkExtractor::options() const noexcept {
  return state_->options;
}

PageLinks LinkExtractor::extract(std::string_view bytes, std::string_view content_type,
                                 const Url& base) {
  PageLinks page;
  extract_into(bytes, content_type, base, page);
  return page;
}

void LinkExtractor::extract_into(std::string_view bytes, std::string_view content_type,
                                 const Url& base, PageLinks& page) {
  const OneAtATime::Use use(state_->extracting);
  if (bytes.size() > state_->options.max_bytes) {
    forget_contents(page);
    page.encoding = PageEncoding::utf8().name();
    page.engine = state_->options.engine;
    page.skipped = LinksSkipped::kTooLarge;
    return;
  }
  state_->is_svg = is_svg_media_type(content_type);
  state_->is_xhtml = is_xhtml_media_type(content_type);
  const PageEncoding encoding = detect_encoding(bytes, content_type);
  state_->extract(decode_page(bytes, encoding, state_->utf8), encoding, base, page);
}

PageLinks extract_links(std::string_view html, const Url& base, const LinkOptions& options) {
  return LinkExtractor(options).extract(html, "text/html; charset=utf-8", base);
}

}  // namespace trawl
