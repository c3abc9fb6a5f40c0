// What every TCP socket of ours is set to.
#pragma once

namespace openiser::rdmap {

// For a connected socket, or one about to connect.
void tune_connection(int fd);

}  // namespace openiser::rdmap
