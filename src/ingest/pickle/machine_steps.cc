// What each opcode does. The groups follow the shape of the opcodes; step() asks one after the other, the frequent
// first.
#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "base/parse_number.h"
#include "ingest/pickle/machine.h"
#include "ingest/pickle/numbers.h"
#include "ingest/pickle/opcodes.h"

namespace vramfit::ingest::pickle {
namespace {

bool is_ascii(std::string_view text) {
  for (const char byte : text) {
    if ((byte & 0x80) != 0) return false;
  }
  return true;
}

}  // namespace

bool Machine::read_number(int size, std::uint64_t& number) {
  if (!input_.ensure(static_cast<std::size_t>(size))) return ends_early();
  number = 0;
  std::memcpy(&number, input_.data(), static_cast<std::size_t>(size));  // little-endian
  input_.skip(static_cast<std::size_t>(size));
  return true;
}

bool Machine::step(unsigned char opcode) {
  std::uint64_t number = 0;
  switch (opcode) {
    // Nine of ten opcodes of a snapshot are one of these.
    case kBinGet:
      return read_number(1, number) && push_memo(number);
    case kLongBinGet:
      return read_number(4, number) && push_memo(number);
    case kMemoize:
      if (!need(1)) return false;
      memo_.add(stack_.back());
      return true;
    case kBinInt:
      if (!read_number(4, number)) return false;
      push(make_int(static_cast<std::int32_t>(number)));
      return true;
    case kMark:
      marks_.push_back(stack_.size());
      return true;
    case kPop:
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
        return true;
      }
      if (!need(1)) return false;
      stack_.pop_back();
      return true;
    case kPopMark: {
      std::size_t first = 0;
      if (!pop_mark(first)) return false;
      stack_.resize(first);
      return true;
    }
    case kDup:
      if (!need(1)) return false;
      push(stack_.back());
      stack_.back().is_owner = false;
      return true;
    case kProto:
      if (!read_number(1, number)) return false;
      protocol_ = static_cast<int>(number);
      return number <= 5 || fail(fmt::format("pickle protocol {} is newer than any known here (5)", number));
    case kFrame:  // a hint for readers that fetch whole frames; the window of Input does without
      return read_number(8, number);
    case kNextBuffer:
      return fail("the pickle keeps data in out-of-band buffers (protocol 5), which are not in the file");
    case kReadonlyBuffer:
      return need(1);
    default:
      return step_memo(opcode);
  }
}

bool Machine::step_memo(unsigned char opcode) {
  std::uint64_t number = 0;
  std::string_view line;
  switch (opcode) {
    case kGet:
    case kPut: {
      if (!take_line(line)) return false;
      const auto index = base::parse_number<std::uint64_t>(line);
      if (!index) return fail("a memo number is no number");
      number = *index;
      break;
    }
    case kBinPut:
      if (!read_number(1, number)) return false;
      break;
    case kLongBinPut:
      if (!read_number(4, number)) return false;
      break;
    default:
      return step_container(opcode);
  }
  if (opcode == kGet) return push_memo(number);
  if (!need(1)) return false;
  memo_.put(number, stack_.back());
  return true;
}

bool Machine::push_memo(std::uint64_t number) {
  const auto value = memo_.find(number);
  if (!value) return fail(fmt::format("memo entry {} is used before it is there", number));
  push(heap_.resolve(*value));
  return true;
}

