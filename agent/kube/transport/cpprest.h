// The transport on cpprestsdk. No type of that library leaves this folder.
#pragma once

#include <memory>

#include "kube/access.h"
#include "kube/transport/transport.h"

namespace memqos::kube {

// Starts the library's pool of two threads, once per process. Before the first TLS connection of the process
// SSL_CERT_FILE and SSL_CERT_DIR must lead nowhere (distrustSystemStore()), or each connection reads the system's
// certificates, which are then thrown away. Errors: invalid (an address that the library cannot reach).
Result<std::unique_ptr<Transport>> makeTransport(Access access);

// Overwrites SSL_CERT_FILE and SSL_CERT_DIR. While single-threaded.
void distrustSystemStore();

}  // namespace memqos::kube
