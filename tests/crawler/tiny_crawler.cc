#include "tiny_crawler.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <optional>
#include <sstream>

#include <curl/curl.h>

namespace trawl::test {

namespace {

std::string lower(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::size_t append(char* data, std::size_t, std::size_t size, void* out) {
  static_cast<std::string*>(out)->append(data, size);
  return size;
}

// Upper-case escapes; none of unreserved characters; the fragment is gone already.
std::string canonical(const std::string& url) {
  std::string out;
  for (std::size_t i = 0; i < url.size(); ++i) {
    const bool escape = url[i] == '%' && i + 2 < url.size() && std::isxdigit(url[i + 1]) &&
                        std::isxdigit(url[i + 2]);
    if (!escape) {
      out += url[i];
      continue;
    }
    const int byte = std::stoi(url.substr(i + 1, 2), nullptr, 16);
    if (byte < 128 &&
        (std::isalnum(byte) || std::string("-._~").find(char(byte)) != std::string::npos)) {
      out += static_cast<char>(byte);
    } else {
      out += '%';
      out += static_cast<char>(std::toupper(url[i + 1]));
      out += static_cast<char>(std::toupper(url[i + 2]));
    }
    i += 2;
  }
  return out;
}

// Every robots.txt of the site has the same rules for all but "otherbot".
class TinyRobots {
 public:
  explicit TinyRobots(const TinyPage& page) {
    if (page.status != 200) return;
    std::istringstream lines(page.body);
    std::string line;
    bool ours = false;
    while (std::getline(lines, line)) {
      line = line.substr(0, line.find('#'));
      const auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string key = lower(trimmed(line.substr(0, colon)));
      const std::string value = trimmed(line.substr(colon + 1));
      if (key == "user-agent") ours = value == "*";
      if (ours && !value.empty() && (key == "allow" || key == "disallow")) {
        rules_.emplace_back(value, key == "allow");
      }
    }
  }

  bool allowed(const std::string& path) const {
    std::size_t longest = 0;
    bool allow = true;
    for (const auto& [pattern, allows] : rules_) {
      if (pattern.size() < longest || !matches(pattern, path)) continue;
      allow = pattern.size() > longest ? allows : allow || allows;
      longest = pattern.size();
    }
    return allow;
  }

 private:
  static bool matches(std::string_view pattern, std::string_view path) {
    if (pattern.empty()) return true;
    if (pattern == "$") return path.empty();
    if (pattern[0] != '*') {
      return !path.empty() && pattern[0] == path[0] && matches(pattern.substr(1), path.substr(1));
    }
    for (std::size_t skipped = 0; skipped <= path.size(); ++skipped) {
      if (matches(pattern.substr(1), path.substr(skipped))) return true;
    }
    return false;
  }
  std::vector<std::pair<std::string, bool>> rules_;
};

// `text` without what lies between each `open` and the next `close`, and without these.
std::string without(std::string text, std::string_view open, std::string_view close) {
  for (auto at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    text.erase(at, text.find(close, at) + close.size() - at);
  }
  return text;
}

struct TagReference {
  std::string tag;
  std::string value;
};

// The reference of a tag whose first attribute is href or src, as the sample site writes them;
// `text` starts after its '<'.
std::optional<TagReference> reference_of_tag(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || space > equals) return {};
  TagReference found{lower(std::string(text.substr(0, space))), ""};
  const std::string attribute = lower(std::string(text.substr(space + 1, equals - space - 1)));
  const std::set<std::string> tags{"a", "area", "link", "iframe", "frame", "base"};
  if (!tags.contains(found.tag) || (attribute != "href" && attribute != "src")) return {};
  text.remove_prefix(equals + 1);
  const bool quoted = text.starts_with('"') || text.starts_with('\'');
  const std::size_t end = quoted ? text.find(text[0], 1) : text.find_first_of(" >");
  found.value = text.substr(quoted, end - quoted);
  for (auto at = found.value.find("&amp;"); at != std::string::npos;
       at = found.value.find("&amp;", at)) {
    found.value.erase(at + 1, 4);
  }
  return found;
}

// "scheme://host:port" and the rest.
std::pair<std::string, std::string> split(const std::string& url) {
  const auto slash = url.find('/', url.find("://") + 3);
  return {url.substr(0, slash), url.substr(slash)};
}

}  // namespace

TinyClient::TinyClient() : curl_(curl_easy_init()) {
  curl_easy_setopt(curl_, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl_easy_setopt(curl_, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT, 60L);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, append);
}

TinyClient::~TinyClient() {
  curl_easy_cleanup(curl_);
}

TinyPage TinyClient::get(const std::string& url) {
  TinyPage page;
  std::string headers;
  curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &page.body);
  curl_easy_setopt(curl_, CURLOPT_HEADERDATA, &headers);
  if (curl_easy_perform(curl_) != CURLE_OK) return {};
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &page.status);
  std::istringstream lines(headers);
  std::string line;
  while (std::getline(lines, line)) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = lower(line.substr(0, colon));
    const std::string value = trimmed(line.substr(colon + 1));
    if (name == "location") page.location = tiny_resolve(url, value);
    if (name == "content-type") page.content_type = value;
    if (name == "content-encoding") page.content_encoding = value;
  }
  return page;
}

