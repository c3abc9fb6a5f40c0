// The side that asks and measures.
#pragma once

#include "tests/bench/load/result.h"
#include "tests/bench/ping_pong/connections.h"

namespace openiser::bench {

// Keeps options.depth requests in flight on each connection, until warm-up and measured time are
// over. `server` is the process that answers. Throws std::runtime_error if it goes away.
Result measure(const Options& options, Connections& connections, int server);

}  // namespace openiser::bench
