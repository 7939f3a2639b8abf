/* power.h - what the preloaded library notes of files and names, to lose it when the power fails (power.c). */
#ifndef ASC_TEST_POWER_H
#define ASC_TEST_POWER_H

/* From now on notes are taken; `at` is the call before which the power fails. */
void power_begin(long at);
void power_end(void);

/* What isn't on the disk is lost, and this process ends by SIGKILL. */
void power_off(void);

/* A file was opened, is being written to, or synced. A folder that is synced has its names on the disk. */
int power_opened(int fd, int flags);
void power_written(int fd);
void power_synced(int fd);

/* A call that may change names comes; then each of its names, before it and after it. Those of one call are lost
 * together. `noted` is -1 where nothing is noted; `done` is negative where the call failed. */
void power_next_call(void);
int power_name_before(int folder, const char *path);
void power_name_after(int noted, int done);
void power_name_moved(int from, int to);

#endif
