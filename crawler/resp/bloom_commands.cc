// BF.*
#include <array>

#include "crawler/resp/command_arguments.h"
#include "crawler/resp/command_handlers.h"

namespace trawl::resp {

namespace {

constexpr std::size_t kKeysAtOnce = 1024;
constexpr std::string_view kFixedIsFull = "ERR non scaling filter is full";
constexpr std::string_view kOtherExpansion =
    "ERR expansion must be 2: this server's filters grow by rules that keep the total error rate, "
    "and no other factor can be chosen";

struct BloomOptions {
  std::uint64_t capacity;
  double rate;
  bool fixed = false;
  bool expands = false;  // EXPANSION was given
  bool create = true;
};

// The Bloom filter of that name, or null after an error reply; `missing` if there is none.
ServedFilter* bloom_named(CommandCall& call, std::string_view name, bool& missing) {
  ServedFilter* const filter = call.store.find(name);
  missing = filter == nullptr;
  if (!missing && filter->is_cuckoo()) {
    call.reply.error(kWrongType);
    return nullptr;
  }
  return filter;
}

std::string_view rate_error(std::string_view text, double& rate) {
  const auto parsed = parse_number<double>(text);
  if (!parsed || std::isnan(*parsed)) return "ERR bad error rate";
  if (!(*parsed > 0 && *parsed < 1)) return "ERR (0 < error rate range < 1)";
  rate = *parsed;
  return {};
}

std::string_view capacity_error(std::string_view text, std::uint64_t& capacity) {
  const auto parsed = parse_number<std::int64_t>(text);
  if (!parsed) return "ERR bad capacity";
  if (*parsed <= 0) return "ERR (capacity should be larger than 0)";
  capacity = static_cast<std::uint64_t>(*parsed);
  return {};
}

std::string_view expansion_error(std::string_view text, BloomOptions& options) {
  const auto parsed = parse_number<std::int64_t>(text);
  if (!parsed) return "ERR bad expansion";
  if (*parsed < 1) return "ERR expansion should be greater or equal to 1";
  if (*parsed != 2) return kOtherExpansion;
  options.expands = true;
  return {};
}

ServedFilter* create_bloom(CommandCall& call, std::string_view name, const BloomOptions& options) {
  if (!check_name(call, name)) return nullptr;
  auto filter =
      call.store.create({.name = std::string(name),
                         .kind = options.fixed ? ServedKind::kFixed : ServedKind::kGrowing,
                         .capacity = options.capacity,
                         .rate = options.rate,
                         .grows = !options.fixed,
                         .hash_key = {}});
  if (filter) return *filter;
  call.reply.error(creation_error(filter.error()));
  return nullptr;
}

// The filter to add to, which is made if it is missing; null after an error reply.
ServedFilter* bloom_to_fill(CommandCall& call, const BloomOptions& options) {
  bool missing = false;
  ServedFilter* filter = bloom_named(call, call.request[1], missing);
  if (missing && !options.create) {
    call.reply.error(kNotFoundError);
    return nullptr;
  }
  if (missing) filter = create_bloom(call, call.request[1], options);
  if (filter != nullptr && filter->is_mapped()) {
    call.reply.error(kReadOnlyFilter);
    return nullptr;
  }
  return filter;
}

// Adds the arguments from `first` on, and appends their answers. As RedisBloom, ends at the first
// that a full filter refuses. Returns the number of answers.
std::size_t add_items(CommandCall& call, ServedFilter& filter, std::size_t first) {
  std::array<Fingerprint, kKeysAtOnce> keys;
  std::array<bool, kKeysAtOnce> fresh;
  const Request& request = call.request;
  const KeyedHash& hash = filter.hash();
  std::size_t answers = 0;
  for (std::size_t next = first; next < request.size();) {
    const std::size_t some = std::min(kKeysAtOnce, request.size() - next);
    for (std::size_t i = 0; i < some; ++i)
      keys[i] = hash(request[next + i]);
    const AddProgress progress = call.store.add(filter, {keys.data(), some}, {fresh.data(), some});
    call.reply.booleans({fresh.data(), progress.done});
    answers += progress.done;
    next += progress.done;
    if (progress.stop == Stop::kNone) continue;
    ++answers;
    ++next;
    call.reply.error(progress.stop == Stop::kFull ? kFixedIsFull : kNoMemoryError);
    if (progress.stop == Stop::kFull) break;
  }
  return answers;
}

void add_array(CommandCall& call, ServedFilter& filter, std::size_t first) {
  // The number of answers is known only at the end: the head is put in front of them then. It
  // nearly always is the number of items.
  const std::size_t items = call.request.size() - first;
  const std::size_t begin = call.client.out.size();
  call.reply.array(items);
  const std::size_t body = call.client.out.size();
  const std::size_t answers = add_items(call, filter, first);
  if (answers == items) return;
  call.client.out.replace(begin, body - begin, fmt::format("*{}\r\n", answers));
}

void look_up(CommandCall& call, const ServedFilter* filter, std::size_t first) {
  std::array<Fingerprint, kKeysAtOnce> keys;
  std::array<bool, kKeysAtOnce> found{};
  const Request& request = call.request;
  for (std::size_t next = first; next < request.size();) {
    const std::size_t some = std::min(kKeysAtOnce, request.size() - next);
    if (filter != nullptr) {
      for (std::size_t i = 0; i < some; ++i)
        keys[i] = filter->hash()(request[next + i]);
      filter->contains({keys.data(), some}, {found.data(), some});
    }
    call.reply.booleans({found.data(), some});
    next += some;
  }
}

// Reads the options of BF.INSERT. Returns the first item, or 0 after an error reply.
std::size_t read_insert_options(CommandCall& call, BloomOptions& options) {
  const Request& request = call.request;
  for (std::size_t i = 2; i < request.size(); ++i) {
    const std::string_view word = request[i];
    if (is_word(word, "ITEMS")) {
      if (i + 1 < request.size()) return i + 1;
      break;
    }
    if (is_word(word, "NOCREATE")) {
      options.create = false;
      continue;
    }
    if (is_word(word, "NONSCALING")) {
      options.fixed = true;
      continue;
    }
    const bool capacity = is_word(word, "CAPACITY");
    const bool rate = is_word(word, "ERROR");
    if (!capacity && !rate && !is_word(word, "EXPANSION")) {
      call.reply.error("ERR Unknown argument received");
      return 0;
    }
    if (++i == request.size()) break;
    const std::string_view wrong = capacity ? capacity_error(request[i], options.capacity)
                                   : rate   ? rate_error(request[i], options.rate)
                                            : expansion_error(request[i], options);
    if (!wrong.empty()) {
      call.reply.error(wrong);
      return 0;
    }
  }
  call.reply.error(wrong_arity("BF.INSERT"));
  return 0;
}

struct InfoField {
  std::string_view word;
  std::string_view name;
  void (*put)(CommandCall& call, const ServedFilter& filter);
};

constexpr std::array<InfoField, 5> kInfoFields{{
    {"CAPACITY", "Capacity",
     [](CommandCall& call, const ServedFilter& f) { call.reply.integer(f.capacity()); }},
    {"SIZE", "Size",
     [](CommandCall& call, const ServedFilter& f) { call.reply.integer(f.size_bytes()); }},
    {"FILTERS", "Number of filters",
     [](CommandCall& call, const ServedFilter& f) { call.reply.integer(f.filters()); }},
    {"ITEMS", "Number of items inserted",
     [](CommandCall& call, const ServedFilter& f) { call.reply.integer(f.inserted()); }},
    {"EXPANSION", "Expansion rate",
     [](CommandCall& call, const ServedFilter& f) {
       f.plan().kind == ServedKind::kGrowing ? call.reply.integer(std::int64_t{2})
                                             : call.reply.null();
     }},
}};

BloomOptions default_options(const CommandCall& call) {
  return {.capacity = call.defaults.capacity, .rate = call.defaults.rate};
}

}  // namespace

void BloomCommands::reserve(CommandCall& call) {
  const Request& request = call.request;
  BloomOptions options = default_options(call);
  if (request.size() > 7) return call.reply.error(wrong_arity("BF.RESERVE"));
  std::string_view wrong = rate_error(request[2], options.rate);
  if (wrong.empty()) wrong = capacity_error(request[3], options.capacity);
  for (std::size_t i = 4; wrong.empty() && i < request.size(); ++i) {
    if (is_word(request[i], "NONSCALING")) {
      options.fixed = true;
    } else if (!is_word(request[i], "EXPANSION")) {
      wrong = kSyntaxError;
    } else if (++i == request.size()) {
      wrong = "ERR no expansion";
    } else {
      wrong = expansion_error(request[i], options);
    }
  }
  if (wrong.empty() && options.fixed && options.expands)
    wrong = "ERR Nonscaling filters cannot expand";
  if (!wrong.empty()) return call.reply.error(wrong);
  bool missing = false;
  const ServedFilter* const there = bloom_named(call, request[1], missing);
  if (there != nullptr) return call.reply.error(kItemExists);
  if (missing && create_bloom(call, request[1], options) != nullptr) call.reply.simple("OK");
}

void BloomCommands::add(CommandCall& call) {
  ServedFilter* const filter = bloom_to_fill(call, default_options(call));
  if (filter != nullptr) add_items(call, *filter, 2);
}

void BloomCommands::madd(CommandCall& call) {
  ServedFilter* const filter = bloom_to_fill(call, default_options(call));
  if (filter != nullptr) add_array(call, *filter, 2);
}

void BloomCommands::insert(CommandCall& call) {
  BloomOptions options = default_options(call);
  const std::size_t first = read_insert_options(call, options);
  if (first == 0) return;
  if (options.fixed && options.expands)
    return call.reply.error("ERR Nonscaling filters cannot expand");
  ServedFilter* const filter = bloom_to_fill(call, options);
  if (filter != nullptr) add_array(call, *filter, first);
}

void BloomCommands::exists(CommandCall& call) {
  bool missing = false;
  const ServedFilter* const filter = bloom_named(call, call.request[1], missing);
  if (filter != nullptr || missing) look_up(call, filter, 2);
}

void BloomCommands::mexists(CommandCall& call) {
  bool missing = false;
  const ServedFilter* const filter = bloom_named(call, call.request[1], missing);
  if (filter == nullptr && !missing) return;
  call.reply.array(call.request.size() - 2);
  look_up(call, filter, 2);
}

void BloomCommands::info(CommandCall& call) {
  if (call.request.size() > 3) return call.reply.error(wrong_arity("BF.INFO"));
  bool missing = false;
  const ServedFilter* const filter = bloom_named(call, call.request[1], missing);
  if (missing) return call.reply.error(kNotFoundError);
  if (filter == nullptr) return;
  if (call.request.size() == 2) {
    call.reply.map(kInfoFields.size());
    for (const InfoField& field : kInfoFields) {
      call.reply.simple(field.name);
      field.put(call, *filter);
    }
    return;
  }
  for (const InfoField& field : kInfoFields) {
    if (!is_word(call.request[2], field.word)) continue;
    if (call.reply.version() == 3) {
      call.reply.map(1);
      call.reply.simple(field.name);
    } else {
      call.reply.array(1);
    }
    return field.put(call, *filter);
  }
  call.reply.error("ERR Invalid information value");
}

void BloomCommands::card(CommandCall& call) {
  bool missing = false;
  const ServedFilter* const filter = bloom_named(call, call.request[1], missing);
  if (missing) return call.reply.integer(std::int64_t{0});
  if (filter != nullptr) call.reply.integer(filter->inserted());
}

}  // namespace trawl::resp