bool Machine::step_container(unsigned char opcode) {
  std::size_t first = 0;
  switch (opcode) {
    case kEmptyList:
      push(make_object(heap_.create(ObjectKind::kList)));
      return true;
    case kEmptyDict:
      push(make_object(heap_.create(ObjectKind::kDict)));
      return true;
    case kEmptySet:
      push(make_object(heap_.create(ObjectKind::kSet)));
      return true;
    case kEmptyTuple:
      return push_tuple(stack_.size());
    case kTuple1:
    case kTuple2:
    case kTuple3: {
      const std::size_t count = opcode - kTuple1 + std::size_t{1};
      return need(count) && push_tuple(stack_.size() - count);
    }
    case kTuple:
      return pop_mark(first) && push_tuple(first);
    case kList:
      if (!pop_mark(first)) return false;
      push_container(ObjectKind::kList, first);
      return true;
    case kFrozenSet:
      if (!pop_mark(first)) return false;
      push_container(ObjectKind::kFrozenSet, first);
      return true;
    case kDict: {
      if (!pop_mark(first)) return false;
      stack_.insert(stack_.begin() + static_cast<std::ptrdiff_t>(first), make_object(heap_.create(ObjectKind::kDict)));
      return set_items(first, first + 1);
    }
    case kAppend:
      if (!need(2)) return false;
      return append_items(stack_.size() - 2, stack_.size() - 1);
    case kAppends:
      if (!pop_mark(first)) return false;
      if (first == floor()) return fail("there is no list to append to");
      return append_items(first - 1, first);
    case kSetItem:
      if (!need(3)) return false;
      // One item at a time: the dict stays on the heap until it goes somewhere.
      if (!set_one(stack_[stack_.size() - 3], stack_[stack_.size() - 2], stack_.back())) return false;
      stack_.resize(stack_.size() - 2);
      return true;
    case kSetItems:
      if (!pop_mark(first)) return false;
      if (first == floor()) return fail("there is no dict to put items into");
      return set_items(first - 1, first);
    case kAddItems:
      return pop_mark(first) && add_to_set(first);
    default:
      return step_scalar(opcode);
  }
}

bool Machine::step_scalar(unsigned char opcode) {
  std::uint64_t number = 0;
  std::string_view bytes;
  switch (opcode) {
    case kNone:
      push({});
      return true;
    case kNewTrue:
    case kNewFalse:
      push(make_bool(opcode == kNewTrue));
      return true;
    case kBinInt1:
    case kBinInt2:
      if (!read_number(opcode == kBinInt1 ? 1 : 2, number)) return false;
      push(make_int(static_cast<std::int64_t>(number)));
      return true;
    case kLong1:
    case kLong4:
      if (!read_number(opcode == kLong1 ? 1 : 4, number)) return false;
      if (number > 0x7fffffff) return fail("an integer has a negative length");
      return take(number, bytes) && push_integer(bytes);
    case kInt:
    case kLong:
      return push_line_integer(opcode == kLong);
    case kFloat: {
      if (!take_line(bytes)) return false;
      const auto value = parse_float(bytes);
      if (!value) return fail("a number can't be read");
      push(make_float(*value));
      return true;
    }
    case kBinFloat:
      if (!read_number(8, number)) return false;
      push({Kind::kFloat, false, 0, __builtin_bswap64(number)});
      return true;
    default:
      return step_text(opcode);
  }
}

bool Machine::push_integer(std::string_view bytes) {
  if (const auto value = narrow(bytes)) {
    push(make_int(*value));
    return true;
  }
  return push_pooled(Kind::kBigInt, shorten(bytes));
}

bool Machine::push_line_integer(bool is_long) {
  std::string_view line;
  if (!take_line(line)) return false;
  if (!is_long && (line == "00" || line == "01")) {
    push(make_bool(line == "01"));
    return true;
  }
  if (line.ends_with('L')) line.remove_suffix(1);
  const auto bytes = parse_decimal(line);
  return bytes ? push_integer(*bytes) : fail("an integer can't be read");
}

bool Machine::push_pooled(Kind kind, std::string_view bytes) {
  push(make_pooled(kind, strings_.intern(bytes)));
  return true;
}

// Python 2's str: text when it is ASCII, bytes otherwise.
bool Machine::push_old_string(std::string_view bytes) {
  return push_pooled(is_ascii(bytes) ? Kind::kString : Kind::kBytes, bytes);
}

