#include "crawler/status/offer_body.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trawl {

namespace {

using nlohmann::json;

constexpr std::size_t kMostOffered = 100'000;
// Values that say nothing about a URL may be nested this deep.
constexpr std::size_t kDeepestOffer = 16;

tl::unexpected<Error> bad_offer(std::string_view where, std::string_view why) {
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{}: {}; send {{\"urls\": [\"https://example.com/\"]}}, or a URL or "
                           "{{\"url\": \"...\", \"depth\": 0}} on each line",
                           where, why));
}

// Takes the URLs out of a JSON text while it is parsed: a hostile text, such as one of brackets
// alone, never becomes a tree of values, which takes a hundred times its size.
class OfferReader final : public json::json_sax_t {
 public:
  // `where`: of an object that is a URL.
  OfferReader(std::vector<OfferedUrl>& urls, std::string_view where) : urls_(urls), where_(where) {}

  bool is_syntax_error() const { return syntax_error_; }
  // What else is wrong.
  const std::optional<Error>& failure() const { return failure_; }

  bool null() override { return take_other(); }
  bool boolean(bool) override { return take_other(); }
  bool number_float(double, const std::string&) override { return take_other(); }
  bool binary(binary_t&) override { return take_other(); }
  bool number_integer(std::int64_t number) override {
    if (!is_member("priority")) return take_other();
    return take_priority(number);
  }
  bool number_unsigned(std::uint64_t number) override {
    if (is_member("depth") && number <= std::numeric_limits<std::uint32_t>::max()) {
      url_.depth = static_cast<std::uint32_t>(number);
      return true;
    }
    if (!is_member("priority")) return take_other();
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return take_priority(static_cast<std::int64_t>(std::min(number, kMost)));
  }
  bool string(std::string& text) override {
    if (place_ == Place::kList) return add({.url = std::move(text)});
    if (!is_member("url")) return take_other();
    url_.url = std::move(text);
    return true;
  }
  bool key(std::string& name) override {
    if (ignored_ == 0) key_ = std::move(name);
    return true;
  }

  bool start_object(std::size_t) override {
    if (ignored_ > 0 || place_ == Place::kObject) return ignore();
    url_ = {};
    in_list_ = place_ == Place::kList;
    place_ = Place::kObject;
    return true;
  }
  bool end_object() override {
    if (ignored_ > 0) return end_ignored();
    place_ = in_list_ ? Place::kList : Place::kEnd;
    // The object with "urls".
    if (!in_list_ && has_list_) return true;
    if (url_.url.empty()) return fail(in_list_ ? number_of_url() : where_, "\"url\" is missing");
    return add(std::move(url_));
  }
  bool start_array(std::size_t) override {
    const bool is_urls = place_ == Place::kObject && !in_list_ && key_ == "urls" && ignored_ == 0;
    if (place_ != Place::kBegin && !is_urls) return ignore();
    has_list_ = is_urls;
    place_ = Place::kList;
    return true;
  }
  bool end_array() override {
    if (ignored_ > 0) return end_ignored();
    place_ = has_list_ ? Place::kObject : Place::kEnd;
    in_list_ = false;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    syntax_error_ = true;
    return false;
  }

 private:
  enum class Place { kBegin, kObject, kList, kEnd };

  bool is_member(std::string_view name) const {
    return ignored_ == 0 && place_ == Place::kObject && key_ == name;
  }
  std::string number_of_url() const { return fmt::format("URL {}", urls_.size() + 1); }

  bool fail(std::string_view where, std::string_view why) {
    failure_ = bad_offer(where, why).value();
    return false;
  }
  bool add(OfferedUrl url) {
    if (urls_.size() == kMostOffered)
      return fail("the body", fmt::format("more than {} URLs", kMostOffered));
    urls_.push_back(std::move(url));
    return true;
  }
  bool take_priority(std::int64_t number) {
    url_.priority = static_cast<std::int32_t>(number);
    return *url_.priority == number ||
           fail(in_list_ ? number_of_url() : where_, "the priority is out of range");
  }
  // A value that is not one of ours. Other keys are those of `trawl frontier dump`; they describe
  // the URL elsewhere.
  bool take_other() {
    if (ignored_ > 0) return true;
    if (place_ == Place::kList) return fail(number_of_url(), "not a URL");
    if (place_ != Place::kObject) return fail(where_, "not a URL");
    if (key_ == "urls" && !in_list_) return fail("\"urls\"", "not an array");
    if (key_ != "url" && key_ != "priority" && key_ != "depth") return true;
    return fail(in_list_ ? number_of_url() : where_, fmt::format("\"{}\" has a wrong value", key_));
  }
  bool ignore() {
    if (!take_other()) return false;
    if (++ignored_ > kDeepestOffer) return fail(where_, "nested too deeply");
    return true;
  }
  bool end_ignored() {
    --ignored_;
    return true;
  }

  std::vector<OfferedUrl>& urls_;
  const std::string where_;
  Place place_ = Place::kBegin;
  bool in_list_ = false;   // the object is one of a list
  bool has_list_ = false;  // the list is a member, "urls"
  std::string key_;
  OfferedUrl url_;
  std::size_t ignored_ = 0;  // open arrays and objects that are not ours
  bool syntax_error_ = false;
  std::optional<Error> failure_;
};

std::string_view without_blanks(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

Result<void> read_offer_json(std::string_view text, std::string_view where,
                             std::vector<OfferedUrl>& urls) {
  OfferReader reader(urls, where);
  if (json::sax_parse(text.begin(), text.end(), &reader)) return {};
  if (reader.failure()) return tl::unexpected(*reader.failure());
  return bad_offer(where, text.starts_with('[') ? "not a JSON array" : "not a JSON object");
}

}  // namespace

Result<std::vector<OfferedUrl>> parse_offer_body(std::string_view body) {
  std::vector<OfferedUrl> offered;
  const std::string_view text = without_blanks(body);
  const std::string_view first = without_blanks(text.substr(0, text.find('\n')));
  // A text of several lines is one value, unless its first line is a value.
  const bool is_whole =
      text.starts_with('[') || (text.starts_with('{') && first != text && !json::accept(first));
  if (is_whole) {
    if (auto read = read_offer_json(text, "the body", offered); !read)
      return tl::unexpected(read.error());
    return offered;
  }
  bool any = false;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = std::min(body.find('\n', begin), body.size());
    const std::string_view line = without_blanks(body.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    any = true;
    const std::string where = fmt::format("line {}", number);
    if (line.starts_with('{')) {
      if (auto read = read_offer_json(line, where, offered); !read)
        return tl::unexpected(read.error());
      continue;
    }
    if (offered.size() == kMostOffered)
      return bad_offer(where, fmt::format("more than {} URLs", kMostOffered));
    offered.push_back({.url = std::string(line)});
  }
  if (!any) return bad_offer("the body", "no URLs in it");
  return offered;
}

}  // namespace trawl
