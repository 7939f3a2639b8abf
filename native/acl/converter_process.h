/* converter_process.h - `ascend-ep converter`: it stays, since its start takes a hundred times as long as a conversion.
 */
#ifndef ASC_ACL_CONVERTER_PROCESS_H
#define ASC_ACL_CONVERTER_PROCESS_H

#define ASC_NO_CONVERTER (-1)    /* there is no such program */
#define ASC_CONVERTER_ENDED (-2) /* it ended instead of answering */

/* The exit status of a command line of ascend-atc, in this process's folder and environment; or one of the above. What
 * it prints goes to the file `log`. */
int asc_converter_run(const char *const flags[], const char *log);

#endif
