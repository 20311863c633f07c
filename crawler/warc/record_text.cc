#include "crawler/warc/record_text.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "crawler/warc/warc_builder.h"
#include "url/url_credentials.h"

namespace trawl {

namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}
bool is_visible_ascii(char c) {
  return c > 0x20 && c < 0x7f;
}

std::seed_seq seed_of_the_system() {
  std::random_device random;
  std::array<std::uint32_t, 16> words;
  std::generate(words.begin(), words.end(), std::ref(random));
  return std::seed_seq(words.begin(), words.end());
}

}  // namespace

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  const std::size_t start = out.size();
  out += value;
  std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(start), out.end(), is_control, ' ');
  out += "\r\n";
}

void append_ascii_field(std::string& out, std::string_view name, std::string_view value) {
  std::string clean;
  std::copy_if(value.begin(), value.end(), std::back_inserter(clean), is_visible_ascii);
  if (!clean.empty()) append_field(out, name, clean);
}

std::string record_url(std::string_view url) {
  std::string scratch;
  url = without_credentials(url.substr(0, url.find('#')), scratch);
  if (std::all_of(url.begin(), url.end(), is_visible_ascii)) return std::string(url);
  std::string clean;
  for (const char c : url) {
    if (is_visible_ascii(c)) {
      clean += c;
    } else {
      fmt::format_to(std::back_inserter(clean), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return clean;
}

RecordIdGenerator::RecordIdGenerator() {
  auto seed = seed_of_the_system();
  random_.seed(seed);
}

std::string RecordIdGenerator::next() {
  const OneAtATime::Use use(using_);
  // RFC 4122, version 4: all bits random but six.
  const std::uint64_t high = (random_() & ~0xf000ull) | 0x4000;
  const std::uint64_t low = (random_() & ~(3ull << 62)) | 2ull << 62;
  return fmt::format("<urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}>", high >> 32,
                     high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffffffffffff);
}

void append_record(std::string& out, std::string_view fields, std::string_view block,
                   std::string_view rest_of_block) {
  const std::size_t length = block.size() + rest_of_block.size();
  out.reserve(out.size() + fields.size() + length + 64);
  out.append("WARC/1.1\r\n").append(fields);
  out.append("Content-Length: ").append(std::to_string(length)).append("\r\n\r\n");
  out.append(block).append(rest_of_block).append("\r\n\r\n");
}

std::string warc_date(std::chrono::system_clock::time_point time) {
  return to_rfc3339(time, 6);
}

std::string cdxj_timestamp(std::string_view warc_date) {
  std::string digits;
  for (const char c : warc_date.substr(0, warc_date.find('.'))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  return digits;
}

}  // namespace trawl
