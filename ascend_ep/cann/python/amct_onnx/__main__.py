"""`python -m amct_onnx`: the command amct_onnx."""

from ascend_ep.cli.amct import main

raise SystemExit(main())
