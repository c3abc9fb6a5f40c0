// Brings everything that has been written to the stores of a catalogue to stable storage, before
// the daemon ends.
#pragma once

#include <functional>

#include "target/catalogue.h"
#include "target/store/store.h"

namespace openiser::target {

// `done` is called on the engine's thread, at once or later, when every store has answered; those
// that fail are logged. `engine` stays until then.
void flush_stores(const Catalogue& catalogue, StoreEngine& engine, std::function<void()> done);

}  // namespace openiser::target
