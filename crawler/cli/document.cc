#include "crawler/cli/document.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/file_io.h"
#include "crawler/cli/printable_text.h"
#include "crawler/config/crawl_config.h"
#include "crawler/http/http_client.h"
#include "crawler/http/private_address.h"

namespace trawl::cli {

namespace {

constexpr std::size_t kReadBytes = 256 << 10;

// --- files

Result<Document> read_descriptor(int fd, std::string name, std::size_t max_bytes) {
  Document document{.name = std::move(name)};
  std::string& bytes = document.bytes;
  while (bytes.size() <= max_bytes) {
    const std::size_t had = bytes.size();
    const std::size_t wanted = std::min(kReadBytes, max_bytes + 1 - had);
    bytes.resize(had + wanted);
    const ssize_t n = ::read(fd, bytes.data() + had, wanted);
    const int error = errno;
    bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && error == EINTR) continue;
    if (n < 0) {
      return tl::unexpected<Error>(system_error(error, "cannot read " + document.name));
    }
    if (n == 0) return document;
  }
  bytes.resize(max_bytes);
  document.cut = true;
  return document;
}

Result<Document> read_file(const std::string& path, std::size_t max_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() >= 0) return read_descriptor(file.get(), path, max_bytes);
  Error error = system_error(errno, "cannot read " + path);
  if (error.code == ErrorCode::kNotFound) {
    error.message += "; for a URL, begin with http:// or https://";
  }
  return tl::unexpected(std::move(error));
}

// --- the web

// Ignores SIGPIPE: writing to a connection that the server closed returns an error instead of
// ending the program.
class IgnoreBrokenPipes {
 public:
  IgnoreBrokenPipes() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  IgnoreBrokenPipes(const IgnoreBrokenPipes&) = delete;
  IgnoreBrokenPipes& operator=(const IgnoreBrokenPipes&) = delete;
  ~IgnoreBrokenPipes() { std::signal(SIGPIPE, before_); }

 private:
  void (*const before_)(int);
};

// `from`: the URL that redirected here, if private addresses are refused because of it.
Result<HttpResponse> get(const Url& url, std::size_t max_bytes, const Url* from) {
  const CrawlConfig config;
  const auto client = HttpClient::create({.user_agent = config.crawl.user_agent,
                                          .timeout = config.fetch.timeout,
                                          .connections = 1,
                                          .http2 = config.fetch.http2,
                                          .allow_private_addresses = from == nullptr,
                                          .ca_file = config.fetch.ca_file});
  if (!client) return tl::unexpected(client.error());
  std::optional<HttpResponse> answer;
  (*client)->start({.url = std::string(url.href_without_fragment()),
                    .max_body = std::uint64_t{max_bytes} + 1,
                    .truncate_body = true},
                   [&answer](HttpResponse response) { answer = std::move(response); });
  while (!answer)
    (*client)->run(config.fetch.timeout);
  if (from != nullptr && answer->failure == FetchError::kAddressRefused) {
    return error(
        ErrorCode::kPermission,
        fmt::format(
            "{} redirects to {}, whose address is private: give that URL itself to fetch it",
            from->href(), url.href()));
  }
  if (!answer->error.empty()) {
    return error(ErrorCode::kIo,
                 fmt::format("cannot fetch {}: {}", url.href(), printable(answer->error)));
  }
  return *std::move(answer);
}

bool is_private(const std::string& address) {
  return is_private_host(address.find(':') == std::string::npos ? address : "[" + address + "]");
}

// Follows redirects itself, since links are relative to the last URL. A private address that the
// user gave is fetched. A redirect from a public to a private address is refused: the server may
// want to reach what only the user's machine can.
Result<Document> fetch(const std::string& address, const DocumentOptions& options) {
  const IgnoreBrokenPipes ignored;
  auto url = Url::parse(address);
  Url from;
  bool within_private = false;
  for (std::uint32_t redirects = 0; url; ++redirects) {
    auto answer = get(*url, options.max_bytes, redirects == 0 || within_private ? nullptr : &from);
    if (!answer) return tl::unexpected(answer.error());
    if (redirects == 0) within_private = is_private(answer->address);
    if (answer->is_redirect() && redirects < options.max_redirects) {
      auto target = Url::parse(answer->location, &*url);
      if (!target) {
        return error(target.error().code,
                     fmt::format("{} redirects to a URL that cannot be fetched: {}", url->href(),
                                 target.error().message));
      }
      from = *std::move(url);
      url = *std::move(target);
      continue;
    }
    const bool cut = answer->body.size() > options.max_bytes;
    if (cut) answer->body.resize(options.max_bytes);
    return Document{.name = std::string(url->href()),
                    .bytes = std::move(answer->body),
                    .cut = cut,
                    .url = *std::move(url),
                    .status = answer->status,
                    .content_type = std::move(answer->content_type),
                    .link = std::move(answer->link),
                    .refresh = std::move(answer->refresh),
                    .x_robots_tag = std::move(answer->x_robots_tag)};
  }
  return tl::unexpected(url.error());
}

}  // namespace

bool is_web_address(const std::string& source) {
  return starts_with_in_any_case(source, "http://") || starts_with_in_any_case(source, "https://");
}

Result<Document> read_document(const std::string& source, const DocumentOptions& options) {
  if (is_web_address(source)) return fetch(source, options);
  if (source == "-") return read_descriptor(STDIN_FILENO, "standard input", options.max_bytes);
  return read_file(source, options.max_bytes);
}

Result<void> expect_success(const Document& document) {
  const int status = document.status;
  if (status == 0 || (status >= 200 && status < 300)) return {};
  const std::string_view what =
      status >= 300 && status < 400 ? " (too many redirects, or a redirect without a target)" : "";
  return error(ErrorCode::kIo,
               fmt::format("{}: the server answered HTTP {}{}", document.name, status, what));
}

}  // namespace trawl::cli
