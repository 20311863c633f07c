// trawl serve
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "base/file_io.h"
#include "base/free_memory.h"
#include "base/local_time.h"
#include "crawler/cli/commands.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_values.h"
#include "crawler/cli/parsed_option.h"
#include "crawler/cli/say.h"
#include "crawler/cli/signal_waiter.h"
#include "crawler/cli/verb_help.h"
#include "crawler/config/config_values.h"
#include "crawler/config/nearest_name.h"
#include "crawler/resp/server.h"

namespace trawl::cli {

namespace {

struct ServeArguments {
  std::optional<ListenAddress> address;
  std::string directory;
  std::string password_file;
  std::string durability = "interval";
  std::optional<std::chrono::milliseconds> interval;
  std::optional<std::uint64_t> max_memory;
  std::optional<std::uint64_t> max_argument;
  std::optional<std::uint64_t> capacity;
  std::optional<double> rate;
  std::size_t max_clients = 16'384;
  std::size_t max_filters = 10'000;
  std::vector<std::string> disabled;
};

VerbHelp help_of_serve() {
  return {
      .text =
          R"(Serves filters to clients of Redis, with the commands of RedisBloom: BF.* for Bloom filters, CF.* for
cuckoo filters, and what clients need besides. docs/serve.md lists them, and what differs.

ADDRESS is a port, or an IP address and a port, such as 127.0.0.1:6379 or [::1]:6379; port 0 picks a
free one. Any other address than a loopback one needs --password-file.

Filters are kept in DIR. A change is on disk at most --interval after its reply, or before it with
--durability log. A filter that does not fit into --max-memory is read in place, for lookups only, and
so is each file NAME.filter in DIR, made by trawl filter build, as the filter NAME.)",
      .output = R"(A line with the address once clients can connect; messages on standard error.)",
      .examples =
          {{"trawl serve --resp 6379 --dir filters"},
           {"trawl serve --resp 6379 --dir filters --durability log", "replies wait for the disk"},
           {"trawl serve --resp 0.0.0.0:6379 --dir filters --password-file secret --disable "
            "FLUSHALL,SHUTDOWN"}},
      .exits = {{kDone, "ended by a signal or by SHUTDOWN; all changes are on disk"},
                {kFailed, "failed"},
                {kUsage, "wrong usage"},
                {kOutOfSpace, "out of disk or memory"}},
      .signals = "SIGINT and SIGTERM write a checkpoint and end the server."};
}

tl::expected<ListenAddress, std::string> parse_serve_address(const std::string& text) {
  auto address = parse_listen_address(text);
  if (!address) return tl::unexpected(address.error().message);
  return *address;
}

tl::expected<std::uint64_t, std::string> parse_serve_memory(const std::string& text) {
  const auto size = parse_size(text);
  if (!size) return tl::unexpected(shown(text) + " is not a size such as 512MiB: " + size.error());
  constexpr std::uint64_t kLeast = 1 << 20;
  if (*size < kLeast) return tl::unexpected(shown(text) + " is too small: at least 1MiB");
  return *size;
}

tl::expected<std::uint64_t, std::string> parse_argument_size(const std::string& text) {
  const auto size = parse_size(text);
  if (!size) return tl::unexpected(shown(text) + " is not a size such as 1MiB: " + size.error());
  constexpr std::uint64_t kLeast = 64;
  constexpr std::uint64_t kMost = 512 << 20;
  if (*size < kLeast || *size > kMost)
    return tl::unexpected(shown(text) + " is not from 64B to 512MiB");
  return *size;
}

tl::expected<std::chrono::milliseconds, std::string> parse_interval(const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration)
    return tl::unexpected(shown(text) + " is not a duration such as 1s: " + duration.error());
  if (*duration < std::chrono::milliseconds(1) || *duration > std::chrono::hours(1))
    return tl::unexpected(shown(text) + " is not from 1ms to 1h");
  return *duration;
}

// The commands of --disable, in capitals; exits with an error for one that does not exist.
Result<std::set<std::string, std::less<>>> disabled_commands(
    const std::vector<std::string>& names) {
  std::set<std::string, std::less<>> disabled;
  std::vector<std::string_view> known;
  for (const auto& command : resp::all_commands())
    known.push_back(command.name);
  for (const auto& name : names) {
    std::string capitals(name);
    std::ranges::transform(capitals, capitals.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (resp::find_command(capitals) == nullptr) {
      const auto near = nearest_name(capitals, known);
      return error(ErrorCode::kInvalidArgument,
                   fmt::format("--disable: there is no command {}{}", shown(name),
                               near.empty() ? "" : fmt::format(". Did you mean {}?", near)));
    }
    disabled.insert(capitals);
  }
  return disabled;
}

Result<std::string> read_password(const std::string& path) {
  auto text = read_file(path, 4096);
  if (!text) return text;
  const std::size_t end = text->find_first_of("\r\n");
  std::string password = text->substr(0, end);
  if (password.empty()) {
    return error(ErrorCode::kInvalidArgument,
                 path + " has no password: write it on the first line");
  }
  return password;
}

// What is said while it runs, one line each. The server does not end because it cannot be written,
// as on a full disk.
void note_line(std::string_view text) {
  const auto now =
      std::chrono::time_point_cast<SystemTime::duration>(std::chrono::system_clock::now());
  try {
    say(stderr, "{} {}\n", to_local_time(now, now), text);
  } catch (const std::system_error&) {
  }
}

void warn_of_readers(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && (file.st_mode & S_IROTH) != 0)
    note_line(fmt::format("warning: all users can read the password in {}: chmod 600", path));
}

