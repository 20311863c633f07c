#include "mutated_response.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "compressed.h"

namespace trawl::test {

namespace {

// A response by its parts, so that each can be changed on its own.
struct Parts {
  std::vector<std::string> interim;  // whole responses
  std::string status;
  std::vector<std::string> headers;  // lines without their ends
  std::string body;                  // as encoded
  bool chunked = false;
  std::vector<std::pair<std::string, std::string>> chunks;  // size lines and data
  std::vector<std::string> trailers;
  std::string line_end = "\r\n";
};

using Strings = std::vector<std::string>;

const Strings& odd_statuses() {
  static const Strings kOdd = {"HTTP/1.0 200 OK",
                               "HTTP/1.1 200",
                               "HTTP/1.1  200  OK",
                               "HTTP/2 200 OK",
                               "HTTP/2.0 200 OK",
                               "HTTP/3 200",
                               "HTTP/0.9 200 OK",
                               "HTTP/1.10 200 OK",
                               "HTTP/11 200 OK",
                               "http/1.1 200 OK",
                               "ICY 200 OK",
                               "HTTP/1.1 0 None",
                               "HTTP/1.1 99 Low",
                               "HTTP/1.1 100 Continue",
                               "HTTP/1.1 101 Switching Protocols",
                               "HTTP/1.1 199 Interim",
                               "HTTP/1.1 204 No Content",
                               "HTTP/1.1 205 Reset Content",
                               "HTTP/1.1 206 Partial Content",
                               "HTTP/1.1 301 Moved",
                               "HTTP/1.1 304 Not Modified",
                               "HTTP/1.1 401 Unauthorized",
                               "HTTP/1.1 407 Proxy Authentication Required",
                               "HTTP/1.1 416 Range",
                               "HTTP/1.1 421 Misdirected",
                               "HTTP/1.1 503 Busy",
                               "HTTP/1.1 600 More",
                               "HTTP/1.1 999 All",
                               "HTTP/1.1 1000 More",
                               "HTTP/1.1 -200 OK",
                               "HTTP/1.1 2x0 OK",
                               "HTTP/1.1",
                               "HTTP/",
                               "",
                               " HTTP/1.1 200 OK",
                               std::string("HTTP/1.1 200 O\0K", 16),
                               "HTTP/1.1 200 " + std::string(5000, 'x')};
  return kOdd;
}

const Strings& odd_headers() {
  static const Strings kOdd = {"\tX: y",
                               " X: y",
                               " ",
                               "\t",
                               ": no name",
                               "no colon",
                               "X",
                               "X:",
                               "X :y",
                               " : ",
                               "X: " + std::string(1, '\0'),
                               "X: \x01\x7f\xff",
                               "X: a\rb",
                               "\xff\xfe: y",
                               "HTTP/1.1 200 OK",
                               "HTTP/1.1: y",
                               "X: " + std::string(20'000, 'y'),
                               "X: " + std::string(150'000, 'y'),
                               "Transfer-Encoding: chunked",
                               "Transfer-Encoding: chunked, chunked",
                               "Transfer-Encoding: gzip, chunked",
                               "Transfer-Encoding: identity",
                               "Transfer-Encoding:\r\n chunked",
                               "Transfer-Encoding: xchunked",
                               "Content-Length: 0",
                               "Content-Length: -1",
                               "Content-Length: +5",
                               "Content-Length: 0x10",
                               "Content-Length: 5,5",
                               "Content-Length: 5, 6",
                               "Content-Length: 18446744073709551616",
                               "Content-Length: 9223372036854775807",
                               "Content-Length:\r\n 7",
                               "Content-Length: 1\r\n 2",
                               "Content-Encoding: gzip",
                               "Content-Encoding: br, gzip",
                               "Content-Encoding: zstd",
                               "Content-Encoding: rot13",
                               "Content-Encoding: gzip,gzip,gzip,gzip",
                               "Content-Range: bytes 0-1/2",
                               "Connection: close",
                               "Connection: keep-alive",
                               "Connection: upgrade\r\nUpgrade: h2c",
                               "Proxy-Connection: close",
                               "Keep-Alive: timeout=0",
                               "Location: /else\r\n where",
                               "Location: \xff\xfe/",
                               "Location: http://",
                               "Refresh: 0;url=\xff",
                               "Set-Cookie: a=b; Domain=127.0.0.1; Path=/; Max-Age=1",
                               "Set-Cookie: =;;;;",
                               "Set-Cookie: " + std::string(9000, 'c') + "=1",
                               "Strict-Transport-Security: max-age=99999999",
                               "Alt-Svc: h2=\":1\"; ma=99",
                               "WWW-Authenticate: Negotiate",
                               "Retry-After: soon",
                               "Age: -1",
                               "Content-Type: text/html, \"",
                               "Link: <" + std::string(3000, '<'),
                               "X-Robots-Tag: : : ,,"};
  return kOdd;
}

std::string text_of(Random& random) {
  static constexpr std::array<std::size_t, 7> kSizes = {0, 1, 100, 3000, 20'000, 33'000, 90'000};
  std::string text = "<html><p>";
  const std::size_t size = any_of(random, kSizes);
  while (text.size() < size)
    text += "<a href='/" + std::to_string(up_to(random, 999)) + "'>a page</a>\n";
  text.resize(std::min(text.size(), size));
  return text;
}

void add_coding(Random& random, Parts& parts) {
  switch (up_to(random, 7)) {
    case 0:
      parts.body = gzip(parts.body);
      parts.headers.push_back("Content-Encoding: gzip");
      return;
    case 1:
      parts.body = deflated(parts.body, one_in(random, 2) ? 15 : -15);
      parts.headers.push_back("Content-Encoding: deflate");
      return;
    case 2:
      parts.body = brotli(parts.body);
      parts.headers.push_back("Content-Encoding: br");
      return;
    case 3:
      parts.body = zstd(parts.body);
      parts.headers.push_back("Content-Encoding: zstd");
      return;
    case 4:
      parts.body = gzip(brotli(parts.body));
      parts.headers.push_back("Content-Encoding: br, gzip");
      return;
    default:
      return;
  }
}

void frame_body(Random& random, Parts& parts) {
  const std::uint64_t framing = up_to(random, 9);
  if (framing < 5) {
    parts.headers.push_back(fmt::format("Content-Length: {}", parts.body.size()));
  } else if (framing < 9) {
    parts.headers.push_back("Transfer-Encoding: chunked");
    parts.chunked = true;
    std::string_view rest = parts.body;
    while (!rest.empty()) {
      const std::size_t size = std::min<std::size_t>(rest.size(), 1 + up_to(random, 20'000));
      parts.chunks.emplace_back(fmt::format("{:x}{}", size, one_in(random, 8) ? ";a=b" : ""),
                                rest.substr(0, size));
      rest.remove_prefix(size);
    }
    if (one_in(random, 3)) parts.trailers = {"X-Trailer: t", "ETag: \"late\""};
  } else {
    parts.headers.push_back("Connection: close");
  }
}

Parts valid_response(Random& random) {
  Parts parts;
  const bool moved = one_in(random, 8);
  parts.status = moved ? "HTTP/1.1 302 Found" : "HTTP/1.1 200 OK";
  parts.body = text_of(random);
  parts.headers = {"Server: test", "Content-Type: text/html; charset=utf-8"};
  if (moved) parts.headers.push_back("Location: /elsewhere");
  static const Strings kMore = {"Set-Cookie: a=b; Path=/",
                                "ETag: \"x\"",
                                "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
                                "Link: </next>; rel=next",
                                "X-Robots-Tag: noarchive",
                                "Cache-Control: max-age=60,\r\n public",
                                "Refresh: 5; url=/other",
                                "Vary: Accept-Encoding"};
  for (std::uint64_t i = up_to(random, 3); i > 0; --i)
    parts.headers.push_back(any_of(random, kMore));
  add_coding(random, parts);
  frame_body(random, parts);
  if (one_in(random, 5))
    parts.interim.push_back("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
  std::shuffle(parts.headers.begin(), parts.headers.end(), random);
  return parts;
}

// Folds a line into the next one: at any place, or at its beginning.
void fold(Random& random, std::string& line) {
  static const Strings kFolds = {"\r\n ", "\r\n\t", "\r\n \t  ", "\n ", "\r\n\r\n ", "\r\n \r\n "};
  line.insert(up_to(random, line.size()), any_of(random, kFolds));
}

void mutate_lines(Random& random, Strings& lines) {
  const bool add = lines.empty() || one_in(random, 3);
  if (add) {
    const auto place = static_cast<std::ptrdiff_t>(up_to(random, lines.size()));
    lines.insert(lines.begin() + (one_in(random, 3) ? 0 : place), any_of(random, odd_headers()));
    return;
  }
  std::string& line = any_of(random, lines);
  switch (up_to(random, 5)) {
    case 0:
      lines.push_back(line);
      return;
    case 1:
      line.clear();
      return;
    case 2:
      std::swap(line, any_of(random, lines));
      return;
    case 3:
      return fold(random, line);
    default:
      return mutate_bytes(random, line);
  }
}

void mutate_chunks(Random& random, Parts& parts) {
  static const Strings kSizes = {"",
                                 "0",
                                 "-1",
                                 "zz",
                                 "0x5",
                                 "ffffffffffffffff",
                                 "fffffffffffffffff",
                                 "7fffffff",
                                 " 5",
                                 "5 ",
                                 "5;",
                                 "1;" + std::string(30'000, 'e')};
  if (parts.chunks.empty()) parts.chunks.emplace_back("1", "x");
  auto& [size, data] = any_of(random, parts.chunks);
  switch (up_to(random, 4)) {
    case 0:
      size = any_of(random, kSizes);
      return;
    case 1:
      return mutate_bytes(random, size);
    case 2:
      return mutate_bytes(random, data);
    case 3:
      parts.chunks.push_back({size, data});
      return;
    default:
      parts.chunks.resize(up_to(random, parts.chunks.size()));
  }
}

void mutate_interim(Random& random, Parts& parts) {
  static const Strings kInterim = {
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 102 Processing\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\n\tLink: </x>\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\nLink: </x>;\r\n rel=preload\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
      "HTTP/1.1 199 Odd\r\nLocation: /hint\r\nSet-Cookie: h=1\r\n\r\n",
      "HTTP/1.1 100\r\n\r\n\r\n",
      "\r\n"};
  const std::uint64_t times = one_in(random, 5) ? 1 + up_to(random, 300) : 1;
  const std::string one = any_of(random, kInterim);
  for (std::uint64_t i = 0; i < times; ++i)
    parts.interim.push_back(one);
  if (one_in(random, 3)) mutate_bytes(random, parts.interim.back());
}

void mutate_part(Random& random, Parts& parts) {
  switch (up_to(random, 9)) {
    case 0:
      if (one_in(random, 3)) return mutate_bytes(random, parts.status);
      parts.status = any_of(random, odd_statuses());
      return;
    case 1:
    case 2:
    case 3:
      return mutate_lines(random, parts.headers);
    case 4:
      return fold(random, any_of(random, parts.headers));
    case 5:
      return parts.chunked ? mutate_chunks(random, parts) : mutate_bytes(random, parts.body);
    case 6:
      return mutate_lines(random, parts.trailers);
    case 7:
      return mutate_interim(random, parts);
    case 8:
      parts.body.resize(up_to(random, parts.body.size()));
      return;
    default:
      parts.line_end = one_in(random, 2) ? "\n" : "\r\r\n";
      return;
  }
}

std::string written(const Parts& parts) {
  std::string out;
  for (const std::string& interim : parts.interim)
    out += interim;
  out += parts.status + parts.line_end;
  for (const std::string& header : parts.headers)
    out += header + parts.line_end;
  out += parts.line_end;
  if (!parts.chunked) return out + parts.body;
  for (const auto& [size, data] : parts.chunks)
    out += size + parts.line_end + data + parts.line_end;
  out += "0" + parts.line_end;
  for (const std::string& trailer : parts.trailers)
    out += trailer + parts.line_end;
  return out + parts.line_end;
}

}  // namespace

void mutate_bytes(Random& random, std::string& bytes) {
  const std::size_t place = up_to(random, bytes.size());
  const std::size_t size = std::min<std::size_t>(bytes.size() - place, 1 + up_to(random, 8));
  switch (up_to(random, 4)) {
    case 0:
      bytes.erase(place, size);
      return;
    case 1:
      bytes.insert(place, bytes.substr(place, size));
      return;
    case 2:
      bytes.insert(place, 1, static_cast<char>(up_to(random, 255)));
      return;
    case 3:
      bytes.insert(place, 1, "\r\n\t :;,=\0\"/0"[up_to(random, 11)]);
      return;
    default:
      if (place < bytes.size()) bytes[place] = static_cast<char>(up_to(random, 255));
  }
}

MutatedResponse mutated_response(std::uint64_t seed) {
  Random random(seed);
  Parts parts = valid_response(random);
  for (std::uint64_t i = up_to(random, 3) + 1; i > 0; --i)
    mutate_part(random, parts);
  std::string bytes = written(parts);
  if (one_in(random, 10)) mutate_bytes(random, bytes);
  if (one_in(random, 10)) bytes.resize(up_to(random, bytes.size()));
  if (one_in(random, 20)) bytes += bytes;

  MutatedResponse response;
  while (one_in(random, 2) && !bytes.empty() && response.sends.size() < 6) {
    const std::size_t size = up_to(random, bytes.size());
    response.sends.push_back(bytes.substr(0, size));
    bytes.erase(0, size);
  }
  response.sends.push_back(std::move(bytes));
  using End = MutatedResponse::End;
  // What comes in pieces may end for the client before the last one, which would then be the answer
  // to whatever is requested next.
  const bool whole = response.sends.size() == 1 && response.sends[0].size() < 16'000;
  const std::uint64_t end = up_to(random, 49);
  response.end = end == 0            ? End::kStall
                 : end < 5           ? End::kReset
                 : end < 25 && whole ? End::kKeepAlive
                                     : End::kClose;
  return response;
}

}  // namespace trawl::test
