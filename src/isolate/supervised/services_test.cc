#include "isolate/supervised/services.h"

#include <gtest/gtest.h>

#include <map>

namespace vramfit::isolate {
namespace {

using Tables = std::map<std::string, std::string, std::less<>>;

Services::ReadTable reads(const Tables& tables) {
  return [&tables](std::string_view name) {
    const auto found = tables.find(name);
    return found == tables.end() ? std::string() : found->second;
  };
}

std::string row(const char* port, const char* state, int inode) {
  return "   0: 0100007F:" + std::string(port) + " 00000000:0000 " + state +
         " 00000000:00000000 00:00000000 00000000  1000        0 " + std::to_string(inode) + " 1 0 100 0 0 10 0\n";
}

const std::string kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode\n";

TEST(Services, that_listened_before_are_outside_until_they_are_gone) {
  Tables tables{{"tcp", kHead + row("1F90", "0A", 11) + row("1F91", "01", 12)}, {"udp", kHead + row("0035", "07", 13)}};
  const Services services = Services::find(reads(tables));
  EXPECT_TRUE(services.is_outside(0x1F90, reads(tables)));
  EXPECT_FALSE(services.is_outside(0x1F91, reads(tables))) << "a connection is no service";
  EXPECT_TRUE(services.is_outside(53, reads(tables)));
  EXPECT_FALSE(services.is_outside(80, reads(tables)));
  tables["tcp"] = kHead + row("1F90", "0A", 99);
  EXPECT_FALSE(services.is_outside(0x1F90, reads(tables))) << "another socket has the port now";
}

TEST(Services, with_abstract_names_are_known_by_them) {
  const Tables tables{{"unix",
                       "Num       RefCount Protocol Flags    Type St Inode Path\n"
                       "0000000000000000: 00000002 00000000 00010000 0001 01 21 @/tmp/.X11-unix/X0\n"
                       "0000000000000000: 00000003 00000000 00000000 0001 03 22\n"
                       "0000000000000000: 00000002 00000000 00010000 0001 01 23 /run/x.sock\n"}};
  const Services services = Services::find(reads(tables));
  EXPECT_TRUE(services.is_outside("/tmp/.X11-unix/X0"));
  EXPECT_FALSE(services.is_outside("/run/x.sock")) << "that is a file's name";
}

TEST(Services, of_damaged_tables_are_none) {
  const Tables tables{{"tcp", "x\n0: nothing 0 0A 0 0 0 0 0 z\n\n"}, {"unix", "@\n"}};
  EXPECT_FALSE(Services::find(reads(tables)).is_outside(0, reads(tables)));
}

}  // namespace
}  // namespace vramfit::isolate