std::string tiny_resolve(const std::string& base, std::string reference) {
  reference = trimmed(reference);
  reference = reference.substr(0, reference.find('#'));
  CURLU* url = curl_url();
  bool good = curl_url_set(url, CURLUPART_URL, base.c_str(), 0) == CURLUE_OK;
  if (good && !reference.empty()) {
    // The flag escapes what is not ASCII.
    good = curl_url_set(url, CURLUPART_URL, reference.c_str(), CURLU_URLENCODE) == CURLUE_OK;
  }
  std::string resolved;
  char* text = nullptr;
  if (good && curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK) {
    resolved = text;
    curl_free(text);
  }
  curl_url_cleanup(url);
  return resolved.starts_with("http://") ? canonical(resolved) : "";
}

std::vector<std::string> tiny_links(const std::string& html, const std::string& url) {
  std::string text = without(html, "<!--", "-->");
  for (const char* name : {"script", "style", "textarea"}) {
    text = without(text, std::string("<") + name + ">", std::string("</") + name + ">");
  }
  text = without(text, "<img ", "\">\n");
  std::string base = url;
  bool base_found = false;
  std::vector<std::string> references;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const auto reference = reference_of_tag(std::string_view(text).substr(at + 1));
    if (!reference) continue;
    if (reference->tag != "base") {
      references.push_back(reference->value);
    } else if (!base_found) {
      base = tiny_resolve(url, reference->value);
      base_found = true;
    }
  }
  std::vector<std::string> links;
  for (const std::string& reference : references) {
    std::string link = tiny_resolve(base, reference);
    if (!link.empty()) links.push_back(std::move(link));
  }
  return links;
}

std::map<std::string, long> tiny_crawl(const std::vector<std::string>& seeds) {
  TinyClient client;
  std::map<std::string, TinyRobots> robots;  // by origin; those of the seeds are the scope
  for (const std::string& seed : seeds) {
    const std::string origin = split(seed).first;
    robots.emplace(origin, TinyRobots(client.get(origin + "/robots.txt")));
  }
  std::deque<std::string> queue;
  std::set<std::string> seen;
  const auto offer = [&](const std::string& url) {
    if (url.empty()) return;
    const auto [origin, path] = split(url);
    const auto rules = robots.find(origin);
    if (rules == robots.end() || !rules->second.allowed(path)) return;
    if (seen.insert(url).second) queue.push_back(url);
  };
  for (const std::string& seed : seeds)
    offer(seed);
  std::map<std::string, long> fetched;
  while (!queue.empty()) {
    const std::string url = queue.front();
    queue.pop_front();
    const TinyPage page = client.get(url);
    fetched[url] = page.status;
    offer(page.location);
    if (page.status == 200 && page.content_type.starts_with("text/html")) {
      for (const std::string& link : tiny_links(page.body, url))
        offer(link);
    }
  }
  return fetched;
}

}  // namespace trawl::test
