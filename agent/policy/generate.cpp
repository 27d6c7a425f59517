// memqos-generate [--check] FILE...: brings the documents of docs/reference about annotations up to date.
#include "policy/reference.h"

int main(int argc, char** argv) {
  return memqos::generateMain(argc, argv, memqos::policy::generatedParts());
}
