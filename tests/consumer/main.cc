// A program of somebody else's, built against the installed package.
#include <cstdio>

#include "initiator/url.h"
#include "target/store/store.h"

int main() {
  const auto url = openiser::initiator::parse_url("iser://h/iqn.2026-11.org.example:x/1");
  const auto store = openiser::target::make_memory_store(1 << 20);
  std::puts(url.text().c_str());
  return store->properties().size == 1 << 20 ? 0 : 1;
}
