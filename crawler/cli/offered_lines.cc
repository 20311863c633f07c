#include "crawler/cli/offered_lines.h"

#include <cerrno>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/numbered_line_reader.h"
#include "crawler/cli/say.h"
#include "crawler/cli/typed_urls.h"
#include "crawler/status/offer_body.h"

namespace trawl::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kBatchUrls = 1000;
constexpr std::size_t kBatchSize = 1 << 20;  // bytes
// Further wrong lines are only counted.
constexpr std::uint64_t kMostReported = 20;

class OfferSender {
 public:
  explicit OfferSender(const ControlClient& client) : client_(client) {}

  // `where`: "urls.txt:12".
  Result<void> add(std::string_view text, const std::string& where) {
    const auto parsed = parse_offer_body(text);
    if (!parsed) {
      refuse(where, parsed.error().message);
      return {};
    }
    for (const OfferedUrl& offered : *parsed) {
      auto url = typed_url(offered.url);
      if (!url) {
        refuse(where, url.error().message);
        continue;
      }
      ordered_json one{{"url", *url}, {"depth", offered.depth}};
      if (offered.priority) one["priority"] = *offered.priority;
      size_ += url->size() + 64;
      batch_.push_back(std::move(one));
    }
    return batch_.size() >= kBatchUrls || size_ >= kBatchSize ? flush() : Result<void>{};
  }

  Result<void> flush() {
    if (batch_.empty()) return {};
    const ordered_json body{{"urls", std::exchange(batch_, ordered_json::array())}};
    size_ = 0;
    const auto text = client_.post(
        "/api/v1/offer", body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    if (!text) return tl::unexpected(text.error());
    const auto answer = nlohmann::json::parse(*text, nullptr, false);
    if (!answer.is_object()) return error(ErrorCode::kIo, "the crawl's answer is not JSON");
    for (auto& [name, sum] : sums_)
      sum += answer.value(name, std::uint64_t{0});
    const auto skipped = answer.value("skipped", nlohmann::json::object());
    for (const auto& [reason, n] : skipped.items())
      skipped_[reason] += n.is_number() ? n.get<std::uint64_t>() : 0;
    return {};
  }

  bool waiting() const { return !batch_.empty(); }
  std::uint64_t wrong() const { return wrong_; }

  std::string as_json() const {
    ordered_json json;
    for (const auto& [name, sum] : sums_)
      json[name] = sum;
    json["skipped"] = skipped_;
    json["wrong_lines"] = wrong_;
    return json.dump() + "\n";
  }
  std::string as_text() const {
    std::string text = fmt::format("{} offered: {} new, {} seen before", sums_[0].second,
                                   sums_[1].second, sums_[2].second);
    if (sums_[3].second > 0) text += fmt::format(", {} invalid", sums_[3].second);
    for (const auto& [reason, n] : skipped_)
      text += fmt::format(", {} skipped: {}", n, reason);
    if (wrong_ > 0)
      text += fmt::format("; {} line{} wrong", wrong_, wrong_ == 1 ? " was" : "s were");
    return text + "\n";
  }

 private:
  void refuse(const std::string& where, const std::string& why) {
    ++wrong_;
    if (wrong_ <= kMostReported) say(stderr, "trawl: {}: {}\n", where, why);
  }

  const ControlClient& client_;
  ordered_json batch_ = ordered_json::array();
  std::size_t size_ = 0;
  std::vector<std::pair<std::string, std::uint64_t>> sums_ = {
      {"offered", 0}, {"new", 0}, {"seen", 0}, {"invalid", 0}};
  std::map<std::string, std::uint64_t> skipped_;
  std::uint64_t wrong_ = 0;
};

Result<void> send_lines(OfferSender& sender, int fd, const std::string& name) {
  NumberedLineReader lines(fd, name);
  NumberedLineReader::Line line;
  for (;;) {
    // What was read is sent before waiting for more.
    if (sender.waiting() && lines.may_wait()) {
      if (auto sent = sender.flush(); !sent) return sent;
    }
    const auto more = lines.next(line);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    const std::string_view text = line.text;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos || text.starts_with('#'))
      continue;
    if (auto added = sender.add(text, fmt::format("{}:{}", name, line.number)); !added)
      return added;
  }
}

Result<void> send_input(OfferSender& sender, const std::string& input) {
  if (input == "-") return send_lines(sender, STDIN_FILENO, "standard input");
  const FileDescriptor file(::open(input.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() >= 0) return send_lines(sender, file.get(), input);
  const int failure = errno;
  if (looks_like_url(input)) return sender.add(input, "the argument");
  if (failure != ENOENT) return tl::unexpected(system_error(failure, "cannot open " + input));
  return error(ErrorCode::kInvalidArgument, fmt::format("{} is neither a URL nor a file", input));
}

}  // namespace

int offer_lines(const ControlClient& client, const std::vector<std::string>& inputs, bool as_json) {
  OfferSender sender(client);
  Result<void> sent;
  for (const std::string& input : inputs) {
    if (sent) sent = send_input(sender, input);
  }
  if (sent) sent = sender.flush();
  say_lines(stdout, as_json ? sender.as_json() : sender.as_text());
  if (!sent) return report(sent.error());
  return sender.wrong() > 0 ? kFailed : kDone;
}

}  // namespace trawl::cli
