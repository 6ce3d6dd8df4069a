// The posts, page by page. A page is a script that calls `reel.page`: from `file:` a browser reads no JSON.

/** Pages that are kept in memory. */
const PAGES_KEPT = 16;

/** With trusted types, nothing but a page of this feed can become the address of a script. */
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
  /** The numbers of no post: `first` to `last`, and how many posts there are `below`. */
  #gaps = [];
  #count = 0;

  /** How many posts there are. */
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

  /** The post that is `place` posts after the newest, null when there is none. Rejects when its page can't be loaded. */
  async post(place) {
    const number = this.numberAt(place);
    const page = Math.ceil(number / this.#index.size);
    if (!this.#pages.has(page)) await this.#load(page);
    const posts = this.#pages.get(page);
    // The one that was used last is dropped last.
    if (posts && this.#pages.delete(page)) this.#pages.set(page, posts);
    return posts?.get(number) ?? null;
  }

  /** A post's number, counted from the oldest, which is 1: it stays when newer ones come. */
  numberAt(place) {
    const older = this.#count - place - 1;
    const gap = this.#lastGap((gap) => gap.below <= older);
    return gap ? gap.last + 1 + older - gap.below : older + 1;
  }

  /** The place of the post with `number`, counted from the newest, which is 0; of a number that no post has, NaN. */
  placeOf(number) {
    const gap = this.#lastGap((gap) => gap.first <= number);
    if (gap && number <= gap.last) return NaN;
    return this.#count - (gap ? gap.below + number - gap.last : number);
  }

  /** The last gap that `fits`, as all before it do. */
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
    // The last page grows; the others change only when all were written anew. A cache that kept them tells them apart.
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
