"""ascend-atc --explain CODE: what a code means, what brings it about here, and how to mend it."""

from __future__ import annotations

import sys

from ascend_ep.errors import CODES, nearest

FAILED = 255

#: Codes of the real tool for what this one reports under another code.
ALIASES = {
    "E10014": "E10003",  # a number that cannot be read
    "E16002": "E19010",  # newer tools' code for an ONNX operator without a parser
}

#: What brings each code about in ascend-atc. Codes that aren't here say all in their sentence.
TRIGGERS: dict[str, str] = {
    "E10001": "A value that is none of a flag's values, names nothing in the model, or doesn't go with "
    "another flag's; a chip that --soc_version doesn't know.",
    "E10002": "An --input_shape that isn't name:sizes;..., has a size that is no integer, or another "
    "number of sizes than the model's input has dimensions.",
    "E10003": "A flag of a number with something else, sizes of a --dynamic_... flag that aren't "
    "digits, or --dynamic_dims with more sizes than --input_shape has -1.",
    "E10004": "Mode 1 without --om or --json, mode 6 without --om, a --dynamic_... flag without "
    "--input_shape.",
    "E10005": "A flag of true or false with another value.",
    "E10006": "A flag of 0 or 1 with another value.",
    "E10007": "No --framework beside a model.",
    "E10008": "--framework=0 without --weight. With it E10055 follows: only ONNX models are converted here.",
    "E10009": "Two of the four flags in one command line.",
    "E10010": "--log with none of debug, info, warning, error, null.",
    "E10011": "A size of 0, or a negative one other than -1, in --input_shape.",
    "E10012": "--dynamic_batch_size with an input without dimensions in --input_shape.",
    "E10013": "A number of a flag or a size that is too large to be held.",
    "E10016": "A name in --out_nodes, --output_type or --input_fp16_nodes that the model doesn't have, "
    "or names that are separated by something else than a semicolon.",
    "E10018": "--dynamic_batch_size, and a -1 in --input_shape that isn't the first size of its input.",
    "E10019": "--dynamic_image_size, and an input whose -1 are not its height and its width.",
    "E10020": "--dynamic_image_size with something else than pairs.",
    "E10021": "--output whose name has more than 200 bytes, or whose path has more than 4000.",
    "E10022": "--output that is a folder, or ends with a slash.",
    "E10023": "--singleop with a path where nothing is.",
    "E10024": "--singleop with a folder, or with a file that may not be read.",
    "E10025": "--singleop with a file that isn't JSON, or isn't a list of operators with known keys.",
    "E10026": 'An operator of --singleop without "op".',
    "E10027": "A tensor of --singleop whose type, format, shape or constant isn't one, or that the "
    "operator needs and doesn't get.",
    "E10029": "An attribute of --singleop without a name.",
    "E10030": "An attribute of --singleop whose value isn't of its type, or that the operator doesn't have.",
    "E10031": "--dynamic_batch_size, and no -1 in --input_shape.",
    "E10035": "One profile only.",
    "E10036": "More than 100 profiles.",
    "E10037": "Profiles with different numbers of sizes.",
    "E10038": "A size of 0 in a profile.",
    "E10039": "The same profile twice.",
    "E10040": "A --dynamic_... flag, and an --input_shape with ~ or, where -1 is needed, without one.",
    "E10041": "A model that isn't an ONNX file, is damaged, points outside its folder, or is larger "
    "than allowed.",
    "E10045": "--dynamic_dims with fewer sizes in a profile than one input has -1.",
    "E10046": "--dynamic_dims with fewer sizes in a profile than all inputs have -1 together.",
    "E10047": "--input_hint_shape with a --dynamic_... flag, --enable_compress_weight with "
    "--compression_optimize_conf, --singleop with a flag of models.",
    "E10052": "A file of --insert_op_conf that can't be read (its line and column are named) or doesn't "
    "fit the input that it is about.",
    "E10054": "No --model, --output or --soc_version in mode 0, no --model in mode 3.",
    "E10055": "Models of other frameworks, modes 5, 7 and 30.",
    "E10056": "--precision_mode together with --precision_mode_v2.",
    "E10057": "Any flag but --om beside --mode=6.",
    "E10410": "A file that a flag names, and that isn't there or is no file.",
    "E10501": "An operator of --singleop that neither the graph engine's table, nor ONNX, nor a "
    "definition knows.",
    "E19010": "Operators of the model that neither ONNX nor any definition knows. All of them are "
    "listed, each with what it may have been meant to be and a definition to complete.",
    "E19014": "Shapes or types in the model that contradict each other, or an attribute that its "
    "operator can't have.",
    "E20001": "An operator that is defined, but that no kernel of this build computes and onnxruntime "
    "doesn't know.",
    "E19999": "A mistake in this program, or a file system that fails in the middle.",
}


def explain(code: str) -> int:
    """Prints what the catalogue says of a code; returns the exit status."""
    code = code.upper()
    entry = CODES.get(code)
    if entry is None:
        near = nearest(code, CODES)
        hint = f" Near it: {', '.join(near)}." if near else ""
        print(f"There is no code {code}.{hint}", file=sys.stderr)
        return FAILED
    print(f"{code}: {entry.template}")
    if code in ALIASES:
        print(f"   here: reported as {ALIASES[code]}")
        code = ALIASES[code]
    if code in TRIGGERS:
        print(f"   when: {TRIGGERS[code]}")
    if CODES[code].fix:
        print(f"   fix: {CODES[code].fix}")
    return 0
