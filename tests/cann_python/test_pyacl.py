"""pyACL: its conventions, as CANN's documents give them, and programs as its samples are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import acl_bundles
import numpy as np
import pytest

from ascend_ep.cann.pyacl.library import declarations
from ascend_ep.cann.pyacl.names import python_name, snake_case
from ascend_ep.cann.pyacl.signatures import Role, parameters_of

H2D, D2H = 1, 2

#: Prototypes of the documents: what is returned, beside the code, and what is given.
DOCUMENTED = """
    = acl.init(config_path)
    dev_ptr = acl.rt.malloc(size, policy)
    = acl.rt.memcpy(dst, dest_max, src, count, kind)
    context = acl.rt.get_context()
    = acl.rt.set_context(context)
    run_mode = acl.rt.get_run_mode()
    free, total = acl.rt.get_mem_info(attr)
    ms = acl.rt.event_elapsed_time(start_event, end_event)
    = acl.rt.launch_callback(fn, user_data, block_type, stream)
    = acl.rt.unsubscribe_report(thread_id, stream)
    model_id = acl.mdl.load_from_file(model_path)
    model_id = acl.mdl.load_from_mem_with_mem(model, model_size, work_ptr, work_size, weight_ptr, weight_size)
    work_size, weight_size = acl.mdl.query_size(file_name)
    dims = acl.mdl.get_cur_output_dims(model_desc, index)
    hw = acl.mdl.get_dynamic_hw(model_desc, index)
    dims = acl.mdl.get_input_dynamic_dims(model_desc, index, gear_count)
    = acl.mdl.set_input_dynamic_dims(model_id, dataset, index, dims)
    = acl.set_tensor_shape_range(desc, dims_range)
    = acl.op.execute_v2(op_type, input_desc, inputs, output_desc, outputs, attr, stream)
    = acl.op.set_attr_list_int(attr, attr_name, values)
    = acl.op.set_attr_list_list_int(attr, attr_name, values)
    handle = acl.op.create_handle(op_type, input_desc, output_desc, op_attr)
    = acl.op.execute_with_handle(handle, inputs, outputs, stream)
