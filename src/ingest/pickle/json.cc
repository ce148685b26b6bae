#include "ingest/pickle/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "ingest/pickle/numbers.h"

namespace vramfit::ingest::pickle {
namespace {

constexpr int kDeepest = 32;

class Writer {
 public:
  Writer(const Strings& strings, const Heap& heap, std::size_t most) : strings_(strings), heap_(heap), most_(most) {}

  void write(const Value& value, int depth) {
    if (out.size() > most_ || depth > kDeepest) {
      out += "\"...\"";
      return;
    }
    switch (value.kind) {
      case Kind::kNone:
        out += "null";
        break;
      case Kind::kBool:
        out += value.bits != 0 ? "true" : "false";
        break;
      case Kind::kInt:
        out += std::to_string(value.number());
        break;
      case Kind::kBigInt:
        write_big_integer(strings_.text(value.text()));
        break;
      case Kind::kFloat:
        out += std::isfinite(value.real()) ? fmt::format("{}", value.real()) : fmt::format("\"{}\"", value.real());
        break;
      case Kind::kString:
        out += quote_json(cut(strings_.text(value.text())));
        break;
      case Kind::kBytes:
      case Kind::kByteArray:
        write_bytes(cut(strings_.text(value.text())));
        break;
      case Kind::kObject:
        if (const Object* object = heap_.find(value.slot())) write_object(*object, depth);
        break;
      case Kind::kFolded:
        out += "\"...\"";
        break;
    }
  }

  std::string out;

 private:
  std::string_view cut(std::string_view text) const { return text.substr(0, most_); }

  void write_big_integer(std::string_view bytes) {
    if (const auto value = narrow_unsigned(bytes)) {
      out += std::to_string(*value);
    } else {
      out += '"' + to_hex(cut(bytes)) + '"';
    }
  }

  void write_bytes(std::string_view bytes) {
    out += '"';
    for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    out += '"';
  }

  void write_object(const Object& object, int depth) {
    if (object.kind == ObjectKind::kDict) {
      write_dict(object, depth);
    } else if (object.kind == ObjectKind::kGlobal) {
      out += quote_json(
          fmt::format("<{}.{}>", strings_.text(object.items[0].text()), strings_.text(object.items[1].text())));
    } else {
      write_items(object, depth);
    }
  }

  void write_items(const Object& object, int depth) {
    const bool is_call = object.kind == ObjectKind::kCall;
    out += is_call ? "{\"call\":[" : "[";
    for (std::size_t i = 0; i < object.items.size(); ++i) {
      if (i > 0) out += ',';
      write(object.items[i], depth + 1);
      if (out.size() > most_) break;
    }
    out += is_call ? "]}" : "]";
  }

  void write_dict(const Object& object, int depth) {
    out += '{';
    for (std::size_t i = 0; i + 1 < object.items.size(); i += 2) {
      if (i > 0) out += ',';
      const Value& key = object.items[i];
      if (key.kind == Kind::kString) {
        write(key, depth + 1);
      } else if (key.kind == Kind::kObject) {  // a dict may be its own key
        out += "\"...\"";
      } else {
        out += quote_json(to_json(key, strings_, heap_, 100));
      }
      out += ':';
      write(object.items[i + 1], depth + 1);
      if (out.size() > most_) break;
    }
    out += '}';
  }

  const Strings& strings_;
  const Heap& heap_;
  std::size_t most_;
};

}  // namespace

std::string quote_json(std::string_view text) { return base::json_line(nlohmann::json(text)); }

std::string to_json(const Value& value, const Strings& strings, const Heap& heap, std::size_t most) {
  Writer writer(strings, heap, most);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace vramfit::ingest::pickle
