/* The fields of the libraries' tiling structures, once for host and kernel: FIELD(type, name) for each. */
#pragma once

/* A matrix product on one core (singleCore*) in tiles (base*) of a whole (M, N, Ka, Kb). Sizes are in elements, depth*
 * and step* in tiles, share*Size in bytes. */
#define ASC_CUBE_TILING_FIELDS(FIELD) \
    FIELD(int32_t, usedCoreNum)       \
    FIELD(int32_t, M)                 \
    FIELD(int32_t, N)                 \
    FIELD(int32_t, Ka)                \
    FIELD(int32_t, Kb)                \
    FIELD(int32_t, singleCoreM)       \
    FIELD(int32_t, singleCoreN)       \
    FIELD(int32_t, singleCoreK)       \
    FIELD(int32_t, baseM)             \
    FIELD(int32_t, baseN)             \
    FIELD(int32_t, baseK)             \
    FIELD(int32_t, depthA1)           \
    FIELD(int32_t, depthB1)           \
    FIELD(int32_t, stepM)             \
    FIELD(int32_t, stepN)             \
    FIELD(int32_t, isBias)            \
    FIELD(int32_t, transLength)       \
    FIELD(int32_t, iterateOrder)      \
    FIELD(int32_t, shareMode)         \
    FIELD(int32_t, shareL1Size)       \
    FIELD(int32_t, shareL0CSize)      \
    FIELD(int32_t, shareUbSize)       \
    FIELD(int32_t, batchM)            \
    FIELD(int32_t, batchN)            \
    FIELD(int32_t, singleBatchM)      \
    FIELD(int32_t, singleBatchN)      \
    FIELD(int32_t, stepKa)            \
    FIELD(int32_t, stepKb)            \
    FIELD(int32_t, depthAL1CacheUB)   \
    FIELD(int32_t, depthBL1CacheUB)   \
    FIELD(int32_t, dbL0A)             \
    FIELD(int32_t, dbL0B)             \
    FIELD(int32_t, dbL0C)             \
    FIELD(int32_t, ALayoutInfoB)      \
    FIELD(int32_t, ALayoutInfoS)      \
    FIELD(int32_t, ALayoutInfoN)      \
    FIELD(int32_t, ALayoutInfoG)      \
    FIELD(int32_t, ALayoutInfoD)      \
    FIELD(int32_t, BLayoutInfoB)      \
    FIELD(int32_t, BLayoutInfoS)      \
    FIELD(int32_t, BLayoutInfoN)      \
    FIELD(int32_t, BLayoutInfoG)      \
    FIELD(int32_t, BLayoutInfoD)      \
    FIELD(int32_t, CLayoutInfoB)      \
    FIELD(int32_t, CLayoutInfoS1)     \
    FIELD(int32_t, CLayoutInfoN)      \
    FIELD(int32_t, CLayoutInfoG)      \
    FIELD(int32_t, CLayoutInfoS2)     \
    FIELD(int32_t, BatchNum)          \
    FIELD(int32_t, mxTypePara)

/* Rows (M) and columns (K) of softmax: the whole (src*), what one step of it works on (split*, the last tail*), and of
 * the tensors of maxima and sums (outMax*) and of the reduction (reduce*). Sizes are in elements. */
#define ASC_SOFTMAX_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, srcM)                \
    FIELD(uint32_t, srcK)                \
    FIELD(uint32_t, srcSize)             \
    FIELD(uint32_t, outMaxM)             \
    FIELD(uint32_t, outMaxK)             \
    FIELD(uint32_t, outMaxSize)          \
    FIELD(uint32_t, splitM)              \
    FIELD(uint32_t, splitK)              \
    FIELD(uint32_t, splitSize)           \
    FIELD(uint32_t, reduceM)             \
    FIELD(uint32_t, reduceK)             \
    FIELD(uint32_t, reduceSize)          \
    FIELD(uint32_t, rangeM)              \
    FIELD(uint32_t, tailM)               \
    FIELD(uint32_t, tailSplitSize)       \
    FIELD(uint32_t, tailReduceSize)