"""


@pytest.mark.parametrize("prototype", [line.strip() for line in DOCUMENTED.strip().splitlines()])
def test_functions_are_those_of_the_documents(prototype: str) -> None:
    outs, _, call = prototype.partition("= ")
    path, _, given = call.rstrip(")").partition("(")
    found = {".".join(filter(None, ("acl", *python_name(n)))): n for n in declarations()}
    parameters = parameters_of(found[path], declarations()[found[path]])
    returned = [snake_case(p.name) for p in parameters if p.role.name.startswith("OUT")]
    taken = [p for p in parameters if not p.role.name.startswith("OUT")]
    names = [snake_case(p.name) for p in taken if p.role not in (Role.COUNT, Role.LENGTHS)]
    assert (returned, names) == (
        [o.strip() for o in outs.split(",") if o.strip()],
        given.split(", ") if given else [],
    )


def test_every_function_can_be_made(acl: Any) -> None:
    """Of each that the headers declare the parameters all have a role."""
    for name in declarations():
        module, called = python_name(name)
        assert callable(getattr(getattr(acl, module) if module else acl, called))


class Model:
    """A loaded model with its buffers, as every sample has one."""

    def __init__(self, acl: Any, path: str) -> None:
        self.acl = acl
        self.id, code = acl.mdl.load_from_file(path)
        assert code == 0, acl.get_recent_err_msg()
        self.desc = acl.mdl.create_desc()
        assert acl.mdl.get_desc(self.desc, self.id) == 0
        self.input, self.output = acl.mdl.create_dataset(), acl.mdl.create_dataset()
        self.inputs = [self._add(self.input, s) for s in self._sizes("input")]
        self.outputs = [self._add(self.output, s) for s in self._sizes("output")]

    def _sizes(self, which: str) -> list[int]:
        count = getattr(self.acl.mdl, f"get_num_{which}s")(self.desc)
        return [getattr(self.acl.mdl, f"get_{which}_size_by_index")(self.desc, i) for i in range(count)]

    def _add(self, dataset: int, size: int) -> tuple[int, int]:
        address, code = self.acl.rt.malloc(size, 0)
        assert code == 0
        found = self.acl.mdl.add_dataset_buffer(dataset, self.acl.create_data_buffer(address, size))
        assert found == (dataset, 0)
        return address, size

    def feed(self, i: int, array: np.ndarray) -> None:
        data = array.tobytes()
        address, size = self.inputs[i]
        assert self.acl.rt.memcpy(address, size, self.acl.util.bytes_to_ptr(data), len(data), H2D) == 0

    def result(self, i: int) -> np.ndarray:
        dims, code = self.acl.mdl.get_cur_output_dims(self.desc, i)
        assert (code, dims["dimCount"]) == (0, len(dims["dims"]))
        size = int(np.prod(dims["dims"])) * 4
        host, code = self.acl.rt.malloc_host(size)
        assert self.acl.rt.memcpy(host, size, self.outputs[i][0], size, D2H) == 0
        found = np.frombuffer(self.acl.util.ptr_to_bytes(host, size), np.float32).reshape(dims["dims"])
        shared = self.acl.util.ptr_to_numpy(host, tuple(dims["dims"]), 11)
        np.testing.assert_array_equal(shared, found)
        assert self.acl.rt.free_host(host) == 0
        return found

    def close(self) -> None:
        acl = self.acl
        for dataset in (self.input, self.output):
            for i in range(acl.mdl.get_dataset_num_buffers(dataset)):
                buffer = acl.mdl.get_dataset_buffer(dataset, i)
                assert acl.rt.free(acl.get_data_buffer_addr(buffer)) == 0
                assert acl.destroy_data_buffer(buffer) == 0
            assert acl.mdl.destroy_dataset(dataset) == 0
        assert (acl.mdl.destroy_desc(self.desc), acl.mdl.unload(self.id)) == (0, 0)


def test_a_model_runs(acl: Any, bundles: dict[str, str]) -> None:
    model, x = Model(acl, bundles["static"]), np.random.default_rng(1).random((2, 3, 8, 8), np.float32)
    model.feed(0, x)
    assert acl.mdl.execute(model.id, model.input, model.output) == 0
    np.testing.assert_array_equal(model.result(1), -x)
    assert acl.mdl.get_input_dims(model.desc, 0) == ({"name": "x", "dimCount": 4, "dims": [2, 3, 8, 8]}, 0)
    assert acl.mdl.get_output_name_by_index(model.desc, 1) == "z"
    assert acl.mdl.get_output_data_type(model.desc, 1) == acl.ACL_FLOAT == 0
    _, code = acl.mdl.get_input_index_by_name(model.desc, "none")
    assert code != 0
    assert "none" in acl.get_recent_err_msg()
    model.close()


def test_profiles_are_chosen(acl: Any, bundles: dict[str, str]) -> None:
    x = np.random.default_rng(1).random((2, 3, 8, 8), np.float32)
    model = Model(acl, bundles["batch"])
    index, code = acl.mdl.get_input_index_by_name(model.desc, acl.ACL_DYNAMIC_TENSOR_NAME)
    assert code == 0
    assert acl.mdl.get_dynamic_batch(model.desc) == ({"batchCount": 3, "batch": [1, 2, 4]}, 0)
    assert acl.mdl.set_dynamic_batch_size(model.id, model.input, index, 2) == 0
    model.feed(0, x)
    assert acl.mdl.execute(model.id, model.input, model.output) == 0
    np.testing.assert_array_equal(model.result(1), -x)
    model.close()
    model = Model(acl, bundles["image"])
    hw, code = acl.mdl.get_dynamic_hw(model.desc, 0)
    assert (code, [16, 4] in hw["hw"], hw["hwCount"]) == (0, True, 2)
    model.close()


def test_dims_are_dictionaries(acl: Any, bundles: dict[str, str]) -> None:
    model = Model(acl, bundles["dims"])
    count, code = acl.mdl.get_input_dynamic_gear_count(model.desc, -1)
    assert (count, code) == (3, 0)
    gears, code = acl.mdl.get_input_dynamic_dims(model.desc, -1, count)
    assert [g["dims"] for g in gears] == [[1, 1, 1, 1], [4, 4, 4, 4], [2, 8, 2, 8]]
    index, _ = acl.mdl.get_input_index_by_name(model.desc, acl.ACL_DYNAMIC_TENSOR_NAME)
    given = {"name": "", "dimCount": 4, "dims": [2, 8, 2, 8]}
    assert acl.mdl.set_input_dynamic_dims(model.id, model.input, index, given) == 0
    a, b = np.ones((2, 8), np.float32), np.full((2, 8), 3, np.float32)
    model.feed(0, a)
    model.feed(1, b)
    assert acl.mdl.execute(model.id, model.input, model.output) == 0
    np.testing.assert_array_equal(model.result(0), a + b)
    model.close()


def test_callbacks_come_in_the_thread_that_subscribed(acl: Any, bundles: dict[str, str]) -> None:
    context, _ = acl.rt.create_context(0)
    stream, _ = acl.rt.create_stream()
    model, came, going = Model(acl, bundles["static"]), [], [True]

    def process(arguments: list[int]) -> None:
        assert acl.rt.set_context(arguments[0]) == 0
        while going[0]:
            acl.rt.process_report(arguments[1])

    thread, code = acl.util.start_thread(process, [context, 50])
    assert (code, acl.rt.subscribe_report(thread, stream)) == (0, 0)
    for i in range(3):
        assert acl.mdl.execute_async(model.id, model.input, model.output, stream) == 0
        assert acl.rt.launch_callback(came.append, [i, "data"], 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert came == [[0, "data"], [1, "data"], [2, "data"]]
    assert acl.rt.unsubscribe_report(thread, stream) == 0
    going[0] = False
    assert acl.util.stop_thread(thread) == 0
    assert acl.util.stop_thread(thread) == acl.ACL_ERROR_INVALID_PARAM
    model.close()
    assert (acl.rt.destroy_stream(stream), acl.rt.destroy_context(context)) == (0, 0)


def test_descriptions_of_tensors(acl: Any) -> None:
    desc = acl.create_tensor_desc(acl.ACL_FLOAT16, [2, -1, 5], acl.ACL_FORMAT_ND)
    assert (acl.get_tensor_desc_num_dims(desc), acl.get_tensor_desc_type(desc)) == (3, acl.ACL_FLOAT16)
    assert acl.set_tensor_shape_range(desc, [[2, 2], [1, 8], [5, 5]]) == 0
    assert acl.get_tensor_desc_dim_range(desc, 1, 2) == ([1, 8], 0)
    assert acl.get_tensor_desc_dim_v2(desc, 2) == (5, 0)
    acl.destroy_tensor_desc(desc)
    assert acl.data_type_size(acl.ACL_INT64) == 8
    assert acl.float16_to_float(acl.float_to_float16(1.5)) == 1.5


def test_an_operator_runs(acl: Any) -> None:
    assert acl.rt.set_device(0) == 0
    stream, code = acl.rt.create_stream()
    assert code == 0
    arrays = [np.full((2, 3), n, np.float32) for n in (1, 2, 0)]
    addresses = [acl.rt.malloc(24, 0)[0] for _ in arrays]
    for address, array in zip(addresses, arrays, strict=True):
        assert acl.rt.memcpy(address, 24, acl.util.numpy_to_ptr(array), 24, H2D) == 0
    descs = [acl.create_tensor_desc(acl.ACL_FLOAT, [2, 3], acl.ACL_FORMAT_ND) for _ in arrays]
    buffers = [acl.create_data_buffer(address, 24) for address in addresses]
    attr = acl.op.create_attr()
    given = (descs[:2], buffers[:2], descs[2:], buffers[2:], attr, 0, 0, None, stream)
    assert acl.op.compile_and_execute("Add", *given) == 0, acl.get_recent_err_msg()
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.memcpy(acl.util.numpy_to_ptr(arrays[2]), 24, addresses[2], 24, D2H) == 0
    np.testing.assert_array_equal(arrays[2], np.full((2, 3), 3))
    assert acl.op.set_attr_list_int(attr, "axes", [1, 2]) == 0
    assert acl.op.set_attr_list_list_int(attr, "pads", [[1, 2], [3]]) == 0
    assert acl.op.set_attr_list_string(attr, "names", ["a", "b"]) == 0
    acl.op.destroy_attr(attr)
    assert [acl.destroy_data_buffer(buffer) for buffer in buffers] == [0, 0, 0]
    assert [acl.rt.free(address) for address in addresses] == [0, 0, 0]
    for desc in descs:
        acl.destroy_tensor_desc(desc)
    assert acl.rt.destroy_stream(stream) == 0


def test_addresses_of_data(acl: Any) -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert acl.util.ptr_to_bytes(acl.util.numpy_to_ptr(array), 24) == array.tobytes()
    address, contiguous = acl.util.numpy_contiguous_to_ptr(array.T)
    np.testing.assert_array_equal(acl.util.ptr_to_numpy(address, (3, 2), 5), contiguous)
    with pytest.raises(ValueError, match="contiguous"):
        acl.util.numpy_to_ptr(array.T)
    with pytest.raises(ValueError, match="no number of a type"):
        acl.util.ptr_to_numpy(address, (3, 2), 9999)
    with pytest.raises(TypeError, match="bytes are needed"):
        acl.util.bytes_to_ptr(array)


def test_programs_clean_up_as_they_end(tmp_path: Path) -> None:
    """In a destructor, where Python imports nothing any more, functions that were never called before."""
    (tmp_path / "prog.py").write_text(
        "import acl\nacl.init()\nacl.rt.set_device(0)\nclass Model:\n    def __del__(self):\n"
        "        print(acl.mdl.unload(77) != 0, acl.mdl.query_size('none.om')[2] != 0,\n"
        "              acl.mdl.get_input_dims(0, 0)[1] != 0, acl.rt.reset_device(0), acl.finalize())\n"
        "model = Model()\n"
    )
    ended = acl_bundles.run(tmp_path, "prog.py")
    assert (ended.stdout, ended.stderr) == ("True True True 0 0\n", "")


def test_programs_write_to_the_log(tmp_path: Path) -> None:
    program = (
        "import acl\nacl.init()\ndef named():\n    acl.app_log(acl.ACL_ERROR, 'all 100% wrong')\nnamed()\n"
    )
    (tmp_path / "prog.py").write_text(program)
    environment = {"ASCEND_SLOG_PRINT_TO_STDOUT": "1"}
    ended = acl_bundles.run(tmp_path, "prog.py", **environment)
    assert "all 100% wrong" in ended.stdout + ended.stderr
    assert "named" in ended.stdout + ended.stderr


def test_addresses_of_temporaries_last_until_the_copy(acl: Any) -> None:
    assert acl.rt.set_device(0) == 0
    for size in (8, 100, 5000):
        host, _ = acl.rt.malloc_host(size)
        pointer = acl.util.bytes_to_ptr(bytes([7]) * size)
        others = [bytes([9]) * size for _ in range(20)]
        assert acl.rt.memcpy(host, size, pointer, size, 0) == 0
        assert acl.util.ptr_to_bytes(host, size) == bytes([7]) * size
        assert len(others) == 20
        assert acl.rt.free_host(host) == 0


def test_wrong_calls_are_named(acl: Any) -> None:
    with pytest.raises(TypeError, match=r"malloc\(size, policy\) takes 2 arguments, not 1"):
        acl.rt.malloc(8)
    with pytest.raises(AttributeError, match=r"Did you mean acl\.rt\.malloc\?"):
        _ = acl.rt.mallok
    with pytest.raises(ValueError, match="input_desc has 1 elements, inputs 0"):
        acl.op.execute_v2("Add", [1], [], [], [], 0, 0)
    with pytest.raises(TypeError, match="a dict is needed"):
        acl.mdl.set_input_dynamic_dims(1, 0, 0, [1, 2])
    assert acl.mdl.execute(4711, 0, 0) != 0
    assert "aclmdlExecute" in acl.get_recent_err_msg()


def test_more_arguments_than_a_function_takes(acl: Any) -> None:
    """Dropped where it takes none, as pyACL does; otherwise they are a mistake."""
    assert acl.rt.set_device(0) == 0
    assert acl.get_version(1, "more") == acl.get_version()
    dataset = acl.mdl.create_dataset(0)
    assert acl.mdl.get_dataset_num_buffers(dataset) == 0
    with pytest.raises(TypeError, match=r"\(dataset\) takes 1 arguments, not 2"):
        acl.mdl.get_dataset_num_buffers(dataset, 0)
    with pytest.raises(TypeError, match=r"\(dataset\) takes 1 arguments, not 0"):
        acl.mdl.destroy_dataset()
    assert acl.mdl.destroy_dataset(dataset) == 0
    with pytest.raises(TypeError, match=r"malloc\(size, policy\) takes 2 arguments, not 3"):
        acl.rt.malloc(8, 0, 0)


def test_pictures_and_video(acl: Any) -> None:
    """Batches of regions are lists; video has a code and a reason."""
    assert acl.rt.set_device(0) == 0
    address, code = acl.media.dvpp_malloc(64)
    assert (code, acl.media.dvpp_free(address)) == (0, 0)
    areas = [acl.media.dvpp_create_roi_config(0, 63, 0, 63)]
    pictures = [acl.media.dvpp_create_batch_pic_desc(1) for _ in range(2)]
    found = acl.media.dvpp_vpc_batch_crop_async(0, pictures[0], [1], pictures[1], areas, 0)
    assert found[0] == pictures[1]
    assert found[1] != 0  # there is no channel
    channel = acl.media.vdec_create_channel_desc()
    assert acl.media.vdec_send_frame(channel, 0, 0, 0, [1, "data"]) != 0
    assert acl.get_recent_err_msg()
