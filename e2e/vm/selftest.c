// Mimics a gtest binary for selftest: --gtest_filter says how it ends.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const char *how = strrchr(argv[0], '-') ? strrchr(argv[0], '-') + 1 : "pass";
  const char *xml = NULL;
  for (int i = 1; i < argc; i++) {
    if (strncmp(argv[i], "--gtest_output=xml:", 19) == 0) xml = argv[i] + 19;
    if (strncmp(argv[i], "--gtest_filter=", 15) == 0) how = argv[i] + 15;
  }
  char cwd[256];
  printf("how=%s cwd=%s kernel=%s bin=%s extra=%s\n", how, getcwd(cwd, sizeof cwd), getenv("MEMQOS_KERNEL"),
         getenv("MEMQOS_BIN_DIR"), getenv("EXTRA") ? getenv("EXTRA") : "");
  if (strcmp(how, "crash") == 0) abort();
  if (strcmp(how, "hang") == 0) pause();
  if (strcmp(how, "panic") == 0) {
    int fd = open("/proc/sysrq-trigger", O_WRONLY);
    if (fd < 0 || write(fd, "c", 1) != 1) return 3;
    sleep(60);
  }
  int failed = strcmp(how, "fail") == 0;
  if (failed) printf("this expectation failed\n");
  FILE *report = xml ? fopen(xml, "w") : NULL;
  if (report == NULL) return 4;
  fprintf(report, "<testsuites tests=\"1\" failures=\"%d\"></testsuites>\n", failed);
  fclose(report);
  return failed;
}
