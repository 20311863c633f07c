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
  std::size_t max_bytes = 0;         // bytes beyond are not read
  std::uint32_t max_redirects = 10;  // in a row
};

// Options for a robots.txt, as in a crawl. More than the 500 KiB that count are read, so that the
// parser sees whether the last line is cut. Redirects: RFC 9309, section 2.3.1.2.
inline constexpr DocumentOptions kRobotsTxtOptions{.max_bytes = 512 << 10, .max_redirects = 5};

struct Document {
  std::string name = {};  // for messages: "page.html", "standard input", "https://example.com/"
  std::string bytes = {};
  bool cut = false;  // the document is longer than max_bytes

  // The other fields describe a server's response.
  std::optional<Url> url = {};  // after redirects
  int status = 0;
  std::string content_type = {};
  std::string link = {};          // the Link headers, joined
  std::string refresh = {};       // the Refresh header
  std::string x_robots_tag = {};  // the X-Robots-Tag headers, a line each
};

// True if read_document() would fetch `source`: it begins with "http://" or "https://".
bool is_web_address(const std::string& source);

// Reads `source`: a URL is fetched, "-" is standard input, anything else is a file. A URL is
// fetched as a crawl with the default config would, but may have a private address; only then may
// it redirect to one. Errors: those of the system, and no response. A response with any status is
// not an error.
Result<Document> read_document(const std::string& source, const DocumentOptions& options);

// Returns an error if a server responded with a status other than 2xx.
Result<void> expect_success(const Document& document);

}  // namespace trawl::cli
