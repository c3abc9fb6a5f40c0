// What one run of ping_pong does.
#pragma once

#include <cstdint>
#include <string>

namespace openiser::bench {

struct Options {
  std::uint64_t request = 48, response = 4096;  // bytes of a message, CRCs not counted
  std::uint64_t payload = 0;                    // of those, what counts; 0: the larger message
  unsigned depth = 1;                           // requests in flight on each connection
  unsigned connections = 1;
  double seconds = 1, warm_up = 0.25;
  int server_core = 0, client_core = 1;
  bool spin = false;        // poll the sockets instead of sleeping in epoll
  std::uint64_t fpdu = 0;   // bytes between CRCs; 0: no CRC
  bool place = false;       // the receiver of the larger message keeps each in a place of its own
  std::string lun;          // a file, mapped by the server: where the larger message lies there
  bool sequential = false;  // its places in order rather than at random

  std::uint64_t larger() const { return request > response ? request : response; }
};

enum class Side { client, server };

}  // namespace openiser::bench