/* LayerNorm of [b, s, h]; originalHLength is h before it was rounded up to blocks. */
#define ASC_LAYER_NORM_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, bLength)                \
    FIELD(uint32_t, sLength)                \
    FIELD(uint32_t, hLength)                \
    FIELD(uint32_t, originalHLength)        \
    FIELD(uint32_t, inputXSize)             \
    FIELD(uint32_t, meanVarSize)            \
    FIELD(uint32_t, numberOfTmpBuf)         \
    FIELD(uint32_t, meanTmpTensorPos)       \
    FIELD(uint32_t, meanTmpTensorSize)      \
    FIELD(uint32_t, varianceTmpTensorPos)   \
    FIELD(uint32_t, varianceTmpTensorSize)  \
    FIELD(uint32_t, tmpBufSize)             \
    FIELD(uint32_t, oneTmpSize)             \
    FIELD(uint32_t, firstTmpStartPos)       \
    FIELD(uint32_t, secondTmpStartPos)      \
    FIELD(uint32_t, thirdTmpStartPos)       \
    FIELD(uint32_t, loopRound)              \
    FIELD(uint32_t, inputRoundSize)         \
    FIELD(uint32_t, inputTailSize)          \
    FIELD(uint32_t, inputTailPos)           \
    FIELD(uint32_t, meanVarRoundSize)       \
    FIELD(uint32_t, meanVarTailSize)        \
    FIELD(uint32_t, meanVarTailPos)         \
    FIELD(uint32_t, bshCurLength)           \
    FIELD(uint32_t, bsCurLength)            \
    FIELD(float, lastDimValueBack)

/* LayerNorm of aLength rows of rLength elements. */
#define ASC_LAYER_NORM_SEPARATE_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, aLength)                         \
    FIELD(uint32_t, rLength)                         \
    FIELD(uint32_t, halfAddRepeatTimes)              \
    FIELD(uint32_t, rHeadLength)                     \
    FIELD(float, k2Rec)                              \
    FIELD(float, k2RRec)                             \
    FIELD(uint32_t, inputXSize)                      \
    FIELD(uint32_t, meanVarSize)                     \
    FIELD(uint32_t, numberOfTmpBuf)                  \
    FIELD(uint32_t, varianceTmpTensorPos)            \
    FIELD(uint32_t, varianceTmpTensorSize)           \
    FIELD(uint32_t, tmpBufSize)                      \
    FIELD(uint32_t, oneTmpSize)                      \
    FIELD(uint32_t, firstTmpStartPos)                \
    FIELD(uint32_t, secondTmpStartPos)               \
    FIELD(uint32_t, thirdTmpStartPos)                \
    FIELD(uint32_t, loopRound)                       \
    FIELD(uint32_t, inputRoundSize)                  \
    FIELD(uint32_t, inputTailSize)                   \
    FIELD(uint32_t, inputTailPos)                    \
    FIELD(uint32_t, meanVarRoundSize)                \
    FIELD(uint32_t, meanVarTailSize)                 \
    FIELD(uint32_t, meanVarTailPos)                  \
    FIELD(uint32_t, arCurLength)                     \
    FIELD(uint32_t, aCurLength)                      \
    FIELD(float, rValueBack)

/* The gradients of LayerNorm of [b, s, h]; lastDimValueBack and lastDimValueBackMulTwo are the bits of floats. */
#define ASC_LAYER_NORM_GRAD_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, stackBufferSize)             \
    FIELD(uint32_t, bLength)                     \
    FIELD(uint32_t, sLength)                     \
    FIELD(uint32_t, hLength)                     \
    FIELD(uint32_t, originalHLength)             \
    FIELD(uint32_t, oneCalSize)                  \
    FIELD(uint32_t, nohCalSize)                  \
    FIELD(uint32_t, loopNum)                     \
    FIELD(uint32_t, tailSize)                    \
    FIELD(uint32_t, nohTailSize)                 \
    FIELD(uint32_t, lastDimValueBack)            \
    FIELD(uint32_t, lastDimValueBackMulTwo)
#define ASC_LAYER_NORM_GRAD_BETA_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, stackBufferSize)                  \
    FIELD(uint32_t, bLength)                          \
    FIELD(uint32_t, sLength)                          \
    FIELD(uint32_t, hLength)                          \
    FIELD(uint32_t, originalHLength)                  \
    FIELD(uint32_t, bshLength)                        \
    FIELD(uint32_t, bsLength)                         \
    FIELD(uint32_t, oneCalSize)                       \
    FIELD(uint32_t, numberOfTmpBuf)                   \
    FIELD(uint32_t, loopRound)

/* RmsNorm of [b, s, h]. */
#define ASC_RMS_NORM_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, bLength)              \
    FIELD(uint32_t, sLength)              \
    FIELD(uint32_t, hLength)              \
    FIELD(uint32_t, originalHLength)      \
    FIELD(float, reciprocalOfHLength)     \
    FIELD(uint32_t, mainBshLength)        \
    FIELD(uint32_t, mainBsLength)         \
    FIELD(uint32_t, mainBsLengthAlign)    \
    FIELD(uint32_t, loopRound)            \
    FIELD(uint32_t, inputTailPos)         \
    FIELD(uint32_t, tailBshLength)        \
    FIELD(uint32_t, tailBsLength)

