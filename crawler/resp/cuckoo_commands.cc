// CF.*
#include "crawler/resp/command_arguments.h"
#include "crawler/resp/command_handlers.h"

namespace trawl::resp {

namespace {

constexpr std::int64_t kBucketSlots = 4;
constexpr std::int64_t kPathNodes = 1024;  // that an insert looks at for a free slot
constexpr std::string_view kCuckooIsFull = "ERR Filter is full";
constexpr std::string_view kCuckooIsTooSmall = "ERR Capacity must be at least (BucketSize * 2)";
constexpr std::int64_t kBucketSize = 2;  // that RedisBloom has by default

ServedFilter* cuckoo_named(CommandCall& call, bool& missing) {
  ServedFilter* const filter = call.store.find(call.request[1]);
  missing = filter == nullptr;
  if (!missing && !filter->is_cuckoo()) {
    call.reply.error(kWrongType);
    return nullptr;
  }
  return filter;
}

ServedFilter* create_cuckoo(CommandCall& call, std::uint64_t capacity, bool grows) {
  if (!check_name(call, call.request[1])) return nullptr;
  auto filter = call.store.create({.name = std::string(call.request[1]),
                                   .kind = ServedKind::kCuckoo,
                                   .capacity = capacity,
                                   .rate = call.defaults.rate,
                                   .grows = grows,
                                   .hash_key = {}});
  if (filter) return *filter;
  call.reply.error(creation_error(filter.error()));
  return nullptr;
}

ServedFilter* cuckoo_to_fill(CommandCall& call, std::uint64_t capacity, bool create) {
  bool missing = false;
  ServedFilter* filter = cuckoo_named(call, missing);
  if (missing && !create) {
    call.reply.error(kNotFoundError);
    return nullptr;
  }
  if (missing) filter = create_cuckoo(call, capacity, true);
  if (filter != nullptr && filter->is_mapped()) {
    call.reply.error(kReadOnlyFilter);
    return nullptr;
  }
  return filter;
}

enum class Copies : std::uint8_t { kAny, kOne };

void add_item(CommandCall& call, ServedFilter& filter, std::string_view item, Copies copies,
              bool many) {
  // As RedisBloom, CF.INSERTNX has no booleans.
  const bool integers = many && copies == Copies::kOne;
  const auto answer = [&](bool added) {
    integers ? call.reply.integer(std::int64_t{added ? 1 : 0}) : call.reply.boolean(added);
  };
  const Fingerprint key = filter.hash()(item);
  if (copies == Copies::kOne && filter.contains(key)) {
    call.store.note_known(filter, key);
    return answer(false);
  }
  switch (call.store.add_copy(filter, key)) {
    case CuckooChain::Added::kAdded:
      return answer(true);
    case CuckooChain::Added::kNoMemory:
      return call.reply.error(kNoMemoryError);
    case CuckooChain::Added::kFull:
      break;
  }
  if (!many) return call.reply.error(kCuckooIsFull);
  if (call.reply.version() == 3 && !integers) return call.reply.boolean(false);
  call.reply.integer(std::int64_t{-1});
}

void add_one(CommandCall& call, Copies copies) {
  ServedFilter* const filter = cuckoo_to_fill(call, call.defaults.cuckoo_capacity, true);
  if (filter != nullptr) add_item(call, *filter, call.request[2], copies, false);
}

void add_many(CommandCall& call, Copies copies) {
  const Request& request = call.request;
  std::uint64_t capacity = call.defaults.cuckoo_capacity;
  bool create = true;
  std::size_t first = 0;
  for (std::size_t i = 2; i < request.size() && first == 0; ++i) {
    if (is_word(request[i], "ITEMS")) {
      first = i + 1;
    } else if (is_word(request[i], "NOCREATE")) {
      create = false;
    } else if (is_word(request[i], "CAPACITY")) {
      if (++i == request.size()) break;
      const auto parsed = parse_number<std::int64_t>(request[i]);
      if (!parsed || *parsed <= 0) return call.reply.error("ERR Bad capacity");
      if (*parsed < 2 * kBucketSize) return call.reply.error(kCuckooIsTooSmall);
      capacity = static_cast<std::uint64_t>(*parsed);
    } else {
      return call.reply.error("ERR Unknown argument received");
    }
  }
  if (first == 0 || first == request.size())
    return call.reply.error(wrong_arity(copies == Copies::kOne ? "CF.INSERTNX" : "CF.INSERT"));
  ServedFilter* const filter = cuckoo_to_fill(call, capacity, create);
  if (filter == nullptr) return;
  call.reply.array(request.size() - first);
  for (std::size_t i = first; i < request.size(); ++i)
    add_item(call, *filter, request[i], copies, true);
}

// An option of CF.RESERVE with a number in a range. Returns an error, or nothing.
std::string option_error(std::string_view text, std::string_view name, std::int64_t least,
                         std::int64_t most, std::int64_t& value) {
  const auto parsed = parse_number<std::int64_t>(text);
  if (!parsed) return fmt::format("ERR Couldn't parse {}", name);
  if (*parsed < least || *parsed > most)
    return fmt::format("ERR {}: value must be in the range [{}, {}]", name, least, most);
  value = *parsed;
  return {};
}

}  // namespace

void CuckooCommands::reserve(CommandCall& call) {
  const Request& request = call.request;
  if (request.size() % 2 == 0) return call.reply.error(wrong_arity("CF.RESERVE"));
  const auto capacity = parse_number<std::int64_t>(request[2]);
  if (!capacity) return call.reply.error("ERR Bad capacity");
  std::int64_t bucket = kBucketSize;
  std::int64_t iterations = 20;
  std::int64_t expansion = 2;
  for (std::size_t i = 3; i + 1 < request.size(); i += 2) {
    const std::string_view value = request[i + 1];
    std::string wrong(kSyntaxError);
    if (is_word(request[i], "BUCKETSIZE")) {
      wrong = option_error(value, "BUCKETSIZE", 1, 255, bucket);
    } else if (is_word(request[i], "MAXITERATIONS")) {
      wrong = option_error(value, "MAXITERATIONS", 1, 65535, iterations);
    } else if (is_word(request[i], "EXPANSION")) {
      wrong = option_error(value, "EXPANSION", 0, 32768, expansion);
    }
    if (!wrong.empty()) return call.reply.error(wrong);
  }
  if (expansion != 0 && expansion != 2) {
    return call.reply.error(
        "ERR EXPANSION must be 2, or 0 for a filter that does not grow: this "
        "server's filters keep the total error rate, and no other factor can "
        "be chosen");
  }
  if (*capacity < 2 * bucket) return call.reply.error(kCuckooIsTooSmall);
  bool missing = false;
  if (cuckoo_named(call, missing) != nullptr) return call.reply.error(kItemExists);
  if (!missing) return;
  if (create_cuckoo(call, static_cast<std::uint64_t>(*capacity), expansion != 0) != nullptr)
    call.reply.simple("OK");
}

void CuckooCommands::add(CommandCall& call) {
  add_one(call, Copies::kAny);
}

void CuckooCommands::addnx(CommandCall& call) {
  add_one(call, Copies::kOne);
}

void CuckooCommands::insert(CommandCall& call) {
  add_many(call, Copies::kAny);
}

void CuckooCommands::insertnx(CommandCall& call) {
  add_many(call, Copies::kOne);
}

void CuckooCommands::exists(CommandCall& call) {
  bool missing = false;
  const ServedFilter* const filter = cuckoo_named(call, missing);
  if (filter == nullptr && !missing) return;
  call.reply.boolean(!missing && filter->contains(filter->hash()(call.request[2])));
}

void CuckooCommands::mexists(CommandCall& call) {
  bool missing = false;
  const ServedFilter* const filter = cuckoo_named(call, missing);
  if (filter == nullptr && !missing) return;
  call.reply.array(call.request.size() - 2);
  for (std::size_t i = 2; i < call.request.size(); ++i)
    call.reply.boolean(!missing && filter->contains(filter->hash()(call.request[i])));
}

void CuckooCommands::del(CommandCall& call) {
  bool missing = false;
  ServedFilter* const filter = cuckoo_named(call, missing);
  if (missing) return call.reply.error("ERR Not found");
  if (filter == nullptr) return;
  if (filter->is_mapped()) return call.reply.error(kReadOnlyFilter);
  call.reply.boolean(call.store.erase(*filter, filter->hash()(call.request[2])));
}

void CuckooCommands::count(CommandCall& call) {
  bool missing = false;
  ServedFilter* const filter = cuckoo_named(call, missing);
  if (missing) return call.reply.integer(std::int64_t{0});
  if (filter == nullptr) return;
  const Fingerprint key = filter->hash()(call.request[2]);
  const CuckooChain* const chain = filter->cuckoo();
  if (chain != nullptr) return call.reply.integer(chain->count(key));
  if (!filter->contains(key)) return call.reply.integer(std::int64_t{0});
  call.reply.error("READONLY copies are not counted in a filter that is read in place");
}

void CuckooCommands::info(CommandCall& call) {
  bool missing = false;
  ServedFilter* const filter = cuckoo_named(call, missing);
  if (missing) return call.reply.error(kNotFoundError);
  if (filter == nullptr) return;
  const CuckooChain* const chain = filter->cuckoo();
  call.reply.map(8);
  call.reply.simple("Size");
  call.reply.integer(filter->size_bytes());
  call.reply.simple("Number of buckets");
  call.reply.integer(chain == nullptr ? filter->capacity() / kBucketSlots
                                      : chain->slots() / kBucketSlots);
  call.reply.simple("Number of filters");
  call.reply.integer(filter->filters());
  call.reply.simple("Number of items inserted");
  call.reply.integer(filter->inserted());
  call.reply.simple("Number of items deleted");
  call.reply.integer(filter->erased());
  call.reply.simple("Bucket size");
  call.reply.integer(kBucketSlots);
  call.reply.simple("Expansion rate");
  call.reply.integer(std::int64_t{filter->plan().grows ? 2 : 0});
  call.reply.simple("Max iterations");
  call.reply.integer(kPathNodes);
}

}  // namespace trawl::resp
