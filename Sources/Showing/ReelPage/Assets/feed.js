// The posts, page by page. A page is a script that calls `reel.page`, because browsers don't load JSON from `file:`.

/** The number of pages kept in memory. */
const PAGES_KEPT = 16;

/** With trusted types, only a page of this feed can become the address of a script. */
const pageAddress = (() => {
  const address = (name) => `feed/${/^\d+\.js\?[\w.=&]+$/.test(name) ? name : "none"}`;
  if (!window.trustedTypes) return address;
  const policy = window.trustedTypes.createPolicy("reel-feed", { createScriptURL: address });
  return (name) => policy.createScriptURL(name);
})();

class Feed {
  #pages = new Map();
  #waiting = new Map();
  #index = { count: 0, size: 1, revision: 0 };
  /** Ranges of numbers without posts: `first` to `last`, and how many posts there are `below`. */
  #gaps = [];
  #count = 0;

  /** The number of posts. */
  get count() {
    return this.#count;
  }

  /** Called by `feed/index.js`. */
  open(index) {
    this.#index = index;
    let numbers = 0;
    this.#gaps = (index.gaps ?? []).map(([first, last]) => {
      const gap = { first, last, below: first - 1 - numbers };
      numbers += last - first + 1;
      return gap;
    });
    this.#count = index.count - numbers;
  }

  /** Called by `feed/N.js`. */
  receive(number, posts) {
    const wanted = this.#waiting.get(number);
    if (!wanted) return;
    this.#waiting.delete(number);
    this.#pages.set(number, new Map(posts.map((post) => [post.pageNumber, post])));
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= PAGES_KEPT) break;
      this.#pages.delete(oldest);
    }
    wanted.resolve();
  }

  /** Returns the post `place` posts after the newest; null if there is none. Rejects if its page can't be loaded. */
  async post(place) {
    const number = this.numberAt(place);
    const page = Math.ceil(number / this.#index.size);
    if (!this.#pages.has(page)) await this.#load(page);
    const posts = this.#pages.get(page);
    // Moves the page to the end, because the least recently used one is dropped first.
    if (posts && this.#pages.delete(page)) this.#pages.set(page, posts);
    return posts?.get(number) ?? null;
  }

  /** Returns a post's number, counted from the oldest, which is 1. It stays the same when newer posts come. */
  numberAt(place) {
    const older = this.#count - place - 1;
    const gap = this.#lastGap((gap) => gap.below <= older);
    return gap ? gap.last + 1 + older - gap.below : older + 1;
  }

  /** Returns the place of the post with `number`, counted from the newest, which is 0; NaN if there is none. */
  placeOf(number) {
    const gap = this.#lastGap((gap) => gap.first <= number);
    if (gap && number <= gap.last) return NaN;
    return this.#count - (gap ? gap.below + number - gap.last : number);
  }

  /** Returns the last gap that `fits`; all before it fit, too. */
  #lastGap(fits) {
    let [low, high] = [0, this.#gaps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (fits(this.#gaps[middle])) low = middle + 1;
      else high = middle;
    }
    return this.#gaps[low - 1];
  }

  #load(page) {
    const begun = this.#waiting.get(page);
    if (begun) return begun.promise;
    const wanted = {};
    wanted.promise = new Promise((resolve, reject) => Object.assign(wanted, { resolve, reject }));
    this.#waiting.set(page, wanted);
    const script = document.createElement("script");
    const fail = () => {
      if (this.#waiting.get(page) === wanted) this.#waiting.delete(page);
      wanted.reject(new Error(`feed/${page}.js can't be loaded`));
      script.remove();
    };
    script.onload = () => (this.#pages.has(page) ? script.remove() : fail());
    script.onerror = fail;
    // The last page grows; the others change only if all are rewritten. The query keeps caches from mixing up versions.
    const posts = Math.min(this.#index.size, this.#index.count - (page - 1) * this.#index.size);
    script.src = pageAddress(`${page}.js?r=${this.#index.revision}&n=${posts}`);
    document.head.append(script);
    return wanted.promise;
  }
}

const feed = new Feed();
window.reel = Object.freeze({
  index: (index) => {
    feed.open(index);
    start();
  },
  page: ({ page, posts }) => feed.receive(page, posts),
});
