// The opcodes of pickle, as Python's pickletools documents them; the protocol that brought each is named.
#ifndef VRAMFIT_INGEST_PICKLE_OPCODES_H
#define VRAMFIT_INGEST_PICKLE_OPCODES_H

namespace vramfit::ingest::pickle {

enum Opcode : unsigned char {
  // 0
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kDup = '2',
  kFloat = 'F',
  kInt = 'I',
  kLong = 'L',
  kNone = 'N',
  kPersId = 'P',
  kReduce = 'R',
  kString = 'S',
  kUnicode = 'V',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kGet = 'g',
  kInst = 'i',
  kList = 'l',
  kPut = 'p',
  kSetItem = 's',
  kTuple = 't',
  // 1
  kPopMark = '1',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kBinPersId = 'Q',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyDict = '}',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kEmptyList = ']',
  kObj = 'o',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinFloat = 'G',
  // 2
  kProto = 0x80,
  kNewObj = 0x81,
  kExt1 = 0x82,
  kExt2 = 0x83,
  kExt4 = 0x84,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  // 3
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  // 4
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  // 5
  kByteArray8 = 0x96,
  kNextBuffer = 0x97,
  kReadonlyBuffer = 0x98,
};

}  // namespace vramfit::ingest::pickle

#endif
