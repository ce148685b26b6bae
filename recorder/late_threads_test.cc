#include "late_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <ctime>

namespace {

std::atomic<int> is_finalizing{0};

// What a Python exports, for the library to find.
extern "C" [[gnu::visibility("default")]] int Py_IsFinalizing() { return is_finalizing; }

// Whether a thread that asks to end has ended soon after.
bool ends() {
  pthread_t thread;
  pthread_create(
      &thread, nullptr, [](void*) -> void* { pthread_exit(nullptr); }, nullptr);
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += is_finalizing != 0 ? 1 : 60;
  if (pthread_timedjoin_np(thread, nullptr, &until) == 0) return true;
  pthread_detach(thread);
  return false;
}

TEST(LateThreads, end_as_ever_while_there_is_a_python) {
  is_finalizing = 0;
  EXPECT_FALSE(vramfit::recorder::is_python_ending());
  EXPECT_TRUE(ends());
}

TEST(LateThreads, wait_for_the_end_of_the_process_once_python_ends) {
  is_finalizing = 1;
  EXPECT_TRUE(vramfit::recorder::is_python_ending());
  EXPECT_FALSE(ends());
}

}  // namespace
