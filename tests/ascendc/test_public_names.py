"""Every name that kernels of independent developers use most is there, in the forms that they use."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from kernel_launch import COMPILER

from ascend_ep.codegen.header_text import HEADERS

SOURCE = Path(__file__).with_name("public_names.cpp")
#: In the order of how many kernels use them.
NAMES = re.findall(
    r"\w+",
    """
    GM_ADDR LocalTensor GlobalTensor SetGlobalBuffer TPipe InitBuffer TQue TBuf AllocTensor EnQue DeQue
    FreeTensor Get DataCopy DataCopyPad GetBlockIdx GetBlockNum GetSubBlockIdx GetSubBlockNum
    GET_TILING_DATA GET_TILING_DATA_WITH_STRUCT TILING_KEY_IS KERNEL_TASK_TYPE_DEFAULT Cast GetValue
    SetValue ReinterpretCast GetPhyAddr GetSize PipeBarrier SetFlag WaitFlag FetchEventID GetTPipePtr
    Destroy Add Sub Mul Div Adds Muls Mins Maxs Exp Abs Sqrt Duplicate Copy Brcb ReduceSum
    BlockReduceSum WholeReduceMax SyncAll SetAtomicAdd SetAtomicNone CrossCoreSetFlag ASSERT LoadData
    Mmad Fixpipe ReduceMax ReduceMin CrossCoreWaitFlag ResetMask AllocEventID ReleaseEventID SetMaskNorm
    SetMaskCount SetVectorMask Ceil REGISTER_TILING_DEFAULT GatherMask WholeReduceSum PairReduceSum
    BlockReduceMax Gather DataCacheCleanAndInvalid Max Axpy Compare Select SetDeqScale
    LoadDataWithTranspose SetTensorA SetTensorB SetOrgShape SetSingleShape IterateAll End
    REGIST_MATMUL_OBJ SetFixpipeNz2ndFlag And Or TQueBind GetSysWorkSpacePtr GetWithOffset InitOutput
    GetAccVal Reset Extract Ln Log MrgSort Sort32 Sort CreateVecIndex ArithProgression SoftmaxFlashV2
    SetL2CacheHint Sigmoid InitConstValue InitGlobalMemory ShapeInfo SetSize Sum ShiftLeft Broadcast
    GetReduceMaxMinCount CompareScalar Not SoftMax Power Transpose Relu Min MulAddDst SetTail GetTensorC
    Iterate RpSort16 MrgSort4 ProposalExtract ProposalConcat Concat Rsqrt Silu SwiGLU Tanh Mean Sign
    Log2 Log10 ShiftRight RepeatReduceSum WholeReduceMin IBSet IBWait DumpTensor ListTensorDesc
    ICachePreLoad AscendCUtils TQueSync GetBitSize GetC0Count BRCB_BROADCAST_NUMBER PI TWO pad_t
    TopKConfig TopKAlgo TopKOrder CeilDiv IbVerbsData float2 float4 make_float4 make_ulonglong4 vcmax
    vcmin Order_t InitSocState SetSyncBaseAddr GetCtrlSpr SetCtrlSpr DataCopyPadGm2UBImpl
    DataCopyPadUB2GMImpl SetFixPipeConfigImpl DROPOUT_MODE_BIT_MISALIGN ST_L2CacheType L1CacheType
    PopStackBuffer GroupBarrier PipeMode MakeShape MakeStride MakeCoord MakeLayout
    Crd2Idx is_layout PRINTF ascendc_assert ASSERT_MSG CACHE_LINE_SIZE BLOCK_CUBE IsSame PRELOAD make_half2
    __shfl_down
    """,
)


def test_the_source_uses_every_name() -> None:
    text = SOURCE.read_text()
    assert [name for name in NAMES if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")
@pytest.mark.parametrize("source", [SOURCE, SOURCE.with_name("own_names.cpp")], ids=["public", "own"])
def test_every_name_is_declared(source: Path) -> None:
    command = [str(COMPILER), "-std=c++20", "-fsyntax-only", "-w"]
    command += [f"-I{HEADERS / 'ascendc'}", f"-I{HEADERS}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
