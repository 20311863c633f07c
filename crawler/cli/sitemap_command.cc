// trawl sitemap
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trawl/sitemap.h"

#include "base/rfc3339.h"
#include "crawler/cli/buffered_output.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/document.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/printable_text.h"
#include "crawler/cli/say.h"
#include "crawler/cli/verb_help.h"

namespace trawl::cli {

namespace {

VerbHelp help_of_sitemap() {
  return {
      .text =
          R"(Prints a line for each entry of a sitemap (XML or text), a sitemap index or a feed (RSS, Atom), with
fields separated by tabs: "page", or "sitemap" for an entry of an index; modification time in UTC;
change frequency; priority; URL. "-" marks a missing field. The kind of the document and problems in
it are printed to standard error.

SITEMAP is a file, - for standard input, or an http(s) URL. A URL is fetched and redirects are
followed; only a URL with a private address may redirect to a private address. The sitemap may be
compressed with gzip. The sitemaps listed in an index are not read.

  --json   {"url":"...","kind":"page","lastmod":"2026-01-31T00:00:00Z","changefreq":"weekly",
           "priority":0.5,"alternates":[{"hreflang":"de","url":"..."}]} for each entry, with null
           for missing fields; then {"sitemap":"...", ...} with the kind of the document)",
      .output = R"(A line for each entry, on standard output; problems on standard error.)",
      .examples = {{"trawl sitemap https://example.com/sitemap.xml"},
                   {"trawl sitemap sitemap.xml.gz | cut -f5 | trawl normalize"},
                   {"trawl sitemap https://example.com/sitemap_index.xml | grep ^sitemap"}},
      .exits = {{0, "at least a part was read"},
                {1, "not a sitemap or not readable"},
                {2, "wrong usage"},
                {3, "out of space"}}};
}

constexpr SitemapOptions kOptions;
// A compressed sitemap has the same limit as an uncompressed one.
constexpr std::size_t kMaxSitemapBytes = kOptions.max_bytes + 1;
constexpr std::size_t kPieceBytes = 64 << 10;

struct SitemapArguments {
  std::string source;
  std::string base;
  bool json = false;
  bool quiet = false;
};

class SitemapPrinter {
 public:
  SitemapPrinter(const SitemapArguments& arguments, const Document& document, const Url& base)
      : arguments_(arguments),
        document_(document),
        reader_(base, [this](SitemapEntry&& entry) { take(entry); }) {}

  Result<void> run() {
    std::string_view rest = document_.bytes;
    while (!rest.empty() && written_ && reader_.feed(rest.substr(0, kPieceBytes)))
      rest.remove_prefix(std::min(rest.size(), kPieceBytes));
    if (!written_) return written_;
    const SitemapInfo& info = reader_.finish();
    if (arguments_.json) print_json(info);
    if (written_) written_ = out_.flush();
    if (!written_) return written_;
    if (info.kind == SitemapKind::kUnknown) return error(ErrorCode::kInvalidArgument, why(info));
    for (const std::string& warning : info.warnings)
      say(stderr, "trawl: warning: {}: {}\n", document_.name, printable(warning));
    if (document_.cut && info.complete) {
      say(stderr, "trawl: warning: {}: only the first {} MiB are read\n", document_.name,
          kMaxSitemapBytes >> 20);
    }
    if (!arguments_.json && !arguments_.quiet) print_facts(info);
    return {};
  }

 private:
  std::string why(const SitemapInfo& info) const {
    return fmt::format(
        "{}: {}", document_.name,
        info.warnings.empty() ? "not a sitemap or feed" : printable(info.warnings.front()));
  }

  // Printed in batches, since a small piece may decompress to many entries.
  void take(const SitemapEntry& entry) {
    if (!written_) return;
    arguments_.json ? print_json(entry) : print_line(entry);
    written_ = out_.flush_if_full();
  }

  std::string_view kind_of_entries() const {
    return reader_.info().kind == SitemapKind::kIndex ? "sitemap" : "page";
  }

  static std::string date_of(const SitemapEntry& entry) {
    return to_rfc3339(SystemMicroseconds(*entry.last_modified), 0);
  }

