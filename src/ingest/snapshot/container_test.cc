#include "ingest/snapshot/container.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace vramfit::ingest::snapshot {
namespace {

using namespace std::string_literals;

std::string compress(const std::string& plain) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

struct Unpacked {
  std::string text;
  std::string error;
};

Unpacked unpack(const std::string& bytes) {
  pickle::MemoryStorage storage(std::as_bytes(std::span(bytes)));
  auto opened = open_container(storage);
  if (!opened) return {{}, opened.error().what};
  Unpacked unpacked;
  char room[7];  // so that reads end in the middle of everything
  for (;;) {
    const auto got = opened->source->read(room);
    if (!got) return {unpacked.text, got.error().what};
    if (*got == 0) return unpacked;
    unpacked.text.append(room, *got);
  }
}

template <class Number>
std::string little(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// One stored member with a directory.
std::string make_zip(const std::string& name, const std::string& data, std::uint16_t flags = 0,
                     std::uint16_t method = 0) {
  const auto size = static_cast<std::uint32_t>(data.size());
  const auto crc = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  const std::string middle = little(flags) + little(method) + little(0u) + little(crc) + little(size) + little(size) +
                             little(static_cast<std::uint16_t>(name.size())) + little(std::uint16_t{0});
  const std::string local = "PK\x03\x04\x14\x00"s + middle + name + data;
  const std::string entry = "PK\x01\x02\x14\x00\x14\x00"s + middle + std::string(14, '\0') + name;
  return local + entry + "PK\x05\x06"s + std::string(4, '\0') + little(std::uint16_t{1}) + little(std::uint16_t{1}) +
         little(static_cast<std::uint32_t>(entry.size())) + little(static_cast<std::uint32_t>(local.size())) +
         std::string(2, '\0');
}

TEST(Container, plain_bytes_stay_as_they_are) { EXPECT_EQ(unpack("\x80\x04N.").text, "\x80\x04N."); }

TEST(Container, gzip_is_unpacked_also_in_several_members_and_with_padding) {
  EXPECT_EQ(unpack(compress("one")).text, "one");
  EXPECT_EQ(unpack(compress("one") + compress("two")).text, "onetwo");
  const Unpacked padded = unpack(compress("one") + std::string(16, '\0'));
  EXPECT_EQ(padded.text, "one");
  EXPECT_EQ(padded.error, "");
}

TEST(Container, cut_and_damaged_gzip_is_an_error_after_what_was_readable) {
  std::string noise;
  for (unsigned i = 0, state = 1; i < 5000; ++i) noise += static_cast<char>((state = state * 1103515245 + 12345) >> 16);
  const std::string packed = compress(noise);
  const Unpacked cut = unpack(packed.substr(0, packed.size() / 2));
  EXPECT_EQ(cut.error, "the compressed data end in the middle");
  EXPECT_EQ(cut.text, noise.substr(0, cut.text.size()));
  EXPECT_GT(cut.text.size(), 100u);
  std::string broken = compress(std::string(1000, 'x'));
  broken[broken.size() - 6] = static_cast<char>(~broken[broken.size() - 6]);
  EXPECT_EQ(unpack(broken).error.substr(0, 31), "the compressed data are damaged");
}

TEST(Container, the_pickle_of_an_archive_is_found_by_its_name) {
  EXPECT_EQ(unpack(make_zip("archive/data.pkl", "abc")).text, "abc");
  EXPECT_EQ(unpack(make_zip("../../etc/passwd",
                            "\x80"
                            "abc"))
                .text,
            "\x80"
            "abc")
      << "the only one; its name leads nowhere";
  EXPECT_EQ(unpack(make_zip("train.log", "abc")).text, "") << "the only one, and it does not begin like a pickle";
}

TEST(Container, an_archive_without_its_directory_gives_its_first_member) {
  const std::string whole = make_zip("snapshot.pickle", "abcdef");
  EXPECT_EQ(unpack(whole.substr(0, 30 + 15 + 4)).text, "abcd");
}

TEST(Container, a_changed_byte_in_an_archive_is_an_error_at_the_end) {
  std::string changed = make_zip("a.pkl", "abcdefghijkl");
  changed[30 + 5 + 3] = 'X';
  const Unpacked unpacked = unpack(changed);
  EXPECT_EQ(unpacked.text, "abcXefghijkl") << "what was readable";
  EXPECT_EQ(unpacked.error.substr(0, 44), "the zip archive is damaged: its checksum is ");
}

TEST(Container, archives_that_cannot_be_read_say_why) {
  EXPECT_NE(unpack(make_zip("a.pkl", "abc", 1)).error.find("encrypted"), std::string::npos);
  EXPECT_NE(unpack(make_zip("a.pkl", "abc", 0, 12)).error.find("not known"), std::string::npos);
  std::string wrong = make_zip("a.pkl", "abc");
  wrong[wrong.size() - 6] = '\x09';  // where the directory begins
  EXPECT_FALSE(unpack(wrong).error.empty());
  EXPECT_FALSE(unpack("PK\x05\x06" + std::string(18, '\0')).error.empty()) << "no members";
}

}  // namespace
}  // namespace vramfit::ingest::snapshot
