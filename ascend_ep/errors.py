"""The one exception family of ascend-ep and the one catalogue of its codes.

Codes E1xxxx and E2xxxx that atc has carry atc's wording (facts of the 8.1 tool); codes from E4 on are
ours. A code is defined here and nowhere else; `ascend-atc --explain CODE` prints from this table.
"""

from __future__ import annotations

import builtins
import difflib
import errno
import functools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast


@dataclass(frozen=True)
class Code:
    """One error code: `template` takes the arguments of the error in order, `%s` each."""

    template: str
    fix: str = ""


CODES: dict[str, Code] = {
    # --- atc's own -------------------------------------------------------------------------------
    "E10001": Code(
        "Value [%s] for parameter [%s] is invalid. Reason: %s", "Try again with a valid argument."
    ),
    "E10002": Code(
        "Value [%s] for parameter [--input_shape] is invalid. Reason: %s "
        "The value must be formatted as [%s].",
        'Try again with a valid argument, e.g. "input_name1:n1,c1,h1,w1;input_name2:n2,c2,h2,w2".',
    ),
    "E10003": Code(
        "Value [%s] for parameter [--%s] is invalid. Reason: %s", "Try again with a valid argument."
    ),
    "E10004": Code("Value for [--%s] is empty.", "Specify a non-empty value."),
    "E10005": Code(
        "Value [%s] for parameter [--%s] is invalid. The value must be either [true] or [false].",
        "Use true or false.",
    ),
    "E10006": Code(
        "Value [%s] for parameter [--%s] is invalid. The value must be either [1] or [0].", "Use 1 or 0."
    ),
    "E10007": Code("[--%s] is required. The value must be [%s].", "Specify the parameter."),
    "E10008": Code(
        "[--weight] must not be empty when [--framework] is set to 0 (Caffe).",
        "Give --weight, or another --framework.",
    ),
    "E10009": Code(
        "[--dynamic_batch_size], [--dynamic_image_size], [--input_shape_range], and [--dynamic_dims] "
        "are mutually exclusive.",
        "Keep one of them.",
    ),
    "E10010": Code(
        "Value [%s] for parameter [--log] is invalid.", "Use debug, info, warning, error or null."
    ),
    "E10011": Code(
        "Value [%s] for parameter [--input_shape] is invalid. Shape values must be positive integers. "
        "The error value in the shape is %s.",
        "Use positive sizes, or -1 with one of the --dynamic_... options.",
    ),
    "E10012": Code(
        "[--dynamic_batch_size] is included, but the dimension count of the "
        "dynamic-shape input configured in "
        "[--input_shape] is less than 1.",
        "Give the input a batch dimension of -1, or remove --dynamic_batch_size.",
    ),
    "E10013": Code("Value [%s] for [--%s] is out of range.", "Use a smaller number."),
    "E10014": Code("Value [%s] for parameter [--%s] is invalid.", "Use an integer."),
    "E10016": Code(
        "Opname [%s] specified in [--%s] is not found in the model, confirm whether this node name exists, "
        "or node is not split with the specified delimiter ';'",
        "Use names of the model, separated by ;",
    ),
    "E10018": Code(
        "Value [%s] for shape [%s] is invalid. When [--dynamic_batch_size] is included, "
        "only batch size N can be -1 in [--input_shape].",
        "Make every other dimension a number.",
    ),
    "E10019": Code(
        "When [--dynamic_image_size] is included, only the height and width axes "
        "can be -1 in [--input_shape].",
        "Make every other dimension a number.",
    ),
    "E10020": Code(
        "Value [%s] for parameter [--dynamic_image_size] is invalid.",
        'Write "height1,width1;height2,width2".',
    ),
    "E10021": Code(
        "Path for parameter [--%s] is too long. Keep the length within %s.", "Use a shorter path."
    ),
    "E10022": Code("Path [%s] for parameter [--%s] does not include the file name.", "Add the file name."),
    "E10023": Code("Value [%s] for parameter [--singleop] is invalid.", "Check the path."),
    "E10024": Code(
        "Failed to open file [%s] specified by [--singleop].", "Check the permissions of the file."
    ),
    "E10025": Code(
        "File [%s] specified by [--singleop] is not a valid JSON file. Reason: %s.", "Correct the file."
    ),
    "E10026": Code("The Op name is empty in the file specified by [--singleop].", "Name the operator."),
    "E10027": Code(
        "Attribute [%s] of [%s] tensor [%s] for Op [%s] is invalid when [--singleop] is specified.",
        "Give the tensor a valid type and format.",
    ),
    "E10029": Code(
        "Attribute name of Op [%s] is empty in the file specified by [--singleop].", "Name the attribute."
    ),
    "E10030": Code(
        "There is an invalid value for attribute name [%s] of Op [%s] in the file specified by [--singleop].",
        "Correct the value.",
    ),
    "E10031": Code(
        "[--dynamic_batch_size] is included, but none of the nodes specified in "
        "[--input_shape] has a batch size "
        "equaling -1.",
        "Set the batch dimension to -1, or remove --dynamic_batch_size.",
    ),
    "E10035": Code(
        "[--dynamic_batch_size], [--dynamic_image_size], or [--dynamic_dims] has %s profiles, "
        "which is less than the minimum %s.",
        "Give more profiles.",
    ),
    "E10036": Code(
        "[--dynamic_batch_size], [--dynamic_image_size], or [--dynamic_dims] has %s profiles, "
        "which is greater than the maximum %s.",
        "Give fewer profiles.",
    ),
    "E10037": Code(
        "The profiles configured in [--dynamic_batch_size], [--dynamic_image_size], or [--dynamic_dims] have "
        "inconsistent dimension counts. A profile has %s dimensions while another has %s dimensions.",
        "Give every profile as many sizes.",
    ),
    "E10038": Code(
        "Dimension size [%s] is invalid. The value must be greater than 0.",
        "Use positive sizes in every profile.",
    ),
    "E10039": Code(
        "The [--dynamic_batch_size], [--dynamic_image_size], or [--dynamic_dims] "
        "argument have duplicate profiles.",
        "Remove the repeated profile.",
    ),
    "E10040": Code(
        "As the [--dynamic_batch_size], [--dynamic_image_size], or [--dynamic_dims] argument is included, "
        "the corresponding nodes specified in [--input_shape] must have -1 axes and cannot have '~'.",
        "Set the dynamic dimensions to -1, or remove the --dynamic_... option.",
    ),
    "E10041": Code("Failed to load the model from [%s].", "Check that the file is a complete model."),
    "E10045": Code(
        "The number of -1 axes in the [--input_shape] argument exceeds the dimension count per profile in "
        "[--dynamic_dims].",
        "Give every profile one size for each -1.",
    ),
    "E10046": Code(
        "The total number of -1 axes in the [--input_shape] argument is greater than the dimension count per "
        "profile in [--dynamic_dims].",
        "Give every profile one size for each -1.",
    ),
    "E10047": Code("[--%s] and [--%s] are mutually exclusive.", "Remove one of them."),
    "E10052": Code(
        "AIPP configuration is invalid. Reason: %s", "Correct the file given with --insert_op_conf."
    ),
    "E10054": Code(
        "The requied parameter [%s] for ATC is empty. Another possible reason is "
        "that the value of some parameters "
        'is not enclosed by quotation marks ("").',
        "Give the parameter.",
    ),
    "E10055": Code("The operation is not supported. Reason: %s", "See the reason."),
    "E10056": Code("Cannot configure both parameters [%s] and [%s] simultaneously.", "Remove one of them."),
    "E10057": Code("Parameter [%s] can't be used when [--mode] is set to 6.", "Remove it."),
    "E10410": Code("File [%s] does not exist.", "Check the path."),
    "E10501": Code(
        "IR for Op [%s, optype [%s]], is not registered.",
        "Give the operator's definition with --custom_op_info.",
    ),
    "E16002": Code(
        "No ONNX parser is registered for optype [%s].",
        "Describe the operator: --custom_op_info=FILE or --custom_op=Type:LIBRARY.",
    ),
    "E19010": Code(
        "No parser is registered for Op [%s, optype [%s]].",
        "Describe the operator: --custom_op_info=FILE or --custom_op=Type:LIBRARY.",
    ),
    "E19014": Code(
        "Value [%s] for Op [%s] is invalid. Reason: %s.", "Correct the operator's attribute or input."
    ),
    "E20001": Code("Failed to compile Op [%s]. (optype: [%s])", "See the reason above."),
    "E19999": Code(
        "Unknown error occurred. Please check the log.", "Report it with the command and the model."
    ),
    "E41020": Code(
        "The converted model doesn't compute what the source model does.",
        "Report it with the model. --dump=DIR shows every step; --self_check=0 writes it all the same.",
    ),
    "E41021": Code("The float64 reference can't evaluate the model: %s", "Convert without the self-check."),
    "E41022": Code(
        "Op [%s, optype [%s]] meets a limit of %s: %s.",
        "Choose another --soc_version or precision for the device; the CPU computes it all the same.",
    ),
    "E41023": Code(
        "No --keep_dtype list restores the accuracy: not even all %s nodes kept in the model's types do.",
        "Ask for less accuracy, or give real inputs with --input.",
    ),
    "E41024": Code(
        "The quantised model doesn't reach the accuracy, even with %s of its layers in float.",
        "Ask for less, with --accuracy or in metric_eval.",
    ),
    "E41025": Code(
        "onnxruntime, which computes a part of the model, ends the process on sample inputs: %s.",
        "Describe the operators with --custom_op_info, so that they are native, or report it to onnxruntime.",
    ),
    "E41026": Code(
        "A trial run of the model ended its process: %s.",
        "Run the model's own operators under a debugger: a library that it uses may be wrong.",
    ),
    # --- ours: bundle and runtime (native status codes) ------------------------------------------
    "E40001": Code("%s", "Check the names, shapes and types of the arguments."),
    "E40002": Code("%s", "Check the path and its permissions."),
    "E40003": Code("%s", "Convert the model with ascend-atc, and give the .om that it writes."),
    "E40004": Code("%s", "Convert the model again, or copy the bundle again."),
    "E40005": Code("%s", "Convert the model again with this version of ascend-atc."),
    "E40006": Code("%s", "Run `ascend-om inspect` to see what the bundle needs."),
    "E40007": Code("%s", "Feed the shapes that get_inputs() shows, with sizes that agree with each other."),
    "E40008": Code("%s", "Use smaller shapes, or raise the limit."),
    "E40009": Code("%s", 'Trust the library with `ascend-om trust`, or pass trust="sha256:...".'),
    "E40010": Code(
        "%s", 'pip install "ascend-ep[onnxruntime]", or convert a model whose operators are all native.'
    ),
    "E40011": Code("%s", "Check the values fed to the model (indices, sizes)."),
    "E40012": Code("%s", "Report it with the bundle."),
    "E40013": Code("%s", "Feed data that make the shapes that the model declares, or remove these from it."),
    "E40014": Code(
        "%s",
        "Open the session again. Replace a file that is in use by renaming a new one over it.",
    ),
    "E40020": Code('%s needs the module [%s], which isn\'t installed: pip install "%s"'),
    "E40021": Code("The command line is wrong: %s"),
    # --- ours: operator definitions --------------------------------------------------------------
    "E41001": Code("The definition is not JSON: %s.", "Correct the text at this place."),
    "E41002": Code("%s.", "Make the definition smaller."),
    "E41003": Code("Unknown key [%s].%s", "Remove the key or correct its name."),
    "E41004": Code("The key [%s] is missing.", "Add it."),
    "E41005": Code("Value [%s] for [%s] is invalid. Reason: %s.", "Correct the value."),
    "E41006": Code("The definition of [%s] contradicts itself: %s.", "Correct the definition."),
    "E41007": Code(
        "Path [%s] is refused: %s.", "Keep the file in the definition's folder and name it relative to it."
    ),
    "E41008": Code("Operator [%s] is defined twice, differently.", "Remove one of the definitions."),
    "E41009": Code(
        "Operator [%s] is declared, but nothing gives its semantics.",
        "Add a formula, kernel, source or library to the definition, or give --custom_op=Type:LIBRARY.",
    ),
    "E41010": Code("File [%s] can't be read: %s.", "Check the path and its permissions."),
    "E41011": Code("Op [%s] doesn't fit its definition: %s.", "Correct the node, or the definition."),
    "E41012": Code(
        "The shape rule of output [%s] of Op [%s] can't be applied: %s.", "Correct the inputs, or the rule."
    ),
    "E41013": Code("File [%s] isn't used: %s.", "Remove it, or do what the reason says."),
    "E41014": Code(
        "Op [%s] computes in %s: its definition declares no other type that serves the model.",
        "Declare the model's type as well, if the kernel has it.",
    ),
    "E41015": Code("A part of the definition of [%s] has no effect: %s.", "Remove or correct it."),
    "E41016": Code(
        "The library of Op [%s] contradicts the built-in operator: %s.",
        "Correct the library, or choose the other definition.",
    ),
    "E41017": Code("The library of Op [%s] fails on samples: %s.", "Correct the library."),
    # --- ours: formulas and shape rules ----------------------------------------------------------
    "E42001": Code("The %s can't be read: %s.", "Correct the text at the caret."),
    "E42002": Code(
        "Unknown name [%s].%s", "Use the names of inputs, attributes, earlier assignments or functions."
    ),
    "E42003": Code("The formula is wrong: %s.", "Correct the text at the caret."),
    "E42004": Code("The %s is too large: %s.", "Write it shorter, or split it into named parts."),
    "E42005": Code("The formula can't be evaluated: %s.", "Check the shapes and attributes of the operator."),
    "E42006": Code("[%s] has no gradient: %s.", "Describe the gradient as an operator of its own."),
    # --- ours: descriptions of operators (frontends) ---------------------------------------------
    "E42101": Code("The description is refused: %s.", "Use what is allowed, or write the formula."),
    "E42102": Code(
        "The description has no name for the operator.", "Write Name(x) = ..., or give the operator's type."
    ),
    "E42103": Code(
        "The description is neither a formula nor pseudo-code, and no language model is configured.",
        "Write a formula such as Swish(x) = x*sigmoid(x), or give --llm-url and --llm-model.",
    ),
    "E42104": Code("The language model can't be used: %s.", "Check --llm-url, --llm-model and the server."),
    "E42105": Code(
        "The language model gave no correct operator in %s rounds: %s.",
        "Describe the operator more exactly, or write the formula.",
    ),
    "E42106": Code(
        "The description contradicts itself: %s", "Correct the formula, or the result that the text states."
    ),
    # --- ours: TBE files
    "E42111": Code("The TBE file failed: %s.", "Correct the file at this line."),
    "E42112": Code(
        "The TBE file can't become an expression: %s.",
        "Use what tbe.dsl and tvm.compute can say of elements, broadcasts and reductions.",
    ),
    "E42113": Code("The TBE file was stopped: %s.", "Let the file build one operator and end."),
    # --- compiled operators
    "E43001": Code(
        "No C compiler was found: %s.",
        "Install gcc or clang, set CC, or pip install ziglang; formulas also run interpreted.",
    ),
    "E43005": Code("$%s names the compiler [%s], which doesn't work: %s."),
    "E43002": Code(
        "The compiler [%s] failed: %s.",
        "Check the compiler with a small C file; ASCEND_EP_CODEGEN=0 does without.",
    ),
    # --- operators being built
    "E43101": Code(
        "A different definition of [%s] is already there: %s.",
        "Give --force to replace it, or another --op_type or --output_name.",
    ),
    "E43102": Code("Operator [%s] isn't proven, so nothing was installed.", "Correct the description."),
    "E43103": Code("Value [%s] for [--%s] is invalid: %s.", "Correct the value."),
    "E43104": Code("[%s] can't be written: %s.", "Choose another folder with --output, or make it writable."),
    "E43105": Code("There is no proof of [%s]: %s.", "Build the operator with `ascend-op build`."),
    "E43106": Code(
        "No code can be generated for [%s]: %s.", "Give other shapes, or write the formula another way."
    ),
    "E43107": Code("The proof of [%s] doesn't hold: %s.", "Build the operator again with `ascend-op build`."),
    "E43108": Code("Interrupted: nothing is left half-written."),
    "E43004": Code(
        "The library made for [%s] isn't loaded: %s.",
        "Check what the C compiler ($CC) adds to what it compiles; ASCEND_EP_CODEGEN=0 does without.",
    ),
    "E43003": Code(
        "The Ascend C kernel [%s] failed on the CPU: %s.", "Correct the kernel, or the shapes it is given."
    ),
    # --- Ascend C sources ---------------------------------------------------------------------------
    "E43201": Code("Kernel [%s] breaks a rule of the chip: %s.", "Correct the kernel at this place."),
    "E43202": Code("No kernel can be taken from [%s]: %s.", "Name another file or kernel."),
    "E43203": Code("Kernel [%s] can't be called: %s.", "Correct the arguments."),
    "E43204": Code(
        "Kernel [%s] computes something else than %s: %s.", "Correct the kernel, or the reference."
    ),
    "E43205": Code("The host code of [%s] fails: %s.", "Correct the host code, or the inputs it is given."),
    "E43206": Code(
        "Kernel [%s] ends its process: %s.", "Correct the kernel; run it with checks to see where."
    ),
    # --- profiles ----------------------------------------------------------------------------------
    "E44001": Code("[%s] can't be read as a trace: %s.", "Profile again with this version."),
    "E44002": Code(
        "There is no profile in [%s].", "Give a folder that `ascend-prof run` or msprof has written."
    ),
    "E44003": Code("The command can't be started: %s.", "Check its name and path."),
    "E44004": Code("[%s] recorded nothing: %s.", "See the reason."),
    "E44005": Code("There is no flag [--%s].%s", "ascend-prof msprof --help lists them."),
    "E44006": Code("The bundles can't be compared: they give %s.", "Compare bundles of the same model."),
    "E44007": Code("[%s] is no baseline.", "Write one with `ascend-prof gate --record=B.json M.om`."),
    "E44009": Code(
        "Time on [%s] can't be modelled: no public source says its clock.",
        "Name a chip whose clock is known: Ascend910A, 910B, 910B1, 910B2, 910B2C, 910B3, 910B4.",
    ),
    "E44008": Code("ascend-atc failed: %s", "Run it with the command shown."),
    "E44010": Code("[%s] can't be read as a table of msprof: %s.", "Export it again: msprof --export=on."),
    "E44011": Code(
        "[%s] holds the tables of msprof and no trace of ours to export.",
        "They are exported already; `ascend-prof analyze` and `report` read them.",
    ),
    "E44012": Code(
        "msprof %s isn't here: %s.",
        "`msprof op PROGRAM` records times, `ascend-op run K.cpp --model-time` says what a chip's cores do.",
    ),
    "E44013": Code(
        "No node of [%s] is in the profile.",
        "Give the model that ran. Nodes are found by name: name those that have none, and convert again.",
    ),
    # --- programs of ACL: aclruntime, ais_bench, msame
    "E45001": Code("The value of [--%s] is invalid: %s.", "--help has the options."),
    "E45002": Code("The options are wrong: %s.", "--help has the options."),
    "E45003": Code("[%s] is refused: %s.", "Give what the model takes; --debug 1 shows it."),
    "E45004": Code("The shapes [%s] aren't for this model: %s."),
    "E45005": Code(
        "Output [%s] has %s bytes, its buffer %s.",
        "Give room for every output with --outputSize or custom_sizes, as a device needs it.",
    ),
    "E45006": Code("There is no device [%s]: %s.", "Set ASCEND_EP_DEVICES."),
    "E45007": Code("[%s] isn't supported: %s."),
    "E45008": Code("[%s] can't be written: %s.", "Choose another folder, or make it writable."),
    # --- ascend-serve ------------------------------------------------------------------------------
    "E50001": Code("The request is malformed: %s.", "Correct the request."),
    "E50002": Code("There is no model [%s].%s", "The index of the repository names the models."),
    "E50003": Code("Model [%s] isn't ready.", "Try again when its ready endpoint says so."),
    "E50004": Code("Tensor [%s] is refused: %s.", "The model's metadata shows what it takes."),
    "E50005": Code("The body has %s bytes; %s are the most.", "Send less, or raise --http-max-input-size."),
    "E50006": Code("The server is busy: %s waiting.", "Try again later."),
    "E50007": Code("The deadline passed after %s.", "Allow more time, or send fewer requests."),
    "E50008": Code("The server is shutting down.", "Try another server."),
    "E50009": Code("There is nothing at [%s].", "The protocol's paths begin with /v2."),
    "E50010": Code("The server failed (reference %s).", "The server's log has the details."),
    "E50011": Code("The request isn't authorised.", "Send a valid bearer token."),
    "E50012": Code("The header has more than %s bytes.", "Send less."),
    "E50013": Code("This is not allowed here: %s.", "Ask the operator of the server."),
    "E50014": Code("Method [%s] is not allowed here.%s", "Use one of the methods that are."),
    "E50015": Code("Tensor [%s] has type [%s], which the protocol lacks.", "Cast it in the model."),
    "E50016": Code("The encoding [%s] isn't supported.", "Use gzip or deflate."),
    "E50017": Code("The request wasn't complete in time.", "Send it faster."),
    "E50018": Code("The request was cancelled."),
    "E50019": Code("Can't listen on [%s]: %s.", "Choose another --http-port, --grpc-port or --metrics-port."),
    "E50020": Code("Output [%s] has a value that JSON can't hold: %s.", "Ask for it in binary."),
    "E50021": Code("There is no folder [%s].", "Give the folder of models with --model-repository."),
    "E50022": Code("The server needs the module [%s].", 'pip install "ascend-ep[serve]"'),
    "E50023": Code("The expectation [%s] can't be met.", "Send the request without it."),
    "E50024": Code("This extension of the protocol isn't here: %s.", "GET /v2 names those that are."),
    "E50025": Code("Not every model is ready.", "The index of the repository has the reasons."),
    "E50030": Code("Value [%s] for [--%s] is invalid: %s.", "ascend-serve --help has the flags."),
    "E50031": Code("There is no flag [%s].%s", "ascend-serve --help has the flags."),
    "E50032": Code("The arguments are invalid: %s.", "ascend-serve --help has the flags."),
    "E50033": Code("The flag [--%s] of Triton isn't supported: %s."),
    "E50034": Code(
        "Can't use [%s] for [--%s]: %s.", "Give a file that can be read and is what it should be."
    ),
    "E50036": Code("The %s is refused: %s.", "Correct it."),
    "E50035": Code(
        "%s of the models can't be loaded.", "The log says why; --exit-on-error=false serves the rest."
    ),
    "E50040": Code("Model [%s] can't be loaded: %s.", "Mend its folder and load it again."),
    "E50041": Code("The configuration of model [%s] is refused: %s."),
    "E50042": Code("[%s] lies outside the repository.", "Copy it into the repository."),
    "E50043": Code("[%s] can't be converted: %s", "Convert it with ascend-atc and serve the bundle."),
    "E50044": Code("The self-check of [%s] failed: %s.", "Convert the model again, on this machine."),
    "E50045": Code("[%s] isn't there any more, or changes.", "Load it when it is complete."),
    "E50046": Code("A model has more than %s files."),
    "E50047": Code("Line %s of [%s] is refused: %s.", "It has a flag of ascend-atc a line: --flag=value."),
    "E50048": Code(
        "Model [%s] has no version to serve (there are %s).",
        "Its folder has <version>/model.om or <version>/model.onnx; export other formats to ONNX.",
    ),
    "E50049": Code("The bundle of [%s] can't be used (%s), and neither can model.onnx in its place (%s)."),
    "E50050": Code(
        "The native code of [%s] failed: %s.", "Mend its library, or put model.onnx beside the bundle."
    ),
    "E50051": Code("The native code of [%s] isn't running: %s.", "Try again later."),
    "E50052": Code("[%s] can't be read: %s.", "Give the server's user the right to read it."),
    "E50053": Code("There is no whole profile of the request: %s.", "The server's log has more."),
    "E50054": Code("The server can't start a thread.", "Raise its limits of processes and of memory."),
    "E50060": Code("Argument [%s] of the deployment is refused: %s.", "See ascend_ep.serving.ray.app."),
}

