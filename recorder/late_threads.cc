// Threads that outlive Python's end.
//
// A thread that waits for the GIL while the interpreter is taken apart is ended by pthread_exit (CPython up to 3.13,
// PyThread_exit_thread), which unwinds its stack. Through C++ that promises not to throw, as autograd's device threads
// do when they drop a Python object, that is "terminate called without an active exception": the script ended well, and
// its process dies of SIGABRT. A virtual card is fast enough to show it. Such a thread waits for the process's end
// instead, as CPython itself has it from 3.14 on.
#include "late_threads.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

namespace vramfit::recorder {

bool is_python_ending() {
  for (const char* name : {"Py_IsFinalizing", "_Py_IsFinalizing"}) {  // from 3.13 on; before
    if (void* found = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<int (*)()>(found)() != 0;
  }
  return false;
}

}  // namespace vramfit::recorder

extern "C" [[gnu::visibility("default")]] void pthread_exit(void* value) {
  const bool is_main = getpid() == syscall(SYS_gettid);
  while (!is_main && vramfit::recorder::is_python_ending()) pause();
  using Exit = void (*)(void*);
  reinterpret_cast<Exit>(dlsym(RTLD_NEXT, "pthread_exit"))(value);
  __builtin_unreachable();
}