/* TopK of rows of tmpLocalSize elements in all. */
#define ASC_TOPK_TILING_FIELDS(FIELD)         \
    FIELD(int32_t, tmpLocalSize)              \
    FIELD(int32_t, allDataSize)               \
    FIELD(int32_t, innerDataSize)             \
    FIELD(uint32_t, sortRepeat)               \
    FIELD(int32_t, mrgSortRepeat)             \
    FIELD(int32_t, kAlignFourBytes)           \
    FIELD(int32_t, kAlignTwoBytes)            \
    FIELD(int32_t, maskOffset)                \
    FIELD(int32_t, maskVreducev2FourBytes)    \
    FIELD(int32_t, maskVreducev2TwoBytes)     \
    FIELD(int32_t, mrgSortSrc1offset)         \
    FIELD(int32_t, mrgSortSrc2offset)         \
    FIELD(int32_t, mrgSortSrc3offset)         \
    FIELD(int32_t, mrgSortTwoQueueSrc1Offset) \
    FIELD(int32_t, mrgFourQueueTailPara1)     \
    FIELD(int32_t, mrgFourQueueTailPara2)     \
    FIELD(int32_t, srcIndexOffset)            \
    FIELD(uint32_t, copyUbToUbBlockCount)     \
    FIELD(int32_t, topkMrgSrc1MaskSizeOffset) \
    FIELD(int32_t, topkNSmallSrcIndexOffset)  \
    FIELD(uint32_t, vreduceValMask0)          \
    FIELD(uint32_t, vreduceValMask1)          \
    FIELD(uint32_t, vreduceIdxMask0)          \
    FIELD(uint32_t, vreduceIdxMask1)          \
    FIELD(uint16_t, vreducehalfValMask0)      \
    FIELD(uint16_t, vreducehalfValMask1)      \
    FIELD(uint16_t, vreducehalfValMask2)      \
    FIELD(uint16_t, vreducehalfValMask3)      \
    FIELD(uint16_t, vreducehalfValMask4)      \
    FIELD(uint16_t, vreducehalfValMask5)      \
    FIELD(uint16_t, vreducehalfValMask6)      \
    FIELD(uint16_t, vreducehalfValMask7)

/* Rows of srcWidth elements that lie, of which srcOriWidth count. */
#define ASC_PAD_TILING_FIELDS(FIELD)          \
    FIELD(uint32_t, srcHeight)                \
    FIELD(uint32_t, srcWidth)                 \
    FIELD(uint32_t, srcOriWidth)              \
    FIELD(uint32_t, widthWithoutLastBlock)    \
    FIELD(uint32_t, blocksPerRow)             \
    FIELD(uint32_t, heightTiling)             \
    FIELD(uint32_t, heightFractal)            \
    FIELD(uint32_t, heightFractalTail)        \
    FIELD(uint32_t, mainLoopOffset)           \
    FIELD(uint32_t, tailBlockOffset)          \
    FIELD(uint32_t, tmpBuffer1BlockNum)       \
    FIELD(uint32_t, tmpBuffer1RowNum)         \
    FIELD(uint32_t, tmpBuffer2Offset)         \
    FIELD(uint32_t, widthTiling)              \
    FIELD(uint32_t, widthFractal)             \
    FIELD(uint32_t, widthFractalTail)         \
    FIELD(uint32_t, widthFractalTailAlingned) \
    FIELD(uint32_t, brcbTiling)               \
    FIELD(uint32_t, brcbFractal)              \
    FIELD(uint32_t, brcbFractalTail)          \
    FIELD(uint32_t, maxRepeatTimes)           \
    FIELD(uint32_t, brcbTilingRepeatTimes)    \
    FIELD(uint32_t, brcbTilingRepeatTimesTail)

#define ASC_UNPAD_TILING_FIELDS(FIELD)  \
    FIELD(uint32_t, srcHeight)          \
    FIELD(uint32_t, srcWidth)           \
    FIELD(uint32_t, tmpBuffer1BlockNum) \
    FIELD(uint32_t, tmpBuffer1RowNum)   \
    FIELD(uint32_t, tmpBuffer2Offset)   \
    FIELD(uint32_t, widthTiling)        \
    FIELD(uint32_t, widthFractal)       \
    FIELD(uint32_t, widthFractalTail)

