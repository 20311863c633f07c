#include "crawler/wacz/wacz_pages.h"

#include <cstdint>

#include <nlohmann/json.hpp>

#include "crawler/output/json_line.h"
#include "crawler/parse/headers/media_type.h"
#include "crawler/warc/cdxj_line.h"

namespace trawl {

namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_page(std::int64_t status, const std::string& content_type) {
  return status >= 200 && status < 300 && is_html_media_type(content_type);
}

void append(const std::string& url, std::string_view time, const std::string& title,
            const std::string& text, std::string& out) {
  JsonLine line(out);
  line.text("url", url).text("ts", time);
  if (!title.empty()) line.text("title", title);
  if (!text.empty()) line.text("text", text);
  line.end();
}

}  // namespace

std::string wacz_pages_head() {
  return "{\"format\": \"json-pages-1.0\", \"id\": \"pages\", \"title\": \"All Pages\"}\n";
}

bool append_wacz_page(std::string_view crawl_line, std::string& out) {
  const json page = json::parse(crawl_line, nullptr, false);
  if (!page.is_object()) return false;
  const auto status = page.find("status");
  const std::string url = text_of(page, "url"), time = text_of(page, "fetched_at");
  if (status == page.end() || !status->is_number_integer() || url.empty() || time.empty())
    return false;
  const auto warc = page.find("warc");
  if (warc == page.end() || !warc->is_object()) return false;
  if (!is_page(status->get<std::int64_t>(), text_of(page, "content_type"))) return false;
  append(url, time, text_of(page, "title"), text_of(page, "text"), out);
  return true;
}

bool append_wacz_page_of_index(std::string_view index_line, std::string& out) {
  const auto record = read_cdxj_line(index_line);
  if (!record || !record->status.starts_with('2') || !is_html_media_type(record->mime))
    return false;
  append(record->url, record->date, {}, {}, out);
  return true;
}

}  // namespace trawl
