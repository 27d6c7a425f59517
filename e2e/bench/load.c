// Loads and looks for the benchmarks in the guest: small, static, nothing of memqos in it.
//   load map FILE                 maps the file and touches each of its pages ten times a second, for ever: a program's text
//   load hot FILE SECONDS HOW     looks at pages of the file at random, at most 20,000 a second: a database; HOW: mapped or read
//   load hotcold HOT COLD FILE N  COLD MiB of heap touched once, HOT MiB touched all the time while the file is read N times
//   load anon MIB                 heap, touched once, then sleeps
//   load spin                     uses a CPU
//   load cache CGROUP MIB SECONDS page cache that is neither shared memory nor mapped, every 10 ms: prints how many looks,
//                                 how many of them above MIB, and the largest in MiB
//   load rmdir DIRECTORY          removes it, and prints how many microseconds that took
//   load reclaim CGROUP FILE N    while a process in CGROUP reads FILE (256 MiB, made there) again and again, N times 4 MiB of its 64 MiB
//                                 are reclaimed: prints the median, the 99th percentile and the most microseconds of CPU time, and of
//                                 time. By memory.reclaim, or on cgroup v1 by lowering the limit, which is the same in the kernel, 32
//                                 pages at a time.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 1 << 20 };

static void die(const char *what) {
  perror(what);
  exit(1);
}

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static double now(void) { return seconds_of(CLOCK_MONOTONIC); }

static void rest(double seconds) {
  struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&t, NULL);
}

static int open_file(const char *path, size_t *size) {
  struct stat st;
  int fd = open(path, O_RDONLY);
  if (fd < 0 || fstat(fd, &st) < 0) die(path);
  *size = (size_t)st.st_size;
  return fd;
}

static void map(const char *path) {
  size_t size;
  int fd = open_file(path, &size);
  volatile const char *text = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  if (text == MAP_FAILED) die("mmap");
  for (;; rest(0.1))
    for (size_t at = 0; at < size; at += PAGE) (void)text[at];
}

static void hot(const char *path, double seconds, int mapped) {
  size_t size;
  int fd = open_file(path, &size);
  volatile const char *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) die("mmap");
  // Readahead would make neighbours hot.
  madvise((void *)data, size, MADV_RANDOM);
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  static char page[PAGE];
  double end = now() + seconds;
  while (now() < end) {
    for (int i = 0; i < 200; i++) {
      size_t at = (size_t)random() % size;
      if (mapped) (void)data[at];
      else if (pread(fd, page, PAGE, (off_t)(at / PAGE * PAGE)) < 0) die("pread");
    }
    rest(0.01);
  }
}

static char *heap(size_t mib) {
  char *memory = mmap(NULL, mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  // What cannot be compressed to nothing, as a real heap.
  for (size_t at = 0; at < mib * MIB; at += PAGE)
    for (size_t i = 0; i < PAGE / 4; i += sizeof(long)) *(long *)(memory + at + i) = random();
  return memory;
}

static void hotcold(size_t hot_mib, size_t cold_mib, const char *path, int times) {
  heap(cold_mib);
  char *memory = heap(hot_mib);
  size_t size, next = 0;
  int fd = open_file(path, &size);
  static char buffer[MIB];
  for (int i = 0; i < times; i++) {
    for (size_t at = 0; at < size; at += MIB) {
      if (pread(fd, buffer, MIB, (off_t)at) < 0) die("pread");
      for (int k = 0; k < 1024; k++, next = (next + PAGE) % (hot_mib * MIB)) memory[next]++;
    }
  }
}

static long value_of(const char *text, const char *key) {
  char line[64];
  snprintf(line, sizeof line, "\n%s ", key);
  const char *found = strstr(text, line);
  return found ? strtol(found + strlen(line), NULL, 10) : 0;
}

static void cache(const char *cgroup, long mib, double seconds) {
  char path[512], text[16384];
  snprintf(path, sizeof path, "/sys/fs/cgroup/%s/memory.stat", cgroup);
  int fd = open(path, O_RDONLY);
  if (fd < 0) die(path);
  long looks = 0, over = 0, most = 0;
  for (double end = now() + seconds; now() < end; rest(0.01)) {
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    if (length < 0) die("read");
    text[length] = 0;
    long unmapped = value_of(text, "file") - value_of(text, "shmem") - value_of(text, "file_mapped");
    looks++;
    over += unmapped > mib * MIB;
    if (unmapped > most) most = unmapped;
  }
  printf("%ld %ld %ld\n", looks, over, most / MIB);
}

static void remove_directory(const char *path) {
  double begin = now();
  // Its last process may not be gone yet.
  while (rmdir(path) < 0)
    if (errno != EBUSY) die(path);
  printf("%.0f\n", (now() - begin) * 1e6);
}

// -1: there is no such file.
static long long put(const char *cgroup, const char *file, long long value) {
  char path[512], text[32];
  snprintf(path, sizeof path, "%s/%s", cgroup, file);
  int fd = open(path, O_WRONLY);
  if (fd < 0) return -1;
  int length = snprintf(text, sizeof text, "%lld", value);
  long long result = write(fd, text, (size_t)length) < 0 ? errno : 0;
  close(fd);
  return result;
}

static long long get(const char *cgroup, const char *file) {
  char path[512], text[32] = "";
  snprintf(path, sizeof path, "%s/%s", cgroup, file);
  int fd = open(path, O_RDONLY);
  if (fd < 0) return -1;
  if (read(fd, text, sizeof text - 1) < 0) die(path);
  close(fd);
  return atoll(text);
}

static void read_for_ever(const char *cgroup, const char *path) {
  static char buffer[MIB];
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (put(cgroup, "cgroup.procs", 0) != 0) die(cgroup);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) die(path);
  for (int i = 0; i < 256; i++)
    if (pwrite(fd, buffer, MIB, (off_t)i * MIB) < 0) die(path);
  fsync(fd);
  for (int i = 0;; i = (i + 1) % 256)
    if (pread(fd, buffer, MIB, (off_t)i * MIB) < 0) die(path);
}

