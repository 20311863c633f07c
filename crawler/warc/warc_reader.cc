#include "crawler/warc/warc_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "base/ascii.h"

namespace trawl {

namespace {

constexpr std::size_t kPiece = 64u << 10;
constexpr std::size_t kLongestHead = 1u << 20;
constexpr std::string_view kGzipMagic("\x1f\x8b\x08", 3);

std::string_view trimmed_part(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// Calls `use(name, value)` for each field below the first line of `head`.
template <class Use>
void each_field(std::string_view head, Use use) {
  std::size_t line = head.find('\n');
  while (line != std::string_view::npos) {
    const std::size_t begin = line + 1;
    line = head.find('\n', begin);
    const std::string_view text =
        head.substr(begin, line == std::string_view::npos ? line : line - begin);
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) continue;
    use(trimmed_part(text.substr(0, colon)), trimmed_part(text.substr(colon + 1)));
  }
}

// WARC/1.0 has URIs in angle brackets.
std::string_view without_brackets(std::string_view uri) {
  if (uri.size() >= 2 && uri.front() == '<' && uri.back() == '>')
    return uri.substr(1, uri.size() - 2);
  return uri;
}

// Where a head ends in `text`, behind its empty line; npos: not yet.
std::size_t end_of_head(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    if (text.substr(at + 1).starts_with('\n')) return at + 2;
    if (text.substr(at + 1).starts_with("\r\n")) return at + 3;
  }
  return std::string_view::npos;
}

}  // namespace

struct WarcReader::State {
  explicit State(InputFile opened) : file(std::move(opened)) {}
  ~State() {
    if (inflating) inflateEnd(&stream);
  }

  InputFile file;
  std::uint64_t at = 0;  // of the next byte to be read of the file
  bool gzip = false;
  bool inflating = false;
  bool in_member = false;
  z_stream stream{};
  std::array<char, kPiece> input{};
  std::string text;  // decoded, from `used` on not yet taken
  std::size_t used = 0;
  std::uint64_t text_offset = 0;  // in the file: of text[0], or of its gzip member
  std::uint64_t record_offset = 0;
  std::uint64_t left = 0;  // of the block
  bool has_record = false;

  std::string_view rest() const { return std::string_view(text).substr(used); }

  Result<void> start(std::uint64_t offset) {
    at = offset;
    text.clear();
    used = 0;
    left = 0;
    has_record = false;
    in_member = false;
    record_offset = offset;
    std::array<char, 3> magic{};
    const auto n = file.read_at(magic.data(), magic.size(), offset);
    if (!n) return tl::unexpected(n.error());
    gzip = std::string_view(magic.data(), *n) == kGzipMagic;
    stream.avail_in = 0;
    if (!gzip) return {};
    if (inflating) {
      inflateReset(&stream);
      return {};
    }
    inflating = inflateInit2(&stream, 15 + 16) == Z_OK;
    if (!inflating) return error(ErrorCode::kNoSpace, "no memory to read " + file.path());
    return {};
  }

  tl::unexpected<Error> damaged(std::string_view how) const {
    return tl::unexpected(
        Error{ErrorCode::kCorrupt,
              fmt::format("{}: the record at offset {} is {}", file.path(), record_offset, how)});
  }

  // Appends to `text` what comes next, all of one gzip member; false at the end of the file.
  Result<bool> more() {
    if (used > 0) {
      if (!gzip) text_offset += used;
      text.erase(0, used);
      used = 0;
    }
    return gzip ? inflate_more() : read_more();
  }

  Result<bool> read_more() {
    if (text.empty()) text_offset = at;
    const auto n = file.read_at(input.data(), input.size(), at);
    if (!n) return tl::unexpected(n.error());
    at += *n;
    text.append(input.data(), *n);
    return *n > 0;
  }

  Result<bool> inflate_more() {
    for (;;) {
      if (stream.avail_in == 0) {
        const auto n = file.read_at(input.data(), input.size(), at);
        if (!n) return tl::unexpected(n.error());
        at += *n;
        stream.next_in = reinterpret_cast<Bytef*>(input.data());
        stream.avail_in = static_cast<uInt>(*n);
        if (*n == 0) {
          if (in_member) return damaged("cut off");
          return false;
        }
      }
      if (!in_member) {
        if (text.empty()) text_offset = at - stream.avail_in;
        if (text.empty() && !has_record) record_offset = text_offset;
        inflateReset(&stream);
        in_member = true;
      }
      const std::size_t before = text.size();
      text.resize(before + kPiece);
      stream.next_out = reinterpret_cast<Bytef*>(text.data() + before);
      stream.avail_out = kPiece;
      const int status = inflate(&stream, Z_NO_FLUSH);
      text.resize(before + kPiece - stream.avail_out);
      if (status == Z_STREAM_END) {
        in_member = false;
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        return damaged("damaged");
      }
      if (text.size() > before) return true;
    }
  }

  // The head that comes next, taken; empty at the end of what there is.
  Result<std::string> take_head(std::uint64_t most) {
    for (;;) {
      const std::string_view now = rest();
      const std::size_t end = end_of_head(now.substr(0, std::min<std::uint64_t>(now.size(), most)));
      if (end != std::string_view::npos) {
        std::string head(now.substr(0, end));
        used += end;
        return head;
      }
      if (now.size() >= std::min<std::uint64_t>(most, kLongestHead)) return std::string();
      const auto got = more();
      if (!got) return tl::unexpected(got.error());
      if (!*got) return std::string();
    }
  }

