// read_document: a file, standard input, or what a web server answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "trawl/result.h"
#include "trawl/url.h"

namespace trawl::cli {

struct DocumentOptions {
  std::size_t max_bytes = 0;         // what is beyond is not read
  std::uint32_t max_redirects = 10;  // in a row
};

// Of a robots.txt as in a crawl: more is read than counts, so that the parser sees where the last
// line that counts is cut. Redirects: RFC 9309, section 2.3.1.2.
inline constexpr DocumentOptions kRobotsTxtOptions{.max_bytes = 512 << 10, .max_redirects = 5};

struct Document {
  std::string name = {};  // for messages: "page.html", "standard input", "https://example.com/"
  std::string bytes = {};
  bool cut = false;  // there is more than max_bytes

  // The rest is of what a server answered.
  std::optional<Url> url = {};  // whose answer it is, redirects followed
  int status = 0;
  std::string content_type = {};
  std::string link = {};          // the Link headers, one behind the other
  std::string refresh = {};       // the Refresh header
  std::string x_robots_tag = {};  // the X-Robots-Tag headers, a line each
};

// True if read_document() would fetch `source`: it begins with "http://" or "https://".
bool is_web_address(const std::string& source);

// Reads `source`: a URL is fetched, "-" is standard input, anything else a file. A URL is asked for
// as a crawl with the default config would, but on any address: whoever names one means it. It may
// redirect to private addresses only if its own is private. Errors: those of the system, no answer.
// An answer is none, whatever its status.
Result<Document> read_document(const std::string& source, const DocumentOptions& options);

// An error if a server answered something else than the document.
Result<void> expect_success(const Document& document);

}  // namespace trawl::cli
