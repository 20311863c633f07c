// trawl links
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trawl/link_header.h"
#include "trawl/links.h"
#include "trawl/robots_directives.h"

#include "crawler/cli/buffered_output.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/document.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/say.h"
#include "crawler/cli/verb_help.h"
#include "crawler/config/nearest_name.h"
#include "crawler/parse/css/style_sheet_reader.h"
#include "crawler/parse/headers/link_types.h"
#include "crawler/parse/headers/media_type.h"
#include "crawler/parse/html/meta_refresh_parser.h"

namespace trawl::cli {

namespace {

VerbHelp help_of_links() {
  return {
      .text =
          R"(Prints a line for each link, in page order, with fields separated by tabs: kind, element and
attribute, "follow" or "nofollow", and URL. Properties of the page, such as its title, robots
directives and encoding, are printed to standard error.

PAGE is a file, - for standard input, or an http(s) URL. A URL is fetched and redirects are followed;
only a URL with a private address may redirect to a private address. For a file, give the page's URL
with --base; without it, relative links are dropped unless the page has a <base href>. A server's
Link and X-Robots-Tag headers are used too; their links come from header@link.

PAGE may be a style sheet: its type is text/css, or its file name ends with .css. Its URLs have the
kind resource and come from css@import, css@font or css@image.

KINDS is a comma-separated list of:
  navigation  <a href>, <area href>            resource  images, media, scripts, style sheets
  document    <iframe>, <frame>, <object>,     related   <link rel> alternate, next, prev,
              <embed>                                    amphtml, canonical
  form        <form action>, sent by GET       citation  <blockquote cite>, <q cite>
  refresh     <meta http-equiv=refresh>
or "pages", the default (navigation, document, related and refresh, which a crawl follows; of a style
sheet, resource), or "all".

  --text   add a column before the URL: the text between <a> and </a>, empty for other links
  --json   {"url":"...","kind":"navigation","element":"a","attribute":"href","rel":"",
           "follow":true} for each link, with --text also "text":"..."; then {"page":"...", ...} with
           the properties of the page)",
      .output =
          R"(A line for each link, on standard output; properties of the page on standard error.)",
      .examples = {{"trawl links https://example.com/"},
                   {"trawl links page.html --base https://example.com/a/ --kinds all"},
                   {"trawl links style.css --base https://example.com/css/style.css"},
                   {"curl -s https://example.com/ | trawl links - --base https://example.com/ -q | "
                    "cut -f4 | sort -u"}},
      .exits = {{0, "the page was read"},
                {1, "it could not be read"},
                {2, "wrong usage"},
                {3, "out of space"}}};
}

// Adds what Link, Refresh and X-Robots-Tag say to `page`, which `options` made of `document`. Links
// are relative to `base`; they come before the page's own, from attribute "link" or "refresh" of
// element "header", with the kinds that <link>s of their rel or a <meta> have; what a page forbids
// or its header does is forbidden.
void add_headers(const Document& document, const Url& base, const LinkOptions& options,
                 PageLinks& page) {
  page.robots |= parse_x_robots_tag(document.x_robots_tag, options.agent);
  std::vector<Link> links;
  for (HeaderLink& link : parse_link_header(document.link, base)) {
    const LinkTypes types(link.rel);
    if (!page.canonical && types.canonical) page.canonical = link.url;
    const auto kind = types.kind();
    if (!kind || !options.kinds.has(*kind)) continue;
    links.push_back({.url = std::move(link.url),
                     .kind = *kind,
                     .follow = !says_nofollow(link.rel),
                     .element = "header",
                     .attribute = "link",
                     .rel = std::move(link.rel)});
  }
  if (auto refresh = parse_meta_refresh(document.refresh)) {
    auto url = Url::parse(refresh->url, &base);
    const bool elsewhere = url && !refresh->url.empty();
    if (elsewhere && options.kinds.has(LinkKind::kRefresh)) {
      links.push_back({.url = *url,
                       .kind = LinkKind::kRefresh,
                       .element = "header",
                       .attribute = "refresh",
                       .rel = {}});
    }
    if (!page.refresh) {
      page.refresh = MetaRefresh{.delay = refresh->delay,
                                 .url = elsewhere ? std::optional(*std::move(url)) : std::nullopt};
    }
  }
  page.links.insert(page.links.begin(), std::make_move_iterator(links.begin()),
                    std::make_move_iterator(links.end()));
  if (!page.robots.nofollow) return;
  for (Link& link : page.links)
    link.follow = false;
}

bool is_style_sheet(const Document& document) {
  if (!document.content_type.empty()) return is_css_media_type(document.content_type);
  return !document.url && document.name.ends_with(".css");
}

// The name of what found the links.
std::string_view engine_of(const Document& document, const PageLinks& page) {
  return is_style_sheet(document) ? "css" : to_string(page.engine);
}

constexpr std::size_t kMaxPageBytes = 64u << 20;

struct LinksArguments {
  std::string source;
  std::string base;
  std::string content_type;
  std::optional<LinkKinds> kinds;
  LinkEngine engine = LinkEngine::kScanner;
  bool text = false;
  bool json = false;
  bool quiet = false;
};

// --- options

LinkKinds kinds_named(std::string_view name) {
  if (name == "all") return LinkKinds::all();
  if (name == "pages") return LinkKinds::pages();
  if (const auto kind = find_link_kind(name)) return {*kind};
  std::vector<std::string_view> known{"all", "pages"};
  known.insert(known.end(), kLinkKindNames.begin(), kLinkKindNames.end());
  const std::string_view nearest = nearest_name(name, known);
  throw CLI::ValidationError(
      "--kinds", fmt::format("\"{}\" is not a kind of link; {}", printable(name),
                             nearest.empty() ? "--help lists them"
                                             : fmt::format("did you mean {}?", nearest)));
}

LinkKinds parse_kinds(std::string_view list) {
  LinkKinds kinds{};
  while (true) {
    const std::size_t comma = list.find(',');
    kinds |= kinds_named(list.substr(0, comma));
    if (comma == std::string_view::npos) return kinds;
    list.remove_prefix(comma + 1);
  }
}

LinkEngine parse_engine(std::string_view name) {
  if (name == "scanner") return LinkEngine::kScanner;
  if (name == "gumbo") return LinkEngine::kGumbo;
  throw CLI::ValidationError("--engine",
                             fmt::format("\"{}\" is neither scanner nor gumbo", printable(name)));
}

std::optional<Url> base_of(const LinksArguments& arguments) {
  if (arguments.base.empty()) return std::nullopt;
  auto base = Url::parse(arguments.base);
  if (!base) throw CLI::ValidationError("--base", base.error().message);
  return *std::move(base);
}

void warn_of_missing_base(const Url& url, const Document& document, const PageLinks& page) {
  if (!url.href().empty() || page.base || page.invalid == 0) return;
  say(stderr,
      "trawl: warning: {} links of {} are dropped, being relative or invalid; give the page's URL "
      "with --base\n",
      page.invalid, document.name);
}

// --- the page

void warn_unless_html(const Document& document, const std::string& content_type) {
  constexpr std::string_view kGzip = "\x1F\x8B";
  if (document.bytes.starts_with(kGzip)) {
    say(stderr, "trawl: warning: {} is compressed with gzip: decompress it first with zcat\n",
        document.name);
  } else if (!content_type.empty() && !is_html_media_type(content_type) &&
             !is_svg_media_type(content_type)) {
    say(stderr, "trawl: warning: {} has the type {}; it is read as HTML\n", document.name,
        printable(content_type));
  }
}

std::string_view why(LinksSkipped skipped, bool style_sheet) {
  switch (skipped) {
    case LinksSkipped::kNo:
      break;
    case LinksSkipped::kTooLarge:
      return "the page, its tree or its links need too much memory";
    case LinksSkipped::kTooDeep:
      return "its elements are nested too deeply for Gumbo; use --engine scanner";
    case LinksSkipped::kTooSlow:
      return style_sheet ? "its URLs take too long to resolve"
                         : "Gumbo takes too long; use --engine scanner";
    case LinksSkipped::kUnparsable:
      return "Gumbo failed; use --engine scanner";
  }
  return "";
}

// --- what is printed

std::string names_of(const RobotsDirectives& robots) {
  std::string names;
  const auto add = [&names](bool set, std::string_view name) {
    if (!set) return;
    if (!names.empty()) names += ", ";
    names += name;
  };
  add(robots.noindex, "noindex");
  add(robots.nofollow, "nofollow");
  add(robots.noarchive, "noarchive");
  return names;
}

void print_facts(const Url& url, const Document& document, const PageLinks& page) {
  const auto line = [](std::string_view name, std::string_view value) {
    if (!value.empty()) say(stderr, "{:<10}{}\n", name, value);
  };
  const auto href = [](const std::optional<Url>& of) { return of ? of->href() : ""; };
  line("page", url.href());
  line("base", href(page.base));
  line("canonical", href(page.canonical));
  line("title", printable(page.title));
  line("robots", names_of(page.robots));
  if (page.refresh) {
    line("refresh", fmt::format("after {} s{}{}", page.refresh->delay.count(),
                                page.refresh->url ? " to " : "", href(page.refresh->url)));
  }
  line("encoding", page.encoding);
  line("engine", engine_of(document, page));
  const auto nofollow =
      std::ranges::count_if(page.links, [](const Link& link) { return !link.follow; });
  line("links", fmt::format("{}, {} of them nofollow", page.links.size(), nofollow));
  line("dropped", fmt::format("{} invalid, {} of other schemes", page.invalid, page.other_scheme));
}

void print_line(const Link& link, bool with_text, BufferedOutput& out) {
  out << to_string(link.kind) << '\t' << link.element << '@' << link.attribute << '\t'
      << (link.follow ? "follow" : "nofollow") << '\t';
  if (with_text) out << printable(link.text) << '\t';
  out << link.url.href() << '\n';
}

void print_json(const nlohmann::ordered_json& json, BufferedOutput& out) {
  out << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void print_json(const Link& link, bool with_text, BufferedOutput& out) {
  nlohmann::ordered_json json = {{"url", link.url.href()},  {"kind", to_string(link.kind)},
                                 {"element", link.element}, {"attribute", link.attribute},
                                 {"rel", link.rel},         {"follow", link.follow}};
  if (with_text) json["text"] = link.text;
  print_json(json, out);
}

void print_json(const Url& url, const Document& document, const PageLinks& page,
                BufferedOutput& out) {
  const auto href = [](const std::optional<Url>& of) {
    return of ? nlohmann::ordered_json(of->href()) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json refresh;
  if (page.refresh) {
    refresh = {{"delay_s", page.refresh->delay.count()}, {"url", href(page.refresh->url)}};
  }
  print_json({{"page", url.href()},
              {"base", href(page.base)},
              {"canonical", href(page.canonical)},
              {"title", page.title},
              {"robots",
               {{"noindex", page.robots.noindex},
                {"nofollow", page.robots.nofollow},
                {"noarchive", page.robots.noarchive}}},
              {"refresh", refresh},
              {"content_type", document.content_type},
              {"encoding", page.encoding},
              {"engine", engine_of(document, page)},
              {"bytes", document.bytes.size()},
              {"links", page.links.size()},
              {"invalid", page.invalid},
              {"other_scheme", page.other_scheme}},
             out);
}

Result<void> print(const LinksArguments& arguments, const Url& url, const Document& document,
                   const PageLinks& page) {
  BufferedOutput out;
  for (const Link& link : page.links) {
    arguments.json ? print_json(link, arguments.text, out) : print_line(link, arguments.text, out);
    if (auto written = out.flush_if_full(); !written) return written;
  }
  if (arguments.json) print_json(url, document, page, out);
  if (auto written = out.flush(); !written) return written;
  if (!arguments.json && !arguments.quiet) print_facts(url, document, page);
  return {};
}

PageLinks read_page(const LinksArguments& arguments, const Document& document, const Url& url) {
  LinkOptions options{.kinds = arguments.kinds.value_or(LinkKinds::pages()),
                      .engine = arguments.engine,
                      .texts = arguments.text,
                      .max_bytes = kMaxPageBytes};
  PageLinks page;
  if (is_style_sheet(document)) {
    if (!arguments.kinds) options.kinds = {LinkKind::kResource};
    StyleSheetReader(options).read_into(document.bytes, document.content_type, url, page);
    if (!options.kinds.has(LinkKind::kResource)) page.links.clear();
  } else {
    warn_unless_html(document, document.content_type);
    page = LinkExtractor(options).extract(document.bytes, document.content_type, url);
  }
  if (page.skipped == LinksSkipped::kNo)
    add_headers(document, page.base.value_or(url), options, page);
  return page;
}

int run_links(const LinksArguments& arguments) {
  std::optional<Url> url = base_of(arguments);
  auto document = read_document(arguments.source, {.max_bytes = kMaxPageBytes});
  if (!document) return report(document.error());
  if (const auto answered = expect_success(*document); !answered) return report(answered.error());
  if (document->cut) {
    return report(
        {ErrorCode::kInvalidArgument, fmt::format("{} is larger than {} MiB, the limit of a page",
                                                  document->name, kMaxPageBytes >> 20)});
  }
  if (!arguments.content_type.empty()) document->content_type = arguments.content_type;
  if (!url) url = document->url.value_or(Url());
  const PageLinks page = read_page(arguments, *document, *url);
  if (page.skipped != LinksSkipped::kNo) {
    return report(
        {ErrorCode::kInvalidArgument, fmt::format("cannot read {}: {}", document->name,
                                                  why(page.skipped, is_style_sheet(*document)))});
  }
  warn_of_missing_base(*url, *document, page);
  const auto printed = print(arguments, *url, *document, page);
  return printed ? kDone : report(printed.error());
}

}  // namespace

void add_links_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<LinksArguments>();
  auto* command = app.add_subcommand("links", "Print the links of a page");
  command->add_option("PAGE", arguments->source, "A file, - for standard input, or a URL")
      ->required();
  command
      ->add_option("--base", arguments->base,
                   "URL of the page, which its relative links are resolved against")
      ->type_name("URL");
  command
      ->add_option_function<std::string>(
          "--kinds", [arguments](const std::string& list) { arguments->kinds = parse_kinds(list); },
          "Kinds of links to print (default: pages)")
      ->type_name("KINDS");
  command
      ->add_option_function<std::string>(
          "--engine",
          [arguments](const std::string& name) { arguments->engine = parse_engine(name); },
          "scanner (default), or gumbo, a full HTML5 parser")
      ->type_name("ENGINE");
  command
      ->add_option("--content-type", arguments->content_type,
                   "Value of a Content-Type header, for the charset: \"text/html; charset=gbk\"")
      ->type_name("TYPE");
  command->add_flag("--text", arguments->text, "Also print the texts of links");
  command->add_flag("--json", arguments->json, "Print JSON, one object per line");
  command->add_flag("-q,--quiet", arguments->quiet, "Print links, warnings and errors only");
  describe(command, help_of_links());
  command->callback([arguments, &exit_code] { exit_code = run_links(*arguments); });
}

}  // namespace trawl::cli