  Result<void> skip_block() {
    while (left > 0) {
      if (rest().empty()) {
        const auto got = more();
        if (!got) return tl::unexpected(got.error());
        if (!*got) return damaged("cut off");
      }
      const std::uint64_t n = std::min<std::uint64_t>(left, rest().size());
      used += n;
      left -= n;
    }
    return {};
  }

  // Whether a record begins at `offset`.
  Result<bool> begins_at(std::uint64_t offset) {
    if (auto started = start(offset); !started) return tl::unexpected(started.error());
    const auto got = more();
    if (!got && got.error().code != ErrorCode::kCorrupt) return tl::unexpected(got.error());
    const bool is_record = got && rest().starts_with("WARC/");
    if (auto started = start(offset); !started) return tl::unexpected(started.error());
    return is_record;
  }
};

WarcReader::WarcReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
WarcReader::WarcReader(WarcReader&&) noexcept = default;
WarcReader& WarcReader::operator=(WarcReader&&) noexcept = default;
WarcReader::~WarcReader() = default;

Result<WarcReader> WarcReader::open(const std::string& path, std::uint64_t offset) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  auto state = std::make_unique<State>(*std::move(file));
  if (auto started = state->start(offset); !started) return tl::unexpected(started.error());
  return WarcReader(std::move(state));
}

Result<std::optional<WarcRecord>> WarcReader::next() {
  State& state = *state_;
  if (auto skipped = state.skip_block(); !skipped) return tl::unexpected(skipped.error());
  state.has_record = false;
  // Line ends behind the last record.
  for (;;) {
    while (!state.rest().empty() && (state.rest().front() == '\r' || state.rest().front() == '\n'))
      ++state.used;
    if (!state.rest().empty()) break;
    const auto got = state.more();
    if (!got) return tl::unexpected(got.error());
    if (!*got) return std::nullopt;
  }
  state.record_offset = state.text_offset + (state.gzip ? 0 : state.used);
  state.has_record = true;
  const auto head = state.take_head(kLongestHead);
  if (!head) return tl::unexpected(head.error());
  if (head->empty()) return state.damaged("cut off, or has no end of its head");
  if (!head->starts_with("WARC/")) return state.damaged("not a WARC record");
  WarcRecord record;
  record.offset = state.record_offset;
  std::optional<std::uint64_t> length;
  each_field(*head, [&](std::string_view name, std::string_view value) {
    const auto is = [&](std::string_view other) { return equal_in_any_case(name, other); };
    if (is("WARC-Type")) record.type = value;
    if (is("WARC-Target-URI")) record.url = without_brackets(value);
    if (is("WARC-Date")) record.date = value;
    if (is("Content-Type")) record.content_type = value;
    if (is("WARC-Payload-Digest")) record.digest = value;
    if (is("WARC-Refers-To-Target-URI")) record.refers_to_url = without_brackets(value);
    if (is("WARC-Refers-To-Date")) record.refers_to_date = value;
    if (is("Content-Length")) {
      std::uint64_t number = 0;
      const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
      if (read.ec == std::errc() && read.ptr == value.data() + value.size()) length = number;
    }
  });
  if (!length) return state.damaged("damaged: it has no Content-Length");
  record.length = *length;
  state.left = *length;
  return record;
}

Result<std::size_t> WarcReader::read(std::span<char> out) {
  State& state = *state_;
  if (state.left == 0 || out.empty()) return 0;
  if (state.rest().empty()) {
    const auto got = state.more();
    if (!got) return tl::unexpected(got.error());
    if (!*got) return state.damaged("cut off");
  }
  const auto n = static_cast<std::size_t>(
      std::min<std::uint64_t>({state.left, state.rest().size(), out.size()}));
  std::memcpy(out.data(), state.rest().data(), n);
  state.used += n;
  state.left -= n;
  return n;
}

Result<WarcHttpHead> WarcReader::read_http_head() {
  State& state = *state_;
  const std::uint64_t most = std::min<std::uint64_t>(state.left, kLongestHead);
  const auto head = state.take_head(most);
  if (!head) return tl::unexpected(head.error());
  WarcHttpHead http;
  state.left -= head->size();
  // A head without an empty line is all of the block.
  if (head->empty()) return http;
  if (head->starts_with("HTTP/")) {
    const std::size_t space = head->find(' ');
    if (space != std::string::npos)
      std::from_chars(head->data() + space + 1, head->data() + head->size(), http.status);
  }
  each_field(*head, [&](std::string_view name, std::string_view value) {
    if (equal_in_any_case(name, "Content-Type")) http.content_type = value;
    if (equal_in_any_case(name, "Content-Encoding")) {
      if (!http.content_encoding.empty()) http.content_encoding += ", ";
      http.content_encoding += value;
    }
    if (equal_in_any_case(name, "Transfer-Encoding"))
      http.chunked = to_lower(value).find("chunked") != std::string::npos;
  });
  return http;
}

Result<bool> WarcReader::skip_damage() {
  State& state = *state_;
  std::string block;
  for (std::uint64_t from = state.record_offset + 1;;) {
    block.resize(kPiece);
    const auto n = state.file.read_at(block.data(), block.size(), from);
    if (!n) return tl::unexpected(n.error());
    block.resize(*n);
    if (block.size() < 5) return false;
    for (std::size_t i = 0; i + 5 <= block.size(); ++i) {
      const std::string_view here = std::string_view(block).substr(i);
      if (!here.starts_with(kGzipMagic) && !here.starts_with("WARC/")) continue;
      const auto begins = state.begins_at(from + i);
      if (!begins || *begins) return begins;
    }
    from += block.size() - 4;
  }
}

}  // namespace trawl
