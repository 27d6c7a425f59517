#include "cli/app.h"

int main(int argc, char** argv) {
  return memqos::cli::main(argc, argv);
}
