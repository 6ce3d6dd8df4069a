// All posts as pictures, row by row.

/** The height of the text below a picture and of the gap below that, in pixels. */
const [WORDS, GAP] = [48, 12];

class Grid {
  #scroller = document.getElementById("grid");
  #track;
  #columns = 1;
  /** Called with the place of the first post in view. */
  onMove = () => {};

  constructor() {
    this.#track = new Track(this.#scroller, {
      reach: 2,
      rowHeight: () => this.#tileWidth() * 1.4 + WORDS + GAP,
      make: (row) => this.#row(row),
      leave: () => {},
      settle: (row) => this.onMove(Math.min(row * this.#columns, Math.max(0, feed.count - 1))),
    });
    new ResizeObserver(() => {
      if (this.#scroller.clientWidth && this.#fitting() !== this.#columns) this.open(this.place);
    }).observe(this.#scroller);
  }

  get place() {
    return this.#track.row * this.#columns;
  }

  open(place) {
    this.#columns = this.#fitting();
    this.#scroller.style.setProperty("--columns", String(this.#columns));
    this.#track.open(Math.ceil(feed.count / this.#columns), Math.floor(place / this.#columns));
  }

  close() {
    this.#track.open(0, 0);
  }

  go(place) {
    this.#track.go(Math.floor(place / this.#columns), false);
  }

  focus(place) {
    const tile = this.#scroller.querySelector(`[data-place="${place}"]`) ?? this.#scroller;
    tile.focus({ preventScroll: true });
  }

  #fitting() {
    return Math.max(2, Math.floor(this.#scroller.clientWidth / 190));
  }

  #tileWidth() {
    const padding = 24 + 12 * (this.#columns - 1);
    return Math.max(80, (this.#scroller.clientWidth - padding) / this.#columns);
  }

  #row(row) {
    const element = make("div", "row");
    element.setAttribute("role", "presentation");
    for (let column = 0; column < this.#columns; column++) {
      const place = row * this.#columns + column;
      if (place < feed.count) element.append(this.#tile(place));
    }
    return element;
  }

  #tile(place) {
    const link = make("a", "tile", make("div", "picture"));
    link.href = `#p${feed.numberAt(place)}`;
    link.dataset.place = String(place);
    link.setAttribute("aria-label", `Video ${number.format(feed.numberAt(place))}`);
    const item = make("div", "item", link);
    item.setAttribute("role", "listitem");
    item.setAttribute("aria-posinset", String(place + 1));
    item.setAttribute("aria-setsize", String(feed.count));
    // Don't load tiles that only fly by during fast scrolling.
    setTimeout(() => link.isConnected && this.#fill(link, place), 60);
    return item;
  }

  async #fill(link, place) {
    const post = await feed.post(place).catch(() => null);
    if (!link.isConnected) return;
    if (!post) return link.classList.add("empty");
    link.setAttribute("aria-label", spoken(post));
    const canvas = make("canvas", "blur");
    canvas.setAttribute("aria-hidden", "true");
    drawPlaceholder(canvas, post);
    const image = make("img", "poster");
    image.alt = "";
    image.loading = "lazy";
    showPoster(image, post);
    const picture = link.firstElementChild;
    picture.append(canvas, image);
    if (isNumber(post.duration)) picture.append(make("span", "length", clock(post.duration)));
    link.append(make("span", "name", makeForeign("span", "", titleOf(post))));
  }
}
