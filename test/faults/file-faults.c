/*
 * Stands between a program and the C library (LD_PRELOAD), for the files below $FAULTS_ROOT.
 *
 * $FAULTS_LOG: every change is appended there in its order, for the replay of crash states. A record is u8 operation,
 * u64 a, u64 b, u32 length of the first bytes, u32 length of the second bytes, and both. The numbers are those of
 * `recorded-changes.ts`.
 *
 * $FAULTS_RULES: a file of lines `call fault text`, read again at each call, so that a test changes it while the program
 * runs. `call` is read, write, sync, open or rename; `fault` is an errno, `short` (half of a write) or `slow` (300 ms);
 * `text` has to occur in the path.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, LINK, MKDIR, RMDIR };
enum { NONE = 0, SHORT = -1, SLOW = -2 };

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int out = -2;
static int rules = -1;
static const char *root;
static size_t root_length;

/* A number that the program itself never gets, so that it closes neither file. */
static int far_handle(int fd) {
  if (fd < 0) return fd;
  int far = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
  if (far < 0) return fd;
  syscall(SYS_close, fd);
  return far;
}

static void start(void) {
  if (out != -2) return;
  out = -1;
  root = getenv("FAULTS_ROOT");
  if (root == NULL) return;
  root_length = strlen(root);
  const char *log = getenv("FAULTS_LOG");
  const char *rules_path = getenv("FAULTS_RULES");
  if (log != NULL) out = far_handle(syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (rules_path != NULL) rules = far_handle(syscall(SYS_openat, AT_FDCWD, rules_path, O_RDONLY | O_CLOEXEC));
}

static int is_under(const char *path) {
  return root != NULL && strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

static int absolute(int folder, const char *path, char *into) {
  if (path[0] == '/') return snprintf(into, 4096, "%s", path) < 4096;
  char base[3000];
  if (folder == AT_FDCWD) {
    if (getcwd(base, sizeof base) == NULL) return 0;
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return 0;
    base[length] = 0;
  }
  return snprintf(into, 4096, "%s/%s", base, path) < 4096;
}

/* The path of a handle below the root, its number on the volume, and whether it is a folder. */
static int handle_under(int fd, char *path, uint64_t *inode, int *is_folder) {
  if (root == NULL) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, 4095);
  if (length < 0) return 0;
  path[length] = 0;
  if (!is_under(path)) return 0;
  struct stat now;
  if (syscall(SYS_fstat, fd, &now) != 0) return 0;
  *inode = now.st_ino;
  *is_folder = S_ISDIR(now.st_mode);
  return 1;
}

/* The fault of the first rule that fits: an errno, SHORT, SLOW or NONE. */
static int fault_of(const char *call, const char *path) {
  if (rules < 0) return NONE;
  char text[4096];
  ssize_t length = syscall(SYS_pread64, rules, text, sizeof text - 1, 0);
  if (length <= 0) return NONE;
  text[length] = 0;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    char its_call[32], fault[32], part[256];
    if (sscanf(line, "%31s %31s %255s", its_call, fault, part) != 3) continue;
    if (strcmp(its_call, call) != 0 || strstr(path, part) == NULL) continue;
    if (strcmp(fault, "short") == 0) return SHORT;
    if (strcmp(fault, "slow") == 0) return SLOW;
    return atoi(fault);
  }
  return NONE;
}

static void wait_a_moment(void) {
  struct timespec moment = {0, 300000000};
  nanosleep(&moment, NULL);
}

/* true: the call fails with errno set. A slow one has waited. */
static int fails(const char *call, const char *path) {
  int fault = fault_of(call, path);
  if (fault == SLOW) wait_a_moment();
  if (fault <= 0) return 0;
  errno = fault;
  return 1;
}

