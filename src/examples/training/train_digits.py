"""Trains the digits model of the quickstart and writes what the examples need of it.

  ../resources/dev/berth/examples/digits.onnx   the model, which takes pixels as they are, 0 to 16
  ../images/<label>-<n>.png                     100 images the model never saw, ten of each digit

The same versions of the packages (requirements.txt) on the same kind of processor write the same
bytes each time, so after a run `git status` should show no change.
"""

from pathlib import Path

import numpy as np
from onnx.reference import ReferenceEvaluator
from PIL import Image
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

SEED = 20
HELD_OUT_SHARE = 0.3
IMAGES_PER_DIGIT = 10
PIXEL_MAX = 16  # ink in a 4x4 block of the original 32x32 bitmap: 0 is blank, 16 is full
MODEL_BYTES_MAX = 64 * 1024

EXAMPLES = Path(__file__).resolve().parent.parent
MODEL_FILE = EXAMPLES / "resources/dev/berth/examples/digits.onnx"
IMAGES_DIR = EXAMPLES / "images"


def main():
    digits = load_digits()
    train_x, held_x, train_y, held_y = train_test_split(
        digits.data,
        digits.target,
        test_size=HELD_OUT_SHARE,
        random_state=SEED,
        stratify=digits.target,
    )
    picked = first_of_each_digit(held_y)

    model = to_onnx_model(train(train_x, train_y))
    MODEL_FILE.parent.mkdir(parents=True, exist_ok=True)
    MODEL_FILE.write_bytes(model)
    names = write_images(held_x[picked], held_y[picked])

    # Scored with the exported file, not with the object it came from, so a lossy export shows here.
    right = predict(model, held_x) == held_y
    print(f"trained on {len(train_y)} images, held out {len(held_y)}, seed {SEED}")
    print(f"accuracy over all held-out images: {right.mean():.4f} ({right.sum()}/{len(right)})")
    print(f"accuracy over the images written:  {right[picked].mean():.4f} "
          f"({right[picked].sum()}/{len(picked)})")
    print(f"read wrongly: {[names[i] for i in np.flatnonzero(~right[picked])]}")
    print(f"model: {len(model)} bytes, images: {len(picked)}")


def train(pixels, labels):
    # The scaler is fitted to the limits of a pixel, not to the data: a pixel that is blank in every
    # training image would otherwise be divided by nothing and let one stray dot decide.
    limits = np.array([[0] * 64, [PIXEL_MAX] * 64], dtype=float)
    scaler = MinMaxScaler().fit(limits)
    # 128 units, by cross-validation on the training images alone: 97.4 %, against 96.9 % with 64.
    network = MLPClassifier(hidden_layer_sizes=(128,), max_iter=400, random_state=SEED)
    with threadpool_limits(limits=1):  # the order of a parallel sum would depend on the machine
        network.fit(scaler.transform(pixels), labels)
    return make_pipeline(scaler, network)


def to_onnx_model(pipeline):
    """The model as bytes: float[N,64] in; int64[N] `label` and float[N,10] `probabilities` out."""
    model = to_onnx(
        pipeline,
        name="digits",
        initial_types=[("pixels", FloatTensorType([None, 64]))],
        options={"zipmap": False},
        target_opset={"": 17, "ai.onnx.ml": 3},
    )
    # The converter lists the operator sets in the order of a hash of addresses: one run in sixty
    # came out the other way round.
    model.opset_import.sort(key=lambda opset: opset.domain)
    exported = model.SerializeToString(deterministic=True)
    if len(exported) > MODEL_BYTES_MAX:
        raise SystemExit(f"model: {len(exported)} bytes (expected: <= {MODEL_BYTES_MAX})")
    return exported


def predict(model, pixels):
    label, _ = ReferenceEvaluator(model).run(None, {"pixels": pixels.astype(np.float32)})
    return label


def first_of_each_digit(labels):
    """Where the first ten of each digit stand, in the order of the split: picked by no one."""
    return np.concatenate([np.flatnonzero(labels == d)[:IMAGES_PER_DIGIT] for d in range(10)])


def write_images(pixels, labels):
    IMAGES_DIR.mkdir(parents=True, exist_ok=True)
    for old in IMAGES_DIR.glob("*.png"):
        old.unlink()
    names = []
    for at, (row, label) in enumerate(zip(pixels, labels)):
        names.append(f"{label}-{at % IMAGES_PER_DIGIT}.png")
        gray = np.rint(row.reshape(8, 8) * 255 / PIXEL_MAX).astype(np.uint8)
        if not (np.rint(gray * (PIXEL_MAX / 255)) == row.reshape(8, 8)).all():
            raise SystemExit(f"{names[-1]}: its grays do not map back to its pixels")
        Image.fromarray(gray).save(IMAGES_DIR / names[-1])
    return names


if __name__ == "__main__":
    main()
