// Facts as people read them, and elements made of text: nothing here or elsewhere is parsed as markup.

const number = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

/** `<tag class=…>` with text or children. */
const make = (tag, className, ...children) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

/** A text of a stranger's: it runs in its own direction and turns nothing around it. */
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

/** Codecs by FFmpeg's names, as people know them; others keep that name. */
const CODECS = new Map(Object.entries({
  av1: "AV1", dnxhd: "DNxHD", ffv1: "FFV1", flv1: "Sorenson Spark", h263: "H.263", h264: "H.264", hevc: "HEVC",
  mjpeg: "Motion JPEG", mpeg1video: "MPEG-1", mpeg2video: "MPEG-2", mpeg4: "MPEG-4", prores: "ProRes", theora: "Theora",
  vc1: "VC-1", vp8: "VP8", vp9: "VP9", vvc: "VVC", wmv1: "WMV 7", wmv2: "WMV 8", wmv3: "WMV 9",
}));

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** What a post is, as pairs of a label and a text; what is unknown is left out. */
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

/** Its caption, or its file's name where the feed tells that; null where it has neither. */
const nameOf = (post) => post.caption || post.sourceName || null;

const titleOf = (post) => {
  const length = isNumber(post.duration) ? clock(post.duration) : null;
  return nameOf(post) ?? ([dayOf(post), length].filter(Boolean).join(" · ") || "Untitled");
};

const PLAYED_FILES = new Set(["m4v", "mov", "mp4", "webm"]);
const PLAYED_CODECS = new Set(["av1", "h264", "vp8", "vp9"]);

/** Whether browsers in general play it, as far as its post tells. */
const isPlayed = (post) =>
  PLAYED_FILES.has(post.videoFileExtension) && (!post.videoCodec || PLAYED_CODECS.has(post.videoCodec));

const authorOf = (post) => post.autherName || post.author || null;

/** What a screen reader says of a post, beside its position. */
const spoken = (post) => {
  const length = nameOf(post) && isNumber(post.duration) ? `, ${clock(post.duration)}` : "";
  const author = authorOf(post);
  return `${titleOf(post)}${author ? `, by ${author}` : ""}${length}`;
};
