#include "crawler/status/control_client.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "crawler/status/control_socket.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

// An answer is a list of hosts or a config: a few MiB at most.
constexpr std::size_t kMaxAnswer = 256 << 20;

std::size_t take_answer(char* data, std::size_t, std::size_t size, void* to) {
  auto& answer = *static_cast<std::string*>(to);
  if (answer.size() + size > kMaxAnswer) return 0;
  answer.append(data, size);
  return size;
}

// Returns 0 or an errno.
int try_to_connect(const FileDescriptor& directory) {
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return errno;
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  const std::string name = ControlSocket::short_path(directory);
  std::memcpy(place.sun_path, name.c_str(), name.size() + 1);
  const auto* address = reinterpret_cast<const sockaddr*>(&place);
  return ::connect(socket.get(), address, sizeof place) == 0 ? 0 : errno;
}

// The process that has locked the state directory, as a crawl does; nothing if there is none.
std::optional<std::string> holder_of(const FileDescriptor& directory) {
  const FileDescriptor lock(::openat(directory.get(), "LOCK", O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return std::nullopt;
  std::array<char, 32> text{};
  const ssize_t size = ::pread(lock.get(), text.data(), text.size() - 1, 0);
  const std::string_view pid(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const bool is_number =
      !pid.empty() && pid.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? fmt::format(" (pid {})", pid) : std::string();
}

Error unreachable(const FileDescriptor& directory, const std::string& holder,
                  const std::string& name) {
  const std::string path = ControlSocket::path(name).string();
  if (ControlSocket::is_blocked(directory)) {
    return {ErrorCode::kUnavailable,
            fmt::format("a crawl is running in {}{}, but it cannot be reached: {} is in the place "
                        "of its control socket; end it with SIGINT, remove that file and resume it",
                        name, holder, path)};
  }
  return {ErrorCode::kUnavailable,
          fmt::format("{} is in use by another process{} that does not listen on {}: a crawl that "
                      "is about to start or has just ended, or another command; try again",
                      name, holder, path)};
}

std::string words_of(const std::string& answer, long status) {
  const auto json = nlohmann::json::parse(answer, nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_string())
    return json["error"].get<std::string>();
  return fmt::format("the crawl answered with status {}", status);
}

ErrorCode code_of_status(long status) {
  switch (status) {
    case 400:
    case 413:
      return ErrorCode::kInvalidArgument;
    case 404:
      return ErrorCode::kNotFound;
    case 503:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

Result<ControlClient> ControlClient::connect(const std::filesystem::path& state_dir) {
  const std::string name = state_dir.string();
  auto directory = ControlSocket::open_directory(state_dir);
  if (!directory) return tl::unexpected(directory.error());
  const int failure = try_to_connect(*directory);
  if (failure == ENOENT || failure == ECONNREFUSED) {
    if (const auto holder = holder_of(*directory))
      return tl::unexpected(unreachable(*directory, *holder, name));
    return error(ErrorCode::kNotFound, "no crawl is running in " + name);
  }
  if (failure != 0) {
    return tl::unexpected(
        system_error(failure, "cannot connect to " + ControlSocket::path(state_dir).string()));
  }
  return ControlClient(std::move(*directory), name);
}

Result<std::string> ControlClient::get(const std::string& target) const {
  return ask(target, nullptr);
}

Result<std::string> ControlClient::post(const std::string& target, const std::string& body) const {
  return ask(target, &body);
}

Result<std::string> ControlClient::ask(const std::string& target, const std::string* body) const {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  if (!curl) return error(ErrorCode::kNoSpace, "cannot start libcurl");
  const std::string socket = ControlSocket::short_path(directory_);
  const std::string url = "http://localhost" + target;
  std::string answer;
  curl_easy_setopt(curl.get(), CURLOPT_UNIX_SOCKET_PATH, socket.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_.count()));
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &take_answer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer);
  curl_slist* headers = nullptr;
  if (body != nullptr) {
    headers = curl_slist_append(headers, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Expect:");
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(body->size()));
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body->c_str());
  }
  const CURLcode failure = curl_easy_perform(curl.get());
  curl_slist_free_all(headers);
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (failure == CURLE_COULDNT_CONNECT)
    return error(ErrorCode::kClosed, fmt::format("the crawl in {} has ended", name_));
  if (failure == CURLE_OPERATION_TIMEDOUT) {
    return error(
        ErrorCode::kUnavailable,
        fmt::format("the crawl in {} did not answer within {} s: it may be stopped, or its "
                    "machine overloaded; try again",
                    name_, (timeout_.count() + 999) / 1000));
  }
  if (failure != CURLE_OK && status == 0) {
    return error(ErrorCode::kClosed, fmt::format("the crawl in {} closed the connection ({}): it "
                                                 "may have ended",
                                                 name_, curl_easy_strerror(failure)));
  }
  if (failure != CURLE_OK)
    return error(ErrorCode::kIo, fmt::format("the answer of the crawl in {} broke off: {}", name_,
                                             curl_easy_strerror(failure)));
  if (status >= 200 && status < 300) return answer;
  return error(code_of_status(status), words_of(answer, status));
}

std::string ControlClient::escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      append_escape(c, out);
    }
  }
  return out;
}

}  // namespace trawl