#: asc_status.code -> our code
NATIVE_CODES: dict[int, str] = {n: f"E400{n:02d}" for n in range(1, 15)}


MAX_ARGUMENT = 1000


#: What a terminal would obey instead of show: controls, ends of lines, and what turns the direction of text.
CONTROLS = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0x61C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
)
_BY_NUMBER = {c: f"\\x{c:02x}" if c < 0x100 else f"\\u{c:04x}" for c in CONTROLS}
_IN_A_LINE = _BY_NUMBER | {ord("\n"): "\\n", ord("\t"): "\\t"}
_IN_LINES = {c: text for c, text in _BY_NUMBER.items() if chr(c) not in "\n\t"}


def in_a_line(text: str) -> str:
    """`text` with what a terminal would obey shown by number, ends of lines included."""
    return text.translate(_IN_A_LINE)


def in_lines(text: str) -> str:
    """The same with ends of lines and tabs as they are."""
    return text.translate(_IN_LINES)


def _shown(argument: object) -> str:
    """One argument, in one line."""
    text = in_a_line(str(argument))
    return text if len(text) <= MAX_ARGUMENT else text[:MAX_ARGUMENT] + "..."


#: The built-in exceptions that codes mean as well, for programs that catch those.
_MEANT: dict[str, type[Exception]] = {
    "E10410": FileNotFoundError,
    **dict.fromkeys(("E10001", "E10002", "E10003", "E40001", "E40003", "E40007"), ValueError),
    **dict.fromkeys(("E40010", "E40020"), ModuleNotFoundError),
}


