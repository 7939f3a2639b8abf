// An image as the tensor that an input takes: decoded and scaled by the browser.

const TYPES = { FP32: Float32Array, UINT8: Uint8Array };
const MEAN = [0.485, 0.456, 0.406], DEVIATION = [0.229, 0.224, 0.225];
const FREE = 224; // a size that the request chooses

// {channels, height, width, first}: the layout of an input that can be an image, else null. first: the
// channels are before the sizes.
export function layoutOf(input) {
  if (!(input.datatype in TYPES) || ![3, 4].includes(input.shape.length)) return null;
  const [a, b, c] = input.shape.slice(-3);
  if (input.shape.length === 4 && ![1, -1].includes(input.shape[0])) return null;
  const size = (n) => (n > 0 ? n : FREE);
  if (a === 3 || (a === 1 && c !== 3)) return { channels: a, height: size(b), width: size(c), first: true };
  if (c === 3 || c === 1) return { channels: c, height: size(a), width: size(b), first: false };
  return null;
}

// Draws the middle of the image in the layout's size.
export async function draw(file, layout, canvas) {
  const image = await createImageBitmap(file);
  const { width, height } = layout;
  const scale = Math.max(width / image.width, height / image.height);
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, (width - image.width * scale) / 2, (height - image.height * scale) / 2,
    image.width * scale, image.height * scale);
  canvas.hidden = false;
}

const SCALES = {
  unit: (v) => v / 255,
  signed: (v) => v / 127.5 - 1,
  imagenet: (v, channel) => (v / 255 - MEAN[channel]) / DEVIATION[channel],
  bytes: (v) => v,
};

// The canvas as elements in the input's order. One channel: brightness.
export function tensorOf(canvas, input, layout, scale) {
  const { channels, height, width, first } = layout;
  const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  const made = new TYPES[input.datatype](channels * height * width);
  const scaled = input.datatype === "UINT8" ? SCALES.bytes : SCALES[scale];
  for (let i = 0; i < height * width; i++) {
    const rgb = pixels.subarray(4 * i, 4 * i + 3);
    for (let c = 0; c < channels; c++) {
      const value = channels === 1 ? 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] : rgb[c];
      made[first ? c * height * width + i : i * channels + c] = scaled(value, c);
    }
  }
  const shape = first ? [channels, height, width] : [height, width, channels];
  return { data: made, shape: input.shape.length === 4 ? [1, ...shape] : shape };
}