bool Machine::step_text(unsigned char opcode) {
  std::uint64_t size = 0;
  std::string_view bytes;
  switch (opcode) {
    case kShortBinUnicode:
      return read_number(1, size) && take(size, bytes) && push_pooled(Kind::kString, bytes);
    case kBinUnicode:
      return read_number(4, size) && take(size, bytes) && push_pooled(Kind::kString, bytes);
    case kBinUnicode8:
      return read_number(8, size) && take(size, bytes) && push_pooled(Kind::kString, bytes);
    case kShortBinBytes:
      return read_number(1, size) && take(size, bytes) && push_pooled(Kind::kBytes, bytes);
    case kBinBytes:
      return read_number(4, size) && take(size, bytes) && push_pooled(Kind::kBytes, bytes);
    case kBinBytes8:
      return read_number(8, size) && take(size, bytes) && push_pooled(Kind::kBytes, bytes);
    case kByteArray8:
      return read_number(8, size) && take(size, bytes) && push_pooled(Kind::kByteArray, bytes);
    case kShortBinString:
      return read_number(1, size) && take(size, bytes) && push_old_string(bytes);
    case kBinString:
      if (!read_number(4, size)) return false;
      if (size > 0x7fffffff) return fail("a text has a negative length");
      return take(size, bytes) && push_old_string(bytes);
    case kString: {
      if (!take_line(bytes)) return false;
      const auto text = parse_quoted(bytes);
      return text ? push_old_string(*text) : fail("a quoted text can't be read");
    }
    case kUnicode: {
      if (!take_line(bytes)) return false;
      const auto text = parse_raw_unicode_escape(bytes);
      return text ? push_pooled(Kind::kString, *text) : fail("an escaped text can't be read");
    }
    default:
      return step_object(opcode);
  }
}

bool Machine::step_object(unsigned char opcode) {
  std::uint64_t number = 0;
  std::string_view line;
  std::size_t first = 0;
  switch (opcode) {
    case kGlobal:
    case kInst: {
      if (!take_line(line)) return false;
      const std::string module(line);
      if (!take_line(line)) return false;
      push_global(module, line);
      if (opcode == kGlobal) return true;
      const Value callable = stack_.back();
      stack_.pop_back();
      if (!pop_mark(first) || !push_tuple(first)) return false;
      const Value arguments = stack_.back();
      stack_.pop_back();
      push_call(callable, arguments, {});
      return true;
    }
    case kStackGlobal: {
      if (!need(2)) return false;
      const Value module = stack_[stack_.size() - 2];
      const Value name = stack_.back();
      if (module.kind != Kind::kString || name.kind != Kind::kString) return fail("a class has no name");
      stack_.resize(stack_.size() - 2);
      push_global(strings_.text(module.text()), strings_.text(name.text()));
      return true;
    }
    case kObj: {
      if (!pop_mark(first)) return false;
      if (stack_.size() == first) return fail("an object has no class");
      if (!push_tuple(first + 1)) return false;
      const Value arguments = stack_.back();
      const Value callable = stack_[first];
      stack_.resize(first);
      push_call(callable, arguments, {});
      return true;
    }
    case kReduce:
    case kNewObj:
    case kNewObjEx: {
      const std::size_t count = opcode == kNewObjEx ? 3 : 2;
      if (!need(count)) return false;
      const std::size_t at = stack_.size() - count;
      const Value callable = stack_[at];
      const Value arguments = stack_[at + 1];
      const Value keywords = count == 3 ? stack_[at + 2] : Value{};
      stack_.resize(at);
      push_call(callable, arguments, keywords);
      return true;
    }
    case kBuild: {
      if (!need(2)) return false;
      const Value state = settle(stack_.back());
      stack_.pop_back();
      // Attributes of plain data (an OrderedDict may have some) have no place here.
      Object* call = heap_.find(stack_.back());
      if (call != nullptr && call->kind == ObjectKind::kCall) call->items[kState] = state;
      return true;
    }
    case kPersId:
    case kBinPersId: {
      if (opcode == kBinPersId && !need(1)) return false;
      Value id;
      if (opcode == kBinPersId) {
        id = settle(stack_.back());
        stack_.pop_back();
      } else {
        if (!take_line(line)) return false;
        id = make_pooled(Kind::kString, strings_.intern(line));
      }
      push(make_object(heap_.create(ObjectKind::kPersistent)));
      heap_.append(*heap_.find(stack_.back()), id);
      return true;
    }
    case kExt1:
    case kExt2:
    case kExt4: {
      if (!read_number(opcode == kExt4 ? 4 : opcode == kExt2 ? 2 : 1, number)) return false;
      push(make_object(heap_.create(ObjectKind::kExtension)));
      heap_.append(*heap_.find(stack_.back()), make_int(static_cast<std::int64_t>(number)));
      return true;
    }
    default:
      return fail(fmt::format("byte 0x{:02x} is no pickle opcode", opcode));
  }
}

}  // namespace vramfit::ingest::pickle
