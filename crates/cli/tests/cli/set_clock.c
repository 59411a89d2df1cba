/* A wall clock that somebody sets: seconds in the file of CLOCK_OFFSET are added to it. The other clocks run on. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset_s(void) {
    const char *path = getenv("CLOCK_OFFSET");
    FILE *file = path ? fopen(path, "r") : NULL;
    long seconds = 0;
    if (file) {
        if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
        fclose(file);
    }
    return seconds;
}

int clock_gettime(clockid_t id, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, id, time);
    if (result == 0 && id == CLOCK_REALTIME) time->tv_sec += offset_s();
    return result;
}