static int compare(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static void reclaim(const char *cgroup, const char *path, int times) {
  const long long limit = 64LL * MIB, chunk = 4LL * MIB;
  const char *reclaims = get(cgroup, "memory.usage_in_bytes") < 0 ? "memory.reclaim" : NULL;
  const char *usage = reclaims ? "memory.current" : "memory.usage_in_bytes", *most = reclaims ? "memory.max" : "memory.limit_in_bytes";
  if (put(cgroup, most, limit) != 0) die(most);
  double *wall = calloc((size_t)times, sizeof *wall), *cpu = calloc((size_t)times, sizeof *cpu);
  pid_t reader = fork();
  if (reader == 0) read_for_ever(cgroup, path);
  for (int i = 0; i < times; i++) {
    while (get(cgroup, usage) < limit - chunk) rest(0.001);
    if (!reclaims) kill(reader, SIGSTOP); // it would keep the limit from being reached
    double begin = now(), cpu_begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    if (reclaims) put(cgroup, reclaims, chunk);
    else put(cgroup, most, get(cgroup, usage) - chunk);
    cpu[i] = (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) * 1e6;
    wall[i] = (now() - begin) * 1e6;
    if (reclaims) continue;
    put(cgroup, most, limit);
    kill(reader, SIGCONT);
  }
  kill(reader, SIGKILL);
  waitpid(reader, NULL, 0);
  double *both[] = {cpu, wall};
  for (int i = 0; i < 2; i++) {
    qsort(both[i], (size_t)times, sizeof *cpu, compare);
    printf("%.0f %.0f %.0f ", both[i][times / 2], both[i][times * 99 / 100], both[i][times - 1]);
  }
  puts("");
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "map") == 0 && argc == 3) map(argv[2]);
  else if (strcmp(what, "hot") == 0 && argc == 5) hot(argv[2], atof(argv[3]), strcmp(argv[4], "mapped") == 0);
  else if (strcmp(what, "hotcold") == 0 && argc == 6) hotcold((size_t)atoi(argv[2]), (size_t)atoi(argv[3]), argv[4], atoi(argv[5]));
  else if (strcmp(what, "anon") == 0 && argc == 3) { heap((size_t)atoi(argv[2])); for (;;) pause(); }
  else if (strcmp(what, "spin") == 0) for (volatile unsigned n = 0;; n++) {}
  else if (strcmp(what, "cache") == 0 && argc == 5) cache(argv[2], atol(argv[3]), atof(argv[4]));
  else if (strcmp(what, "rmdir") == 0 && argc == 3) remove_directory(argv[2]);
  else if (strcmp(what, "reclaim") == 0 && argc == 5) reclaim(argv[2], argv[3], atoi(argv[4]));
  else { fprintf(stderr, "load: see its source for how it is called\n"); return 2; }
  return 0;
}
