#include "crawler/parse/sitemap/xml_push_parser.h"

#include <algorithm>
#include <mutex>

#include <libxml/parser.h>
#include <libxml/xmlerror.h>

namespace trawl {
namespace {

// libxml2 keeps distinct names until the end; sitemaps have some dozens.
constexpr std::size_t kMaxNames = 256u << 10;  // bytes
// Reporting an error is more expensive than parsing valid XML.
constexpr std::size_t kMaxErrors = 100'000;
constexpr std::size_t kMaxDepth = 100'000;
constexpr std::size_t kMaxErrorText = 200;

std::string_view view(const xmlChar* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

void free_context(xmlParserCtxt* context) {
  if (context == nullptr) return;
  xmlFreeDoc(context->myDoc);
  xmlFreeParserCtxt(context);
}

}  // namespace

XmlName split_xml_name(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == name.npos) return {{}, name};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

// The callbacks of libxml2.
struct XmlPushParser::Callbacks {
  static void start_element(void* data, const xmlChar* name, const xmlChar** attributes) {
    auto* self = static_cast<XmlPushParser*>(data);
    self->attributes_.clear();
    for (; attributes != nullptr && *attributes != nullptr; attributes += 2)
      self->attributes_.push_back({view(attributes[0]), view(attributes[1])});
    ++self->elements_;
    if (++self->depth_ > kMaxDepth) {
      self->note_error("elements nested more than " + std::to_string(kMaxDepth) + " deep");
      self->stopped_ = true;
    }
    self->handler_.start_element(split_xml_name(view(name)), self->attributes_);
  }

  static void end_element(void* data, const xmlChar* name) {
    auto* self = static_cast<XmlPushParser*>(data);
    if (self->depth_ > 0) --self->depth_;
    self->handler_.end_element(split_xml_name(view(name)));
  }

  static void characters(void* data, const xmlChar* text, int length) {
    auto* self = static_cast<XmlPushParser*>(data);
    self->handler_.text({reinterpret_cast<const char*>(text), static_cast<std::size_t>(length)});
  }

  static void warning(void*, const char*, ...) {}

  static void error(void* data, const char*, ...) {
    auto* self = static_cast<XmlPushParser*>(data);
    if (self->context_ == nullptr) return;
    const xmlError* error = &self->context_->lastError;
    // A missing end is detected by root_closed().
    if (self->finishing_ && self->depth_ > 0) return;
    // Only names take unlimited memory.
    if (error->code == XML_ERR_NO_MEMORY)
      self->note_error("too many different names");
    else
      self->note_error(error->message == nullptr ? "unknown" : error->message);
    if (self->errors_ >= kMaxErrors) self->stopped_ = true;
  }
};

XmlPushParser::XmlPushParser(XmlHandler& handler)
    : handler_(handler), context_(nullptr, free_context) {
  static std::once_flag initialised;
  std::call_once(initialised, xmlInitParser);
  // Without the other callbacks, libxml2 builds no document, processes no entities or DTD, opens no
  // files and prints nothing. Version 1 of the handler passes names as written; resolving prefixes
  // would take quadratic time in their declarations.
  xmlSAXHandler sax{};
  sax.initialized = 1;
  sax.startElement = Callbacks::start_element;
  sax.endElement = Callbacks::end_element;
  sax.characters = Callbacks::characters;
  sax.ignorableWhitespace = Callbacks::characters;
  sax.error = Callbacks::error;
  sax.warning = Callbacks::warning;
  context_.reset(xmlCreatePushParserCtxt(&sax, this, nullptr, 0, nullptr));
  if (context_ == nullptr) {
    stopped_ = true;
    first_error_ = "line 1: not enough memory for the XML parser";
    return;
  }
  // NOENT: passes "&amp;" in attributes as "&". There are no entities other than XML's own.
  xmlCtxtUseOptions(context_.get(), XML_PARSE_RECOVER | XML_PARSE_NONET | XML_PARSE_NOENT);
  xmlDictSetLimit(context_->dict, kMaxNames);
}

void XmlPushParser::note_error(std::string_view message) {
  if (errors_++ > 0) return;
  message = message.substr(0, std::min(message.find('\n'), kMaxErrorText));
  const int line = context_->input == nullptr ? 0 : context_->input->line;
  first_error_ = "line " + std::to_string(line) + ": " + std::string(message);
}

XmlPushParser::~XmlPushParser() = default;

bool XmlPushParser::feed(std::string_view xml) {
  if (stopped_) return false;
  if (!xml.empty()) {
    xmlParseChunk(context_.get(), xml.data(), static_cast<int>(xml.size()), 0);
  }
  if (context_->instate == XML_PARSER_EOF) stopped_ = true;
  return !stopped_;
}

void XmlPushParser::finish() {
  finishing_ = true;
  if (!stopped_) xmlParseChunk(context_.get(), nullptr, 0, 1);
}

}  // namespace trawl
