#include "crawler/run/page_reader.h"

#include <algorithm>
#include <utility>

#include "crawler/decide/url_note.h"
#include "crawler/parse/headers/media_type.h"
#include "crawler/run/fetch_failure.h"

namespace trawl {

namespace {

constexpr std::size_t kMaxPageText = 1u << 20;

LinkOptions link_options(const CrawlContext& context) {
  const CrawlConfig& config = context.config;
  LinkOptions options;
  options.kinds = config.links.kinds;
  if (config.links.requisites) {
    options.kinds |= {LinkKind::kResource, LinkKind::kDocument};
    options.requisites = true;
    options.lazy_images = config.links.lazy_images;
  }
  if (config.links.guess.any()) options.kinds |= {LinkKind::kGuess};
  options.guess_scripts = config.links.guess.scripts;
  options.guess_json = config.links.guess.json;
  options.engine = config.links.engine;
  options.agent = context.robots_agent;
  options.max_bytes = std::max<std::size_t>(options.max_bytes, config.fetch.max_body);
  const SinkInputs inputs = context.output.sinks().inputs();
  options.texts = inputs.links;
  options.dropped = inputs.skipped;
  // These have an entry for each place where a link is.
  options.distinct = !inputs.links && !inputs.skipped && !inputs.outlinks;
  if (config.output.text && config.output.pages) options.max_text = kMaxPageText;
  return options;
}

}  // namespace

std::string_view content_type_of(const HttpResponse& response) {
  const bool is_sniffed = is_unknown_media_type(response.content_type) && !response.nosniff;
  if (is_sniffed && looks_like_html(response.body)) return "text/html";
  return response.content_type;
}

PageReader::PageReader(const CrawlContext& context)
    : context_(context), extractor_(link_options(context)), digest_(context.config.output) {}

// As PageHandler::handle() does, but a page whose body another URL had first is read for
// nothing if links.from_duplicates is off: which was first is known in the order of the pages only.
void PageReader::read_ahead(const Lease& lease, const Url& url, const HttpResponse& response,
                            ReadPage& read) {
  if (response.failure || failure_reason_of(response)) return;
  if (response.status == 304 && lease.recrawl) return;
  if (!payload_of(response).empty()) digest(response, read);
  const UrlNote note = UrlNote::decode(lease.note);
  if (note.role != UrlNote::Role::kPage || !is_parsed(response, note.found)) return;
  const bool unchanged = lease.recrawl && read.has_digest && read.digest == note.digest;
  if (!unchanged) links(url, response, read);
}

const std::string& PageReader::digest(const HttpResponse& response, ReadPage& read) {
  if (!std::exchange(read.has_digest, true)) read.digest = digest_(payload_of(response));
  return read.digest;
}

PageLinks& PageReader::links(const Url& url, const HttpResponse& response, ReadPage& read) {
  if (std::exchange(read.has_links, true)) return read.links;
  extractor_.extract_into(response.body, response.content_type, url, read.links);
  note_gists(read);
  return read.links;
}

const PageLinks& PageReader::style_sheet(const Url& url, const HttpResponse& response,
                                         ReadPage& read) {
  if (!style_sheets_) style_sheets_.emplace(extractor_.options());
  style_sheets_->read_into(response.body, response.content_type, url, read.links);
  note_gists(read);
  return read.links;
}

const PageLinks& PageReader::strings(const Url& base, const HttpResponse& response,
                                     ReadPage& read) {
  if (!scripts_) scripts_.emplace(extractor_.options().max_bytes);
  scripts_->read_into(response.body, base, read.links);
  note_gists(read);
  return read.links;
}

// Where each link is read, a third of those of documentation have the URL of one of the two links
// before them, perhaps with another fragment.
void PageReader::note_gists(ReadPage& read) const {
  constexpr std::size_t kLookBack = 2;
  const std::vector<Link>& links = read.links.links;
  read.gists.resize(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string_view url = links[i].url.href_without_fragment();
    const std::size_t most = std::min(i, kLookBack);
    std::size_t back = 1;
    while (back <= most && links[i - back].url.href_without_fragment() != url)
      ++back;
    read.gists[i] = {.hash = back <= most ? read.gists[i - back].hash : context_.link_hash(url),
                     .times = links[i].times,
                     .kind = links[i].kind,
                     .follow = links[i].follow};
  }
}

bool PageReader::is_parsed(const HttpResponse& response, FoundKinds found) const {
  // An image that is SVG loads nothing; a document does.
  const bool svg =
      context_.config.links.requisites && !found.intersects({FoundAs::kResource, FoundAs::kGuess});
  return !response.body.empty() &&
         context_.rules.read.has(content_type_of(response), response.status, svg);
}

}  // namespace trawl
