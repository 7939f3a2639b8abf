import sys

from ascend_ep.cann.ais_bench.command_line import main

if __name__ == "__main__":
    sys.exit(main())
