// Calls of PyTorch's and of libc's that stand before the originals for late fills (virtual_gpu/host/late_fill.h). They
// are here because a preloaded library's own symbols come before libc's; those of its dependencies come after.
#include <dlfcn.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vramfit/c10_names.h>

#include <cerrno>
#include <cstdio>

#include "virtual_gpu/host/faults.h"
#include "virtual_gpu/host/late_fill.h"

namespace host = vramfit::host;

namespace {

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// libc10.so is loaded by a dlopen of Python's without RTLD_GLOBAL, so RTLD_NEXT doesn't see it.
void* c10_function(const char* name) {
  void* library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? dlsym(library, name) : nullptr;
}

// The kernel doesn't fault on our pages: it refuses. What the call wanted to read or write is then filled, and it is
// made again.
template <class Call>
ssize_t with_pages(const void* buffer, size_t bytes, Call call) {
  const ssize_t result = call();
  if (result >= 0 || errno != EFAULT) return result;
  return vramfit_host_fill(reinterpret_cast<uint64_t>(buffer), bytes) != 0 ? call() : result;
}

template <class Call>
ssize_t with_pages(const iovec* parts, int count, Call call) {
  const ssize_t result = call();
  if (result >= 0 || errno != EFAULT) return result;
  bool filled = false;
  for (int i = 0; i < count; ++i)
    filled = vramfit_host_fill(reinterpret_cast<uint64_t>(parts[i].iov_base), parts[i].iov_len) != 0 || filled;
  return filled ? call() : result;
}

}  // namespace

// -- PyTorch's CPU allocator: c10::alloc_cpu and c10::free_cpu (c10/core/impl/alloc_cpu.h)

namespace c10 {
VF_EXPORT void* alloc_cpu(size_t bytes);
VF_EXPORT void free_cpu(void* address);

void* alloc_cpu(size_t bytes) {
  if (void* own = host::allocate(bytes)) return own;
  static const auto kReal = reinterpret_cast<void* (*)(size_t)>(c10_function(VF_C10_ALLOC_CPU));
  return kReal(bytes);
}

void free_cpu(void* address) {
  if (address != nullptr && host::release(address)) return;
  static const auto kReal = reinterpret_cast<void (*)(void*)>(c10_function(VF_C10_FREE_CPU));
  kReal(address);
}
}  // namespace c10

extern "C" {

// -- signals: a program's own handlers (faulthandler, crash reporters) come after ours

VF_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  if (host::is_watched(signal)) return host::set_own_action(signal, action, before);
  static const auto kReal = next<decltype(&sigaction)>("sigaction");
  return kReal(signal, action, before);
}

VF_EXPORT sighandler_t signal(int signal, sighandler_t handler) noexcept {
  static const auto kReal = next<decltype(&::signal)>("signal");
  if (!host::is_watched(signal)) return kReal(signal, handler);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  host::set_own_action(signal, &action, &before);
  return before.sa_handler;
}

// -- files and sockets

VF_EXPORT ssize_t write(int file, const void* buffer, size_t bytes) {
  static const auto kReal = next<decltype(&write)>("write");
  return with_pages(buffer, bytes, [&] { return kReal(file, buffer, bytes); });
}

VF_EXPORT ssize_t pwrite(int file, const void* buffer, size_t bytes, off_t at) {
  static const auto kReal = next<decltype(&pwrite)>("pwrite");
  return with_pages(buffer, bytes, [&] { return kReal(file, buffer, bytes, at); });
}

VF_EXPORT ssize_t pwrite64(int file, const void* buffer, size_t bytes, off64_t at) {
  static const auto kReal = next<decltype(&pwrite64)>("pwrite64");
  return with_pages(buffer, bytes, [&] { return kReal(file, buffer, bytes, at); });
}

VF_EXPORT ssize_t writev(int file, const iovec* parts, int count) {
  static const auto kReal = next<decltype(&writev)>("writev");
  return with_pages(parts, count, [&] { return kReal(file, parts, count); });
}

VF_EXPORT ssize_t read(int file, void* buffer, size_t bytes) {
  static const auto kReal = next<decltype(&read)>("read");
  return with_pages(buffer, bytes, [&] { return kReal(file, buffer, bytes); });
}

VF_EXPORT ssize_t pread(int file, void* buffer, size_t bytes, off_t at) {
  static const auto kReal = next<decltype(&pread)>("pread");
  return with_pages(buffer, bytes, [&] { return kReal(file, buffer, bytes, at); });
}

VF_EXPORT ssize_t pread64(int file, void* buffer, size_t bytes, off64_t at) {
  static const auto kReal = next<decltype(&pread64)>("pread64");
  return with_pages(buffer, bytes, [&] { return kReal(file, buffer, bytes, at); });
}

VF_EXPORT ssize_t readv(int file, const iovec* parts, int count) {
  static const auto kReal = next<decltype(&readv)>("readv");
  return with_pages(parts, count, [&] { return kReal(file, parts, count); });
}

VF_EXPORT ssize_t send(int socket, const void* buffer, size_t bytes, int flags) {
  static const auto kReal = next<decltype(&send)>("send");
  return with_pages(buffer, bytes, [&] { return kReal(socket, buffer, bytes, flags); });
}

VF_EXPORT ssize_t recv(int socket, void* buffer, size_t bytes, int flags) {
  static const auto kReal = next<decltype(&recv)>("recv");
  return with_pages(buffer, bytes, [&] { return kReal(socket, buffer, bytes, flags); });
}

VF_EXPORT ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static const auto kReal = next<decltype(&sendmsg)>("sendmsg");
  return with_pages(message->msg_iov, static_cast<int>(message->msg_iovlen),
                    [&] { return kReal(socket, message, flags); });
}

VF_EXPORT ssize_t recvmsg(int socket, msghdr* message, int flags) {
  static const auto kReal = next<decltype(&recvmsg)>("recvmsg");
  return with_pages(message->msg_iov, static_cast<int>(message->msg_iovlen),
                    [&] { return kReal(socket, message, flags); });
}

// Buffered files reach the kernel from inside libc, past the calls above.
VF_EXPORT size_t fwrite(const void* buffer, size_t size, size_t count, FILE* file) {
  static const auto kReal = next<decltype(&fwrite)>("fwrite");
  vramfit_host_fill(reinterpret_cast<uint64_t>(buffer), size * count);
  return kReal(buffer, size, count, file);
}

VF_EXPORT size_t fread(void* buffer, size_t size, size_t count, FILE* file) {
  static const auto kReal = next<decltype(&fread)>("fread");
  vramfit_host_fill(reinterpret_cast<uint64_t>(buffer), size * count);
  return kReal(buffer, size, count, file);
}
}
