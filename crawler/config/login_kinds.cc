// The kind of [[login]].
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trawl/url.h"

#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/cookies_file.h"
#include "crawler/config/host_places.h"
#include "crawler/config/kind_parts.h"

namespace trawl::config_kind {

namespace {

constexpr std::size_t kMaxFieldBytes = 64u << 10;  // of all fields of a login

// Not quoted in a complaint, since it may be a secret at the wrong place.
std::optional<Url> login_url_at(const toml::table& table, std::string_view name, const Url* base,
                                const ConfigComplaint& complain) {
  const toml::node& node = *table.get(name);
  const auto text = node.value_exact<std::string_view>();
  const auto parsed = text ? Url::parse(*text, base) : error(ErrorCode::kInvalidUrl, "");
  if (parsed) return *parsed;
  complain(node, fmt::format("{}: expected an http(s) URL", name));
  return std::nullopt;
}

bool read_login_fields(const toml::table& table, LoginText& login,
                       const ConfigComplaint& complain) {
  static constexpr std::string_view kExpected =
      "fields: expected a table of strings, such as { user = \"me\", password = \"secret\" }";
  const toml::node* node = table.get("fields");
  if (node == nullptr) {
    complain(table,
             "fields is missing: what the form sends, such as { user = \"me\", password = "
             "\"secret\" }");
    return false;
  }
  const toml::table* fields = node->as_table();
  if (fields == nullptr || fields->empty()) {
    complain(*node, std::string(kExpected));
    return false;
  }
  bool good = true;
  std::size_t bytes = 0;
  for (auto&& [name, value] : *fields) {
    const auto text = value.value_exact<std::string_view>();
    if (!text) {
      complain(value, fmt::format("fields: {}: expected a string in quotes", shown(name.str())));
      good = false;
      continue;
    }
    bytes += name.str().size() + text->size();
    login.fields.emplace_back(std::string(name.str()), std::string(*text));
  }
  if (bytes > kMaxFieldBytes) complain(*node, "fields: more than 64 KiB");
  return good && bytes <= kMaxFieldBytes;
}

// The host that the login is for, which gets its cookies.
bool read_login_host(const toml::table& table, const Url& url, LoginText& login,
                     const ConfigComplaint& complain) {
  const toml::node* node = table.get("host");
  const auto text = node == nullptr ? std::optional(std::string(url.hostname()))
                                    : node->value_exact<std::string>();
  const toml::node& where = node == nullptr ? static_cast<const toml::node&>(table) : *node;
  if (!text) {
    complain(where, "host: expected a string");
    return false;
  }
  auto host = HostPlaces::normal(*text);
  if (!host) {
    complain(where, "host: " + host.error().message);
    return false;
  }
  login.host = *std::move(host);
  if (cookie_site(login.host) == cookie_site(url.hostname())) return true;
  complain(where, fmt::format("host: {} is of another site than the URL, so that it would not get "
                              "the cookies of the login",
                              shown(login.host)));
  return false;
}

std::optional<LoginText> read_login(const toml::table& table, const ConfigComplaint& complain) {
  LoginText login;
  bool good = only_names(table, {"url", "fields", "page", "host"}, complain);
  good &= read_login_fields(table, login, complain);
  if (!table.contains("url")) {
    complain(table, "url is missing: the http(s) URL that the form is sent to");
    return std::nullopt;
  }
  const auto url = login_url_at(table, "url", nullptr, complain);
  if (!url) return std::nullopt;
  login.url = url->href_without_fragment();
  if (table.contains("page")) {
    const auto page = login_url_at(table, "page", &*url, complain);
    good &= page.has_value();
    if (page) login.page = page->href_without_fragment();
  }
  good &= read_login_host(table, *url, login, complain);
  return good ? std::optional(std::move(login)) : std::nullopt;
}

std::string write_login(const LoginText& login) {
  std::vector<std::string> fields;
  for (const auto& [name, value] : login.fields)
    fields.push_back(toml_string(name) + " = " + toml_string(value));
  std::string out = fmt::format("{{ url = {}, fields = {{ {} }}", toml_string(login.url),
                                fmt::join(fields, ", "));
  if (!login.page.empty()) out += ", page = " + toml_string(login.page);
  return out + ", host = " + toml_string(login.host) + " }";
}

}  // namespace

Kind<std::vector<LoginText>> logins() {
  auto kind = tables<LoginText>(
      "tables [[login]] with a url, fields (a table of strings), and any of page, host", read_login,
      write_login);
  kind.read = [type = kind.type, read = kind.read](
                  const toml::node& node,
                  const ConfigComplaint& complain) -> std::optional<std::vector<LoginText>> {
    // A form as a string is not quoted either.
    const auto is_string = [](const toml::node& value) { return value.is_string(); };
    const toml::array* const array = node.as_array();
    if (is_string(node) || (array != nullptr && std::ranges::any_of(*array, is_string))) {
      complain(node, fmt::format("expected {}; found a string", type));
      return std::nullopt;
    }
    auto logins = read(node, complain);
    HostPlaces known;
    for (const LoginText& login : logins.value_or(std::vector<LoginText>())) {
      if (!known.add(login.host, 0))
        complain(node, fmt::format("the host {} has two logins", shown(login.host)));
    }
    return logins;
  };
  return kind;
}

}  // namespace trawl::config_kind
