"""Server reflection: what grpcurl and other generic clients ask for instead of .proto files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc

from ascend_ep.errors import AscendError
from ascend_ep.serving.protocol.messages import FILES, POOL, message_class, parse

from .refused import refuse

_Request = message_class("grpc.reflection.v1.ServerReflectionRequest")
_Response = message_class("grpc.reflection.v1.ServerReflectionResponse")


class Reflection:
    """services: the full names that it lists."""

    def __init__(self, services: Sequence[str]) -> None:
        self._services = services

    async def info(self, messages: AsyncIterator[bytes], context: Any) -> None:
        async for data in messages:
            try:
                request = parse(_Request, data)
            except AscendError as error:
                refuse(context, error)
                return
            await context.write(self._answer(request).SerializeToString())

    def _answer(self, request: Any) -> Any:
        answer = _Response(valid_host=request.host, original_request=request)
        asked = request.WhichOneof("message_request")
        try:
            if asked == "list_services":
                for name in self._services:
                    answer.list_services_response.service.add(name=name)
            elif asked == "file_by_filename":
                _put_files(answer, POOL.FindFileByName(request.file_by_filename))
            elif asked == "file_containing_symbol":
                _put_files(answer, POOL.FindFileContainingSymbol(request.file_containing_symbol))
            elif asked == "all_extension_numbers_of_type":
                name = request.all_extension_numbers_of_type
                POOL.FindMessageTypeByName(name)
                answer.all_extension_numbers_response.base_type_name = name
            else:
                _fail(answer, grpc.StatusCode.UNIMPLEMENTED, "no file here has extensions")
        except KeyError:
            _fail(answer, grpc.StatusCode.NOT_FOUND, "no file here has that name or symbol")
        return answer


def _put_files(answer: Any, file: Any) -> None:
    """The file behind those that it imports."""
    for imported in file.dependencies:
        _put_files(answer, imported)
    serialized = FILES[file.name]
    if serialized not in answer.file_descriptor_response.file_descriptor_proto:
        answer.file_descriptor_response.file_descriptor_proto.append(serialized)


def _fail(answer: Any, code: Any, text: str) -> None:
    answer.error_response.error_code = code.value[0]
    answer.error_response.error_message = text