static void record(uint8_t operation, uint64_t a, uint64_t b, const void *first, uint32_t first_length,
                   const void *second, uint32_t second_length) {
  if (out < 0) return;
  int error = errno;
  size_t length = 25 + (size_t)first_length + second_length;
  char *bytes = malloc(length);
  bytes[0] = operation;
  memcpy(bytes + 1, &a, 8);
  memcpy(bytes + 9, &b, 8);
  memcpy(bytes + 17, &first_length, 4);
  memcpy(bytes + 21, &second_length, 4);
  if (first_length > 0) memcpy(bytes + 25, first, first_length);
  if (second_length > 0) memcpy(bytes + 25 + first_length, second, second_length);
  syscall(SYS_write, out, bytes, length);
  free(bytes);
  errno = error;
}

/* A call and its record are one: no other change gets between them. */
static void enter(void) {
  pthread_mutex_lock(&lock);
  start();
}

static void leave(void) {
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = dlsym(RTLD_NEXT, #name)

static int opened(int folder, const char *name, int flags, mode_t mode) {
  enter();
  char path[4096];
  int is_ours = root != NULL && absolute(folder, name, path) && is_under(path);
  struct stat before;
  int was_there = is_ours && (flags & (O_CREAT | O_TRUNC)) != 0 && stat(path, &before) == 0;
  int fd = is_ours && fails("open", path) ? -1 : (int)syscall(SYS_openat, folder, name, flags, mode);
  struct stat now;
  if (fd >= 0 && is_ours && (flags & (O_CREAT | O_TRUNC)) != 0 && syscall(SYS_fstat, fd, &now) == 0) {
    if (!was_there) record(CREATE, now.st_ino, 0, path, strlen(path), NULL, 0);
    else if ((flags & O_TRUNC) != 0) record(TRUNCATE, now.st_ino, 0, NULL, 0, NULL, 0);
  }
  leave();
  return fd;
}

#define MODE_OF(flags) \
  mode_t mode = 0; \
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) { MODE_OF(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE_OF(flags) return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(folder, path, flags | O_LARGEFILE, mode);
}
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static off_t end_or_here(int fd) {
  return lseek(fd, 0, (fcntl(fd, F_GETFL) & O_APPEND) != 0 ? SEEK_END : SEEK_CUR);
}

#define WRITES(name, arguments, whole, half, offset) \
  ssize_t name arguments { \
    REAL(name); \
    enter(); \
    char path[4096]; \
    uint64_t inode; \
    int is_folder; \
    int is_ours = handle_under(fd, path, &inode, &is_folder) && !is_folder; \
    int fault = is_ours ? fault_of("write", path) : NONE; \
    if (fault == SLOW) wait_a_moment(); \
    if (fault > 0) { \
      errno = fault; \
      leave(); \
      return -1; \
    } \
    off_t at = is_ours ? offset : 0; \
    ssize_t written = fault == SHORT && length > 1 ? real half : real whole; \
    if (is_ours && written > 0) record(WRITE, inode, at, bytes, written, NULL, 0); \
    leave(); \
    return written; \
  }

WRITES(write, (int fd, const void *bytes, size_t length), (fd, bytes, length), (fd, bytes, length / 2), end_or_here(fd))
WRITES(pwrite, (int fd, const void *bytes, size_t length, off_t from), (fd, bytes, length, from),
       (fd, bytes, length / 2, from), from)
WRITES(pwrite64, (int fd, const void *bytes, size_t length, off64_t from), (fd, bytes, length, from),
       (fd, bytes, length / 2, from), from)

/* One part at a time: a short answer is what the system may give for any of them. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  char path[4096];
  uint64_t inode;
  int is_folder;
  if (count == 0 || !handle_under(fd, path, &inode, &is_folder)) return real(fd, parts, count);
  return write(fd, parts[0].iov_base, parts[0].iov_len);
}
static ssize_t first_at(int fd, const struct iovec *parts, off64_t from) {
  return pwrite64(fd, parts[0].iov_base, parts[0].iov_len, from);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t from) {
  return count == 0 ? 0 : first_at(fd, parts, from);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t from) {
  return count == 0 ? 0 : first_at(fd, parts, from);
}

#define READS(name, arguments, call) \
  ssize_t name arguments { \
    REAL(name); \
    enter(); \
    char path[4096]; \
    uint64_t inode; \
    int is_folder; \
    int has_failed = rules >= 0 && handle_under(fd, path, &inode, &is_folder) && fails("read", path); \
    leave(); \
    return has_failed ? -1 : real call; \
  }

READS(read, (int fd, void *bytes, size_t length), (fd, bytes, length))
READS(pread, (int fd, void *bytes, size_t length, off_t from), (fd, bytes, length, from))
READS(pread64, (int fd, void *bytes, size_t length, off64_t from), (fd, bytes, length, from))
READS(readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
READS(preadv, (int fd, const struct iovec *parts, int count, off_t from), (fd, parts, count, from))
READS(preadv64, (int fd, const struct iovec *parts, int count, off64_t from), (fd, parts, count, from))

#define CHANGES(name, arguments, call, fault_name, operation, value) \
  int name arguments { \
    REAL(name); \
    enter(); \
    char path[4096]; \
    uint64_t inode; \
    int is_folder; \
    int is_ours = handle_under(fd, path, &inode, &is_folder); \
    int result = is_ours && fails(fault_name, path) ? -1 : real call; \
    if (result == 0 && is_ours) record(operation, inode, value, NULL, 0, NULL, 0); \
    leave(); \
    return result; \
  }

CHANGES(fsync, (int fd), (fd), "sync", SYNC, is_folder)
CHANGES(fdatasync, (int fd), (fd), "sync", SYNC, is_folder)
CHANGES(ftruncate, (int fd, off_t length), (fd, length), "write", TRUNCATE, length)
CHANGES(ftruncate64, (int fd, off64_t length), (fd, length), "write", TRUNCATE, length)

static int named(uint8_t operation, int result, const char *first, const char *second) {
  char one[4096], two[4096] = "";
  if (result != 0 || !absolute(AT_FDCWD, first, one)) return result;
  if (second != NULL && !absolute(AT_FDCWD, second, two)) return result;
  if (is_under(one) || is_under(two)) record(operation, 0, 0, one, strlen(one), two, strlen(two));
  return result;
}

int rename(const char *from, const char *to) {
  REAL(rename);
  enter();
  char path[4096];
  int has_failed = absolute(AT_FDCWD, to, path) && is_under(path) && fails("rename", path);
  int result = has_failed ? -1 : named(RENAME, real(from, to), from, to);
  leave();
  return result;
}

int link(const char *from, const char *to) {
  REAL(link);
  enter();
  int result = named(LINK, real(from, to), from, to);
  leave();
  return result;
}

int unlink(const char *path) {
  REAL(unlink);
  enter();
  int result = named(UNLINK, real(path), path, NULL);
  leave();
  return result;
}

int unlinkat(int folder, const char *name, int flags) {
  REAL(unlinkat);
  enter();
  char path[4096];
  int is_known = absolute(folder, name, path);
  int result = real(folder, name, flags);
  if (is_known) named((flags & AT_REMOVEDIR) != 0 ? RMDIR : UNLINK, result, path, NULL);
  leave();
  return result;
}

int rmdir(const char *path) {
  REAL(rmdir);
  enter();
  int result = named(RMDIR, real(path), path, NULL);
  leave();
  return result;
}

int mkdir(const char *name, mode_t mode) {
  REAL(mkdir);
  enter();
  int result = real(name, mode);
  char path[4096];
  struct stat now;
  if (result == 0 && absolute(AT_FDCWD, name, path) && is_under(path) && stat(path, &now) == 0) {
    record(MKDIR, now.st_ino, 0, path, strlen(path), NULL, 0);
  }
  leave();
  return result;
}