Result<resp::ServerOptions> options_of(const ServeArguments& arguments) {
  resp::ServerOptions options;
  options.address = *arguments.address;
  if (!arguments.password_file.empty()) {
    auto password = read_password(arguments.password_file);
    if (!password) return tl::unexpected(password.error());
    options.defaults.password = std::move(*password);
    warn_of_readers(arguments.password_file);
  } else if (!options.address.loopback) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} can be reached from other machines: give --password-file, or "
                             "listen on 127.0.0.1",
                             options.address.host));
  }
  auto disabled = disabled_commands(arguments.disabled);
  if (!disabled) return tl::unexpected(disabled.error());
  options.disabled = std::move(*disabled);
  options.store.directory = arguments.directory;
  options.store.max_memory = arguments.max_memory.value_or(free_memory() / 4 * 3);
  options.store.max_filters = arguments.max_filters;
  constexpr std::uint64_t kLeastForClients = 64 << 20;
  options.client_memory = std::max(kLeastForClients, options.store.max_memory / 4);
  options.max_clients = arguments.max_clients;
  options.sync_before_reply = arguments.durability == "log";
  options.interval = arguments.interval.value_or(options.interval);
  options.requests.argument = arguments.max_argument.value_or(options.requests.argument);
  options.requests.request = std::max(options.requests.request, 2 * options.requests.argument);
  options.defaults.rate = arguments.rate.value_or(options.defaults.rate);
  options.defaults.capacity = arguments.capacity.value_or(options.defaults.capacity);
  options.defaults.cuckoo_capacity = arguments.capacity.value_or(options.defaults.cuckoo_capacity);
  options.note = note_line;
  return options;
}

void report_opening(const resp::StoreOpening& opening) {
  for (const auto& warning : opening.warnings)
    note_line("warning: " + warning);
  if (opening.torn_bytes > 0) {
    note_line(fmt::format("the end of the log, {} bytes, was not written completely and is cut off",
                          opening.torn_bytes));
  }
  if (opening.changes_replayed > 0)
    note_line(fmt::format("{} changes replayed from the log", opening.changes_replayed));
}

int run_serve(const ServeArguments& arguments) {
  auto options = options_of(arguments);
  if (!options) {
    return options.error().code == ErrorCode::kInvalidArgument
               ? usage_error(options.error().message)
               : report(options.error());
  }
  const SignalWaiter blocked;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  const FileDescriptor stop(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (stop.get() < 0) return report(system_error(errno, "cannot wait for signals"));
  const ListenAddress address = options->address;
  auto server = resp::Server::start(std::move(*options));
  if (!server) return report(server.error());
  const resp::StoreOpening& opening = (*server)->filters().opening();
  report_opening(opening);
  say("ready: {}{}{}:{}, {} filters\n", address.ipv6 ? "[" : "", address.host,
      address.ipv6 ? "]" : "", (*server)->port(), opening.filters);
  std::fflush(stdout);
  if (const auto ended = (*server)->run(stop.get()); !ended) return report(ended.error());
  return kDone;
}

}  // namespace

void add_serve_command(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<ServeArguments>();
  auto* command = app.add_subcommand("serve", "Serve filters to clients of Redis");
  add_parsed(command, "--resp", arguments->address, parse_serve_address,
             "Where to listen: a port, or an IP address and a port")
      ->type_name("ADDRESS")
      ->required();
  command->add_option("--dir", arguments->directory, "The directory of the filters")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--durability", arguments->durability,
                   "When changes are on disk: interval (at most --interval later) or log (before "
                   "the reply)")
      ->check(CLI::IsMember({"interval", "log"}))
      ->capture_default_str();
  add_parsed(command, "--interval", arguments->interval, parse_interval,
             "How long a change may wait for the disk (default 1s)")
      ->type_name("TIME");
  add_parsed(command, "--max-memory", arguments->max_memory, parse_serve_memory,
             "Memory of all filters (default: 3/4 of what is free)")
      ->type_name("SIZE");
  command->add_option("--max-clients", arguments->max_clients, "The most clients at a time")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--max-filters", arguments->max_filters, "The most filters")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_parsed(command, "--max-argument", arguments->max_argument, parse_argument_size,
             "The most bytes of an argument (default 1MiB)")
      ->type_name("SIZE");
  add_parsed(command, "--capacity", arguments->capacity, parse_capacity,
             "Keys that a filter is made for which an add creates (default: 100, cuckoo 1024)")
      ->type_name("N");
  add_parsed(command, "--error", arguments->rate, parse_rate,
             "False-positive rate of filters for which none is given (default 0.01)")
      ->type_name("P");
  command
      ->add_option("--password-file", arguments->password_file,
                   "File whose first line is the password that clients must give")
      ->type_name("FILE");
  command
      ->add_option("--disable", arguments->disabled,
                   "Commands that are refused, such as FLUSHALL,SHUTDOWN,DEL")
      ->type_name("NAME,...")
      ->delimiter(',');
  describe(command, help_of_serve());
  command->callback([arguments, &exit_code] { exit_code = run_serve(*arguments); });
}

}  // namespace trawl::cli
