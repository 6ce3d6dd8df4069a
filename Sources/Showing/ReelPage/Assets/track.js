// A scrolling list of any length; only the rows near the visible part are in the page.

/** In pixels. Browsers limit the height of an element to some 17 million. */
const TALLEST = 8_000_000;

class Track {
  #scroller;
  #track;
  #options;
  #rows = new Map();
  #first = 0;
  #shown = 0;
  #height = 1;
  #count = 0;

  /**
   * @param scroller the element that scrolls; its only child holds the rows.
   * @param options `reach`: rows kept beyond the visible ones; `rowHeight()`; `make(row)`: returns an element;
   *   `leave(element)`: it is removed; `settle(row)`: the visible row has changed.
   */
  constructor(scroller, options) {
    this.#scroller = scroller;
    this.#track = scroller.firstElementChild;
    this.#options = options;
    let asked = false;
    scroller.addEventListener("scroll", () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        this.#scrolled();
      });
    });
    new ResizeObserver(() => this.layOut()).observe(scroller);
  }

  /** The row nearest to the top of the visible part. */
  get row() {
    return this.#shown;
  }

  /** Returns the element of a row; null if it is not in the page. */
  element(row) {
    return this.#rows.get(row) ?? null;
  }

  /** Starts over with `count` rows, at `row`. */
  open(count, row) {
    for (const element of this.#rows.values()) this.#remove(element);
    this.#rows.clear();
    this.#count = count;
    this.#shown = Math.max(0, Math.min(row, count - 1));
    this.#height = Math.max(1, this.#options.rowHeight());
    this.#place();
  }

  /** Called after a change of size; keeps the same row at the top. */
  layOut() {
    const height = Math.max(1, this.#options.rowHeight());
    if (!this.#scroller.clientHeight || height === this.#height) return this.#fill();
    this.#height = height;
    this.#place();
  }

  /** Scrolls to `row`. */
  go(row, smoothly) {
    const target = Math.max(0, Math.min(row, this.#count - 1));
    const isNear = Math.abs(target - this.#shown) <= 2;
    if (!smoothly || !isNear) {
      this.#shown = target;
      return this.#place();
    }
    this.#scroller.scrollTo({ top: (target - this.#first) * this.#height, behavior: "smooth" });
  }

  get #held() {
    return Math.max(16, Math.floor(TALLEST / this.#height));
  }

  /** Lays out the track around the row that is shown, and scrolls there. */
  #place() {
    const held = Math.min(this.#count, this.#held);
    this.#first = Math.max(0, Math.min(this.#shown - Math.floor(held / 2), this.#count - held));
    this.#track.style.height = `${held * this.#height}px`;
    for (const [row, element] of this.#rows) this.#position(element, row);
    this.#fill();
    this.#scroller.scrollTo({ top: (this.#shown - this.#first) * this.#height, behavior: "instant" });
    this.#options.settle(this.#shown);
  }

  #scrolled() {
    const row = this.#first + Math.round(this.#scroller.scrollTop / this.#height);
    const shown = Math.max(0, Math.min(row, this.#count - 1));
    if (shown === this.#shown) return;
    this.#shown = shown;
    const last = this.#first + this.#held - 1;
    const isAtEdge = (shown - this.#first < 8 && this.#first > 0) || (last - shown < 8 && last < this.#count - 1);
    if (isAtEdge) return this.#place();
    this.#fill();
    this.#options.settle(shown);
  }

  #fill() {
    if (!this.#scroller.clientHeight) return;
    const visible = Math.ceil(this.#scroller.clientHeight / this.#height);
    const from = Math.max(0, this.#shown - this.#options.reach);
    const to = Math.min(this.#count - 1, this.#shown + visible - 1 + this.#options.reach);
    for (const [row, element] of this.#rows) {
      if (row >= from && row <= to) continue;
      this.#rows.delete(row);
      this.#remove(element);
    }
    for (let row = from; row <= to; row++) {
      if (this.#rows.has(row)) continue;
      const element = this.#options.make(row);
      this.#rows.set(row, element);
      this.#position(element, row);
      // Keep the order of the list, because screen readers and the Tab key follow it.
      const next = [...this.#rows].filter(([other]) => other > row).sort(([a], [b]) => a - b)[0];
      this.#track.insertBefore(element, next ? next[1] : null);
    }
  }

  #position(element, row) {
    element.style.top = `${(row - this.#first) * this.#height}px`;
    element.style.height = `${this.#height}px`;
  }

  #remove(element) {
    this.#options.leave(element);
    element.remove();
  }
}
