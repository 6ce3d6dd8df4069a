// What is shown until there is a picture: a post's blurHash, or colors derived from its id.

const BASE83 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~";

const decode83 = (text) => {
  let value = 0;
  for (const character of text) {
    const digit = BASE83.indexOf(character);
    if (digit < 0) throw new RangeError("not a blurHash");
    value = value * 83 + digit;
  }
  return value;
};

const toLinear = (value) => {
  const part = value / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
};

const toSRGB = (value) => {
  const part = Math.min(1, Math.max(0, value));
  return Math.round((part <= 0.0031308 ? part * 12.92 : 1.055 * part ** (1 / 2.4) - 0.055) * 255);
};

const signedSquare = (value) => Math.sign(value) * value * value;

/** Returns the pixels of a blurHash (https://github.com/woltapp/blurhash, Algorithm.md); throws if it is not valid. */
const decodeBlurHash = (hash, width, height) => {
  const flags = decode83(hash.slice(0, 1));
  const columns = (flags % 9) + 1;
  const rows = Math.floor(flags / 9) + 1;
  if (rows > 9 || hash.length !== 4 + 2 * columns * rows) throw new RangeError("not a blurHash");
  const most = (decode83(hash.slice(1, 2)) + 1) / 166;
  const average = decode83(hash.slice(2, 6));
  const colors = [[toLinear(average >> 16), toLinear((average >> 8) & 255), toLinear(average & 255)]];
  for (let at = 6; at < hash.length; at += 2) {
    const value = decode83(hash.slice(at, at + 2));
    const parts = [Math.floor(value / 361), Math.floor(value / 19) % 19, value % 19];
    colors.push(parts.map((part) => signedSquare((part - 9) / 9) * most));
  }
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const sum = [0, 0, 0];
      colors.forEach((color, index) => {
        const across = Math.cos((Math.PI * x * (index % columns)) / width);
        const basis = across * Math.cos((Math.PI * y * Math.floor(index / columns)) / height);
        for (let part = 0; part < 3; part++) sum[part] += color[part] * basis;
      });
      pixels.set([...sum.map(toSRGB), 255], (y * width + x) * 4);
    }
  }
  return new ImageData(pixels, width, height);
};

/** Draws the placeholder of `post` onto a small canvas, which CSS stretches. */
const drawPlaceholder = (canvas, post) => {
  const context = canvas.getContext("2d");
  const [width, height] = [canvas.width, canvas.height] = [24, 32];
  if (!context) return;
  try {
    if (post.blurHash) return context.putImageData(decodeBlurHash(post.blurHash, width, height), 0, 0);
  } catch {
    // Fall back to the colors.
  }
  let seed = 0;
  for (const character of post.id ?? "") seed = (seed * 31 + character.charCodeAt(0)) >>> 0;
  const hue = seed % 360;
  const gradient = context.createLinearGradient(0, 0, width, height);
  gradient.addColorStop(0, `hsl(${hue} 42% 46%)`);
  gradient.addColorStop(1, `hsl(${(hue + 50) % 360} 46% 22%)`);
  context.fillStyle = gradient;
  context.fillRect(0, 0, width, height);
};

/** Returns `text` as the address of media; null if a browser should not follow it. */
const mediaAddress = (text) => {
  if (!text) return null;
  try {
    const url = new URL(text, document.baseURI);
    return ["http:", "https:", "file:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
};

/** Shows a post's poster in `image` once it is loaded. If it is gone, the placeholder stays. */
const showPoster = (image, post) => {
  const address = mediaAddress(post.posterURL);
  if (!address) return;
  image.onload = () => image.classList.add("here");
  image.decoding = "async";
  image.src = address;
};
