// Formats facts for people, and makes elements from text. Nothing, here or elsewhere, is parsed as markup.

const number = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

/** Returns `<tag class=…>` with text or children. */
const make = (tag, className, ...children) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

/** Returns an element with untrusted text, which has its own direction and does not affect that of its surroundings. */
const makeForeign = (tag, className, text) => {
  const element = make(tag, className, text);
  element.dir = "auto";
  return element;
};

const clock = (seconds) => {
  const whole = Math.floor(seconds);
  const two = (value) => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / 60) % 60;
  const hours = Math.floor(whole / 3600);
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
};

const bytes = (count) => {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let [value, unit] = [count, 0];
  while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit && value < 99.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
};

/** The common names of codecs, by FFmpeg's names. Others keep FFmpeg's. */
const CODECS = new Map(Object.entries({
  av1: "AV1", dnxhd: "DNxHD", ffv1: "FFV1", flv1: "Sorenson Spark", h263: "H.263", h264: "H.264", hevc: "HEVC",
  mjpeg: "Motion JPEG", mpeg1video: "MPEG-1", mpeg2video: "MPEG-2", mpeg4: "MPEG-4", prores: "ProRes", theora: "Theora",
  vc1: "VC-1", vp8: "VP8", vp9: "VP9", vvc: "VVC", wmv1: "WMV 7", wmv2: "WMV 8", wmv3: "WMV 9",
}));

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Returns a post's known facts, as pairs of a label and a text. */
const facts = (post) => {
  const list = [];
  if (isNumber(post.duration)) list.push(["Length", clock(post.duration)]);
  if (post.videoWidth && post.videoHeight) list.push(["Picture", `${post.videoWidth} × ${post.videoHeight}`]);
  if (isNumber(post.size)) list.push(["Size", bytes(post.size)]);
  if (post.videoFileExtension) list.push(["Format", post.videoFileExtension.toUpperCase()]);
  if (post.videoCodec) list.push(["Codec", CODECS.get(post.videoCodec) ?? post.videoCodec]);
  const posted = dayOf(post);
  if (posted) list.push(["Posted", posted]);
  return list;
};

const dayOf = (post) => {
  const time = Date.parse(post.createdAt ?? "");
  return Number.isNaN(time) ? null : day.format(time);
};

/** Returns a post's caption, or its file's name if the feed has it; null if there is neither. */
const nameOf = (post) => post.caption || post.sourceName || null;

const titleOf = (post) => {
  const length = isNumber(post.duration) ? clock(post.duration) : null;
  return nameOf(post) ?? ([dayOf(post), length].filter(Boolean).join(" · ") || "Untitled");
};

const PLAYED_FILES = new Set(["m4v", "mov", "mp4", "webm"]);
const PLAYED_CODECS = new Set(["av1", "h264", "vp8", "vp9"]);

/** Returns whether browsers in general play the video, as far as its post says. */
const isPlayed = (post) =>
  PLAYED_FILES.has(post.videoFileExtension) && (!post.videoCodec || PLAYED_CODECS.has(post.videoCodec));

const authorOf = (post) => post.autherName || post.author || null;

/** Returns what a screen reader says about a post, besides its position. */
const spoken = (post) => {
  const length = nameOf(post) && isNumber(post.duration) ? `, ${clock(post.duration)}` : "";
  const author = authorOf(post);
  return `${titleOf(post)}${author ? `, by ${author}` : ""}${length}`;
};