@functools.cache
def _class(name: str) -> type[AscendError]:
    meant: type[Exception] = getattr(builtins, name)
    return type("AscendError", (AscendError, meant), {"__module__": __name__, "__doc__": AscendError.__doc__})


class AscendError(Exception):
    """Every failure: `code`, the sentence, `where` (file, node, line), `fix`, `details` (more lines), `nodes`
    (name and operator of each node that it is about, where there may be several).

    Arguments beyond those of the code's template are the first details: what atc's sentence has no place for.
    Control characters and ends of lines of arguments and places are shown by number, and what exceeds
    MAX_ARGUMENT characters of an argument is cut: names in files are attackers' text. A detail may have
    lines, which are all indented.
    """

    def __new__(cls, code: str, *args: object, **named: Any) -> Self:
        """One that is the built-in exception which the code means, too."""
        meant = _MEANT.get(code)
        if code == "E40002" and args and str(args[0]).endswith(os.strerror(errno.ENOENT)):
            meant = FileNotFoundError
        if meant is None or cls is not AscendError:
            return super().__new__(cls)
        made: Any = meant.__new__(_class(meant.__name__))
        if isinstance(made, OSError):
            made.errno = errno.ENOENT
        return cast(Self, made)

    def __init__(
        self,
        code: str,
        *args: object,
        where: str = "",
        fix: str | None = None,
        details: Sequence[str] = (),
        nodes: Sequence[tuple[str, str]] = (),
    ) -> None:
        entry = CODES[code]
        self.code = code
        taken = entry.template.count("%s")
        self.text = _ended_once(entry.template % tuple(map(_shown, args[:taken])))
        self.where = in_a_line(where)
        self.fix = entry.fix if fix is None else in_a_line(fix)
        self.nodes = tuple(nodes)
        self.details = (*map(_shown, args[taken:]), *(in_lines(d) for d in details))
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [
            f"{self.code}{' ' + self.where if self.where else ''}: {self.text}",
            *("    " + line for d in self.details for line in d.split("\n")),
        ]
        if self.fix:
            lines.append(f"   fix: {self.fix}")
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        return restored, (self.code, self.__dict__.copy())

    def apart(self) -> AscendError:
        """The same without what else its code means: for callers that take these for their own."""
        return restored(self.code, self.__dict__.copy(), AscendError)

    @property
    def line(self) -> str:
        """Code, sentence and details, for a table or a log."""
        return f"{self.code}: {' '.join([self.text, *self.details])}".replace("\n", " ")