  void print_line(const SitemapEntry& entry) {
    out_ << kind_of_entries() << '\t' << (entry.last_modified ? date_of(entry) : "-") << '\t'
         << (entry.change_frequency ? to_string(*entry.change_frequency) : "-") << '\t'
         << (entry.priority ? fmt::format("{}", *entry.priority) : "-") << '\t' << entry.url.href()
         << '\n';
  }

  void print(const nlohmann::ordered_json& json) {
    out_ << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  }

  void print_json(const SitemapEntry& entry) {
    nlohmann::ordered_json json{{"url", entry.url.href()}, {"kind", kind_of_entries()}};
    json["lastmod"] = nullptr;
    json["changefreq"] = nullptr;
    json["priority"] = nullptr;
    if (entry.last_modified) json["lastmod"] = date_of(entry);
    if (entry.change_frequency) json["changefreq"] = to_string(*entry.change_frequency);
    if (entry.priority) json["priority"] = *entry.priority;
    auto& alternates = json["alternates"] = nlohmann::ordered_json::array();
    for (const SitemapAlternate& alternate : entry.alternates)
      alternates.push_back({{"hreflang", alternate.hreflang}, {"url", alternate.url.href()}});
    print(json);
  }

  void print_json(const SitemapInfo& info) {
    const SitemapDropped& dropped = info.dropped;
    print({{"sitemap", document_.name},
           {"kind", to_string(info.kind)},
           {"entries", info.accepted},
           {"dropped",
            {{"invalid_url", dropped.invalid_url},
             {"other_scheme", dropped.other_scheme},
             {"too_long", dropped.too_long},
             {"no_url", dropped.no_url},
             {"alternates", dropped.alternates}}},
           {"bytes", info.bytes},
           {"gzip", info.gzip},
           {"complete", info.complete && !document_.cut},
           {"next", info.next ? nlohmann::ordered_json(info.next->href()) : nullptr},
           {"warnings", info.warnings}});
  }

  void print_facts(const SitemapInfo& info) {
    const auto line = [](std::string_view name, std::string_view value) {
      say(stderr, "{:<10}{}\n", name, value);
    };
    const SitemapDropped& dropped = info.dropped;
    line("sitemap", document_.name);
    line("kind", fmt::format("{}{}", to_string(info.kind), info.gzip ? ", gzip" : ""));
    line("bytes", fmt::format("{}", info.bytes));
    line("entries", fmt::format("{}", info.accepted));
    line("dropped",
         fmt::format("{} invalid, {} of other schemes, {} too long, {} without a URL",
                     dropped.invalid_url, dropped.other_scheme, dropped.too_long, dropped.no_url));
    if (info.next) line("next", info.next->href());
  }

  const SitemapArguments& arguments_;
  const Document& document_;
  BufferedOutput out_;
  Result<void> written_;  // the first error of the output
  SitemapReader reader_;
};

int run_sitemap(const SitemapArguments& arguments) {
  std::optional<Url> base;
  if (!arguments.base.empty()) {
    auto given = Url::parse(arguments.base);
    if (!given) throw CLI::ValidationError("--base", given.error().message);
    base = *std::move(given);
  }
  const auto document = read_document(arguments.source, {.max_bytes = kMaxSitemapBytes});
  if (!document) return report(document.error());
  if (const auto answered = expect_success(*document); !answered) return report(answered.error());
  if (!base) base = document->url;
  // In a file, URLs must be absolute unless --base is given.
  const auto printed = SitemapPrinter(arguments, *document, base.value_or(Url())).run();
  return printed ? kDone : report(printed.error());
}

}  // namespace

void add_sitemap_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<SitemapArguments>();
  auto* command = app.add_subcommand("sitemap", "Print the entries of a sitemap or feed");
  command->add_option("SITEMAP", arguments->source, "A file, - for standard input, or a URL")
      ->required();
  command
      ->add_option("--base", arguments->base,
                   "URL that a feed's relative URLs are resolved against")
      ->type_name("URL");
  command->add_flag("--json", arguments->json, "Print JSON, one object per line");
  command->add_flag("-q,--quiet", arguments->quiet, "Print entries, warnings and errors only");
  describe(command, help_of_sitemap());
  command->callback([arguments, &exit_code] { exit_code = run_sitemap(*arguments); });
}

}  // namespace trawl::cli
