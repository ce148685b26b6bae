#include "isolate/counters.h"

#include <gtest/gtest.h>

namespace vramfit::isolate {
namespace {

TEST(Counters, PacketsWithoutARouteAndQuestionsToNobodyAreAdded) {
  const std::string text =
      "Ip: Forwarding InReceives OutNoRoutes\nIp: 1 7 3\n"
      "Udp: InDatagrams NoPorts\nUdp: 5 2\nUdpLite: InDatagrams NoPorts\nUdpLite: 0 9\n";
  EXPECT_EQ(refused_packets(text), 5);
  EXPECT_EQ(refused_packets6("Ip6InReceives 1\nIp6OutNoRoutes 4\nUdp6NoPorts 1\n"), 5);
}

TEST(Counters, TextThatSaysNothingIsZero) {
  for (const char* text : {"", "Ip:\n", "Ip: OutNoRoutes\n", "x y z\n1 2 3\n"}) {
    EXPECT_EQ(refused_packets(text), 0) << text;
    EXPECT_EQ(refused_packets6(text), 0) << text;
  }
}

}  // namespace
}  // namespace vramfit::isolate
