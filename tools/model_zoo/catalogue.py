"""The models tried, by package. A model is here with valid inputs, or not at all."""

from __future__ import annotations

from model_zoo.inputs import audio, constant, image, normal, tokens, uniform
from model_zoo.model import Model

SILERO = "silero-vad==6.2.3"
SPEECHMOS = "speechmos==0.0.1.1"
RAPIDOCR_ORT = "rapidocr-onnxruntime==1.4.4"

#: Frames of a page or of a line of text, as the packages resize them: multiples of 32, or 48 high.
PAGES = {"height": (320, 480, 640), "width": (640, 480, 320)}

SPEECH = [
    Model(
        SILERO,
        "silero_vad/data/silero_vad.onnx",
        "voice activity",
        {
            "input.0": (1, 2, 3),
            "input.1": (512, 512, 256),
            "state.1": (1, 2, 3),
            "rate": (16000, 16000, 8000),
        },
        {"input": audio(), "sr": constant("rate"), "state": normal(0.1)},
    ),
    Model(
        SILERO,
        "silero_vad/data/silero_vad_16k_op15.onnx",
        "voice activity",
        {"sequence": (512,)},
        {"input": audio(), "sr": constant(16000), "state": normal(0.1)},
    ),
    Model(
        SILERO,
        "silero_vad/data/silero_vad_16k_sequence.onnx",
        "voice activity",
        {"sequence_length": (1, 20, 100)},
        {"input": audio(), "h": normal(0.1), "c": normal(0.1)},
    ),
    Model(
        SILERO,
        "silero_vad/data/silero_vad_half.onnx",
        "voice activity",
        {"sequence": (512,)},
        {"input": audio(), "state": normal(0.1)},
    ),
    Model(
        SILERO,
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        "voice activity",
        {"sequence": (512, 512, 256), "rate": (16000, 16000, 8000)},
        {"input": audio(), "sr": constant("rate"), "state": normal(0.1)},
    ),
    Model(
        SILERO,
        "silero_vad/data/silero_vad_openvino_16k.onnx",
        "voice activity",
        rules={"input": audio(), "state": normal(0.1)},
    ),
    *(
        Model(
            SPEECHMOS,
            f"speechmos/aecmos_models/Run_{run}_Stage_0.onnx",
            "speech quality",
            {"batch_size": (1,), "frames": (60, 100, 201)},
            {"input": uniform(-1, 1)},
            label=f"aecmos_{run}",
        )
        for run in (1663829550, 1663915512, 1668423760)
    ),
    *(
        Model(SPEECHMOS, f"speechmos/dnsmos_models/{name}.onnx", "speech quality", rules={"input_1": rule})
        for name, rule in {
            "bak_ovr": uniform(-1, 1),
            "model_v8": uniform(-1, 1),
            "sig": uniform(-1, 1),
            "sig_bak_ovr": audio(),
        }.items()
    ),
    Model(
        SPEECHMOS,
        "speechmos/pdnsmos_models/sig_bak_ovr.onnx",
        "speech quality",
        rules={"input_1": audio()},
        label="pdnsmos",
    ),
    Model(
        SPEECHMOS,
        "speechmos/plcmos_models/plcmos_v2.onnx",
        "speech quality",
        {"batch_size": (1,), "frames": (60, 100, 201)},
        {"degraded_audio": uniform(-1, 1)},
    ),
]

IMAGES = [
    Model(
        RAPIDOCR_ORT,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        "OCR",
        {"x.2": PAGES["height"], "x.3": PAGES["width"]},
        {"x": image(-1, 1)},
    ),
    Model(
        RAPIDOCR_ORT,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "OCR",
        {"x.2": (48,), "x.3": (160, 320, 480)},
        {"x": image(-1, 1)},
    ),
    Model(
        RAPIDOCR_ORT,
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "OCR",
        {"x.0": (1, 2, 3), "x.2": (48,), "x.3": (192,)},
        {"x": image(-1, 1)},
    ),
    Model(
        "nudenet==3.4.2",
        "nudenet/320n.onnx",
        "detection",
        {"height": (320, 320, 256), "width": (320, 320, 384)},
        {"images": image()},
    ),
]

OTHERS = [
    Model(
        "magika==1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        "file type",
        rules={"bytes": tokens(257)},
        label="standard_v3_3",
    ),
]

MODELS: list[Model] = [*SPEECH, *IMAGES, *OTHERS]