/* BatchNorm of [b, s, h]: originalBLength is b, meanVarSize s * h. */
#define ASC_BATCH_NORM_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, originalBLength)        \
    FIELD(uint32_t, meanVarSize)            \
    FIELD(uint32_t, meanTmpTensorPos)       \
    FIELD(uint32_t, varianceTmpTensorPos)   \
    FIELD(uint32_t, tmpBufSize)             \
    FIELD(uint32_t, oneTmpSize)             \
    FIELD(uint32_t, firstTmpStartPos)       \
    FIELD(uint32_t, secondTmpStartPos)      \
    FIELD(uint32_t, thirdTmpStartPos)       \
    FIELD(uint32_t, loopRound)              \
    FIELD(uint32_t, inputTailSize)          \
    FIELD(uint32_t, inputTailPos)           \
    FIELD(uint32_t, meanVarTailSize)        \
    FIELD(uint32_t, meanVarTailPos)         \
    FIELD(uint32_t, bshCurLength)           \
    FIELD(uint32_t, shCurLength)            \
    FIELD(float, firstDimValueBack)         \
    FIELD(uint32_t, castHalfRepStride)      \
    FIELD(uint32_t, shCurLengthBlockNum)    \
    FIELD(uint32_t, castHalfOutRepStride)

/* GroupNorm of [n, c, hw] in g groups of d channels; rows of hw elements lie hwAlignSize apart. */
#define ASC_GROUP_NORM_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, n)                      \
    FIELD(uint32_t, c)                      \
    FIELD(uint32_t, hw)                     \
    FIELD(uint32_t, g)                      \
    FIELD(uint32_t, d)                      \
    FIELD(uint32_t, hwAlignSize)            \
    FIELD(uint32_t, dhwAlignSize)           \
    FIELD(uint32_t, inputXSize)             \
    FIELD(uint32_t, meanVarSize)            \
    FIELD(uint32_t, numberOfTmpBuf)         \
    FIELD(uint32_t, meanTmpTensorPos)       \
    FIELD(uint32_t, meanTmpTensorSize)      \
    FIELD(uint32_t, varianceTmpTensorPos)   \
    FIELD(uint32_t, varianceTmpTensorSize)  \
    FIELD(uint32_t, tmpBufSize)             \
    FIELD(uint32_t, oneTmpSize)             \
    FIELD(uint32_t, firstTmpStartPos)       \
    FIELD(uint32_t, secondTmpStartPos)      \
    FIELD(uint32_t, thirdTmpStartPos)       \
    FIELD(uint32_t, loopRound)              \
    FIELD(uint32_t, inputRoundSize)         \
    FIELD(uint32_t, inputTailSize)          \
    FIELD(uint32_t, inputTailPos)           \
    FIELD(uint32_t, meanVarRoundSize)       \
    FIELD(uint32_t, meanVarTailSize)        \
    FIELD(uint32_t, meanVarTailPos)         \
    FIELD(uint32_t, bshCurLength)           \
    FIELD(uint32_t, bsCurLength)            \
    FIELD(float, factor)                    \
    FIELD(bool, smallShape)

/* ConfusionTranspose. Here: param0 to param3 are the four axes of the source's shape, or its two. */
#define ASC_CONFUSION_TRANSPOSE_TILING_FIELDS(FIELD) \
    FIELD(uint32_t, param0)                          \
    FIELD(uint32_t, param1)                          \
    FIELD(uint32_t, param2)                          \
    FIELD(uint32_t, param3)                          \
    FIELD(uint32_t, param4)                          \
    FIELD(uint32_t, param5)                          \
    FIELD(uint32_t, param6)                          \
    FIELD(uint32_t, param7)                          \
    FIELD(uint32_t, param8)                          \
    FIELD(uint32_t, param9)                          \
    FIELD(uint32_t, param10)                         \
    FIELD(uint32_t, param11)                         \
    FIELD(uint32_t, param12)                         \
    FIELD(uint32_t, param13)                         \
    FIELD(uint32_t, param14)                         \
    FIELD(uint32_t, param15)                         \
    FIELD(uint32_t, param16)                         \
    FIELD(uint32_t, param17)

/* A copy from [B, N, S, H/N] to [B, S, N, H/N] and its like. */
#define ASC_COPY_TRANSPOSE_TILING_FIELDS(FIELD)      \
    FIELD(uint32_t, dstShapeB)                       \
    FIELD(uint32_t, dstShapeN)                       \
    FIELD(uint32_t, dstShapeS)                       \
    FIELD(uint32_t, dstShapeHN)                      \
    FIELD(uint32_t, dstShapeH)                       \
    FIELD(uint32_t, srcShapeB)                       \
    FIELD(uint32_t, srcShapeN)                       \
    FIELD(uint32_t, srcShapeS)                       \
    FIELD(uint32_t, srcShapeHN)                      \
    FIELD(uint32_t, originalShapeNLen)               \
    FIELD(uint32_t, shapeSHValue)                    \
    FIELD(uint32_t, shapeNsValue)                    \
    FIELD(uint32_t, shapeNsnValue)                   \
    FIELD(uint32_t, invalidParamCopyTransposeTiling) \
    FIELD(uint32_t, shapeBHValue)                    \
    FIELD(uint32_t, paramsAlign)
