/*
 * A disk that fails on command, for tests: preloaded into a process (LD_PRELOAD), it replaces functions of its C library.
 *
 * FAULTY_DISK_NAME: the files concerned are those whose path contains it. FAULTY_DISK_CONTROL: a file with one word, read at each call:
 *
 *   ok          everything works; so it does if there is no such file
 *   sync-fails  fsync and fdatasync return EIO
 *   sync-loses  likewise, and what was written since the last sync that worked is replaced by zeros, as when a file system drops pages
 *               that it could not write back
 *   full        writes return ENOSPC
 *   write-fails writes return EIO
 *   hangs       fsync, fdatasync and writes wait until the word changes
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 16

/* Ranges written since the last sync that worked. */
static struct {
  ino_t inode;
  off_t from;
  off_t until;
} dirty[FILES];

static int concerned(int fd) {
  const char *name = getenv("FAULTY_DISK_NAME");
  char link[64], path[4096];
  if (name == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, name) != NULL;
}

static int commanded(const char *word) {
  const char *control = getenv("FAULTY_DISK_CONTROL");
  char text[32];
  int fd = control == NULL ? -1 : open(control, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length < 0) return 0;
  text[length] = 0;
  return strcmp(text, word) == 0;
}

static void wait_while_hanging(void) {
  while (commanded("hangs")) usleep(20000);
}

static int slot_of(int fd) {
  struct stat found;
  if (fstat(fd, &found) != 0) return -1;
  int free = -1;
  for (int at = 0; at < FILES; at++) {
    if (dirty[at].inode == found.st_ino) return at;
    if (dirty[at].inode == 0 && free < 0) free = at;
  }
  if (free >= 0) dirty[free].inode = found.st_ino, dirty[free].from = dirty[free].until = 0;
  return free;
}

static ssize_t (*real_write(void))(int, const void *, size_t, off_t) {
  static ssize_t (*next)(int, const void *, size_t, off_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite64");
  return next;
}

static ssize_t faulty_write(int fd, const void *bytes, size_t count, off_t offset) {
  if (!concerned(fd)) return real_write()(fd, bytes, count, offset);
  wait_while_hanging();
  if (commanded("full")) return errno = ENOSPC, -1;
  if (commanded("write-fails")) return errno = EIO, -1;
  ssize_t written = real_write()(fd, bytes, count, offset);
  int at = slot_of(fd);
  if (written > 0 && at >= 0) {
    int is_clean = dirty[at].from == dirty[at].until;
    if (is_clean || offset < dirty[at].from) dirty[at].from = offset;
    if (is_clean || offset + written > dirty[at].until) dirty[at].until = offset + written;
  }
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return faulty_write(fd, bytes, count, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) { return faulty_write(fd, bytes, count, offset); }

static int faulty_sync(int fd, const char *name) {
  int (*next)(int) = dlsym(RTLD_NEXT, name);
  if (!concerned(fd)) return next(fd);
  wait_while_hanging();
  int at = slot_of(fd);
  if (commanded("sync-loses") && at >= 0 && dirty[at].from < dirty[at].until) {
    char link[64], zeros[4096] = {0};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int file = open(link, O_WRONLY | O_CLOEXEC);
    for (off_t position = dirty[at].from; file >= 0 && position < dirty[at].until; position += sizeof zeros) {
      off_t rest = dirty[at].until - position;
      real_write()(file, zeros, rest < (off_t)sizeof zeros ? (size_t)rest : sizeof zeros, position);
    }
    if (file >= 0) close(file);
    dirty[at].from = dirty[at].until = 0;
    return errno = EIO, -1;
  }
  if (commanded("sync-fails") || commanded("sync-loses")) return errno = EIO, -1;
  int result = next(fd);
  if (result == 0 && at >= 0) dirty[at].from = dirty[at].until = 0;
  return result;
}

int fsync(int fd) { return faulty_sync(fd, "fsync"); }
int fdatasync(int fd) { return faulty_sync(fd, "fdatasync"); }
