"""Descriptions in words, which a language model reads, and formulas with a mistake, which it doesn't."""

from __future__ import annotations

PROSE = """
f(x) = x multiplied by its sigmoid
y = x times the sigmoid of x
实现激活函数：输入 x，输出 = x 乘以 sigmoid(x)
TopK：k=10,返回 values 和 indices
Compute softmax with temperature T = 2.0 along the last axis
Implement attention: Q K^T / sqrt(d) then softmax then times V
Output: x if positive, otherwise 0.1 times x
a parabola with bump(3) = 8 and bump(-0.5) = -0.75
f(x) = x*2, then add the bias and return the result
Swish: multiply x by its sigmoid
实现一个激活函数,输入张量 x,输出 x 乘以它的 sigmoid 值
an activation that squares its input
实现 TopK:返回 values 和 indices,k=10
softmax
please write the mish of my tensor
Leaky ReLU with slope = 0.2
clamp(x) to the range [0, 6]
normalise x to zero mean: (x - mean) / std, then scale by gamma
归一化：y = (x - 均值) / 标准差
y = x 的平方
f(x) 等于 x 加 1
like swish, but twice as steep
RMSNorm: divide x by the root mean square, eps = 1e-6
a function f with f(0) = 0 and slope 1 for x > 0, 0.25 for x < 0
Hard swish = x * relu6(x + 3) / 6 but with 4 instead of 3
Gate: sigmoid of the first half times the second half
exp(x) divided by the sum of all exp(x)
激活函数：当 x>0 时输出 x，否则输出 alpha 乘以 x，alpha=0.1
y = x squared
Residual: add x and y, then apply tanh
把两个输入相加：z = x 与 y 之和
f(x) = the larger of x and zero
An operator: it returns x - mean(x) for each row
用 TBE DSL 实现一个算子：对输入取绝对值，然后开方
Given x: output = max(x, 0) while training, else x
x in, tanh(x) out, scaled so that f(1) = 1
""".strip().split("\n")

MISTAKES = r"""
f(x) = x + q
f(x) = sigmoidd(x)
实现 PReLU: y = x if x > 0 esle alpha * x
用 TBE DSL 实现 Swish 激活函数:swish(x) = x * sigmoidd(x),输入 FP16 Tensor,shape 任意。
f(x) = 1/2x
x * sigmoidd(x
x * sigmoid(x
f(x) = x * σ(x), where σ(x) = 1 + σ(x)
f(x) = {x if x > 0}
f(x) = \frac{x}
f(x, σ=1.0) = σ(x)
y = x
f(x, alpha) = alpha * xx, alpha is a scalar
f(x) = Σ_j e^{x_j - x_i}
Implement the Mish activation: y = x * tanh(softpluss(x))
f(x) = max(0, x, 输入 x
f(x) = tanh x (x + 1)
RMSNorm(x, gamma) = x / sqrt(mean(x^2) + epsilon) * gamma
""".strip().split("\n")

#: A clause, and the element type that it gives the inputs.
TYPED = """
输入 FP16 Tensor: float16
half precision input: float16
float16 tensor: float16
f(x) = x*2, where x is a bfloat16 tensor: bfloat16
用半精度输入: float16
单精度张量: float32
FP16 输入 FP32 输出: float16
fp16 input, fp32 output: float16
输入 FP16，内部用 FP32 计算: float16
inputs are FP16, accumulation FP32: float16
Swish in fp16: float16
用 FP16 实现 Swish: float16
数据类型 float16: float16
input is bf16 and output fp32: bfloat16
dtype=float16: float16
Swish with FP32 accumulate:
computed in fp32:
accumulate in fp32:
f(x) = float16(x)*2, input x:
the first half of the input:
half of the input:
x is a float16 tensor, y is a bfloat16 tensor: float16 bfloat16
""".strip().split("\n")
