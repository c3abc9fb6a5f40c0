#include "tests/bench/copies/tally.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/bench/copies/outer_frame.h"

namespace openiser::bench {
namespace {

Tally* tally = nullptr;

// The first of the loaded objects is the program.
int note_load_address(dl_phdr_info* object, std::size_t, void* address) {
  *static_cast<std::uint64_t*>(address) = object->dlpi_addr;
  return 1;
}

std::uint64_t key_of(const char* what, std::uint64_t caller, std::uint64_t outer) {
  std::uint64_t key = reinterpret_cast<std::uintptr_t>(what);
  for (const std::uint64_t part : {caller, outer}) {
    key = (key ^ part) * 0x9e3779b97f4a7c15u;
    key ^= key >> 32;
  }
  return key | 1;
}

void name(Site& site, const char* what, std::uint64_t caller, std::uint64_t outer) {
  for (std::size_t i = 0; i + 1 < sizeof site.what && what[i] != 0; ++i) site.what[i] = what[i];
  site.caller = caller;
  site.outer = outer;
}

Site* find(const char* what, std::uint64_t caller, std::uint64_t outer) {
  const std::uint64_t key = key_of(what, caller, outer);
  for (std::size_t probe = 0; probe != Tally::kSites; ++probe) {
    Site& site = tally->sites[(key / 2 + probe) % Tally::kSites];
    std::uint64_t found = site.key.load(std::memory_order_relaxed);
    if (found == 0 && site.key.compare_exchange_strong(found, key)) {
      name(site, what, caller, outer);
      return &site;
    }
    if (found == key) return &site;
  }
  return nullptr;
}

void add(const char* what, std::uint64_t bytes, std::uint64_t caller, std::uint64_t outer) {
  Site* site = find(what, caller, outer);
  if (!site) {
    tally->spilt.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  site->calls.fetch_add(1, std::memory_order_relaxed);
  site->bytes.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace

void open_tally() {
  const char* path = std::getenv("COPIES_FILE");
  if (!path) return;
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Tally)) != 0) _exit(111);
  void* memory = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) _exit(111);
  close(fd);
  dl_iterate_phdr(note_load_address, &static_cast<Tally*>(memory)->load_address);
  tally = static_cast<Tally*>(memory);
}

void count(const char* what, std::uint64_t bytes, const Caller& caller) {
  if (tally) add(what, bytes, caller.address, 0);
}

void count_with_outer(const char* what, std::uint64_t bytes, const Caller& caller) {
  if (tally) add(what, bytes, caller.address, outer_return_address(caller));
}

}  // namespace openiser::bench
