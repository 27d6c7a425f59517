// memqos-generate-metrics [--check] FILE...: brings docs/reference/metrics.md up to date.
#include "metrics/reference.h"

int main(int argc, char** argv) {
  return memqos::generateMain(argc, argv, memqos::metrics::generatedParts());
}