def restored(code: str, state: dict[str, Any], kind: type[AscendError] | None = None) -> AscendError:
    """An error as it was, of the class that its code means, or of `kind`."""
    error = AscendError.__new__(AscendError, code, state["text"]) if kind is None else Exception.__new__(kind)
    error.__dict__.update(state)
    error.args = (str(error),)
    return error


def is_thread_refused(failure: BaseException) -> bool:
    """Whether Python couldn't start a thread: by the limits of the system."""
    return isinstance(failure, RuntimeError) and str(failure) == "can't start new thread"


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names most like `name`, best first (the same letters swapped are closest), or none.

    A name of less than half its length, or more than twice, is never meant: three letters of MyThing
    make Min.
    """
    by_folded: dict[str, str] = {}
    wanted = name[:200].casefold()
    for candidate in known:
        if 2 * min(len(candidate), len(wanted)) >= max(len(candidate), len(wanted)):
            by_folded.setdefault(candidate.casefold(), candidate)
    close = difflib.get_close_matches(wanted, by_folded, n=max(count, 3), cutoff=0.6)
    close.sort(key=lambda match: sorted(match) != sorted(wanted))
    return [by_folded[match] for match in close[:count]]


def _ended_once(text: str) -> str:
    """A sentence whose last word brought its own full stop or question mark, without the template's."""
    return text[:-1] if text.endswith("?.") or (text.endswith("..") and not text.endswith("...")) else text


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean [x]?`, or "" when no known name is close; to be put after a sentence."""
    matches = nearest(name, known, 1)
    return f" Did you mean [{matches[0]}]?" if matches else ""
