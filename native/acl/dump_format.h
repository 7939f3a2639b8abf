/* dump_format.h - numbers of the fields of toolkit.dumpdata.DumpData, the protobuf that begins a dump file. */
#ifndef ASC_ACL_DUMP_FORMAT_H
#define ASC_ACL_DUMP_FORMAT_H

enum { ASC_DATA_VERSION = 1, ASC_DATA_TIME = 2, ASC_DATA_OUTPUT = 3, ASC_DATA_INPUT = 4, ASC_DATA_OP_NAME = 6 };
/* Of inputs and outputs, which differ behind the shape. */
enum { ASC_TENSOR_TYPE = 1, ASC_TENSOR_FORMAT = 2, ASC_TENSOR_SHAPE = 3 };
enum { ASC_OUTPUT_ORIGINAL_OP = 4, ASC_OUTPUT_SIZE = 6, ASC_OUTPUT_ORIGINAL_SHAPE = 7 };
enum { ASC_INPUT_SIZE = 5, ASC_INPUT_ORIGINAL_SHAPE = 6 };
enum { ASC_ORIGINAL_NAME = 1, ASC_ORIGINAL_OUTPUT = 2, ASC_ORIGINAL_TYPE = 3, ASC_ORIGINAL_FORMAT = 4 };
enum { ASC_SHAPE_DIM = 1 };

enum { ASC_FORMAT_NCHW = 0, ASC_FORMAT_ND = 2 };

#endif
