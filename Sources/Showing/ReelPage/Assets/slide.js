// One post in the player.

class Slide {
  element;
  place;
  #player;
  #post = null;
  #distance = Infinity;
  #wantsToPlay = false;
  #isGone = false;
  #back = make("canvas", "back");
  #blur = make("canvas", "blur");
  #poster = make("img", "poster");
  #video = make("video", "video");
  #stage = make("div", "stage");
  #about = make("div", "about");

  constructor(place, player) {
    this.place = place;
    this.#player = player;
    for (const canvas of [this.#back, this.#blur]) canvas.setAttribute("aria-hidden", "true");
    this.#poster.alt = "";
    this.#stage.append(this.#blur, this.#poster);
    const frame = make("div", "frame", this.#stage);
    this.element = make("article", "slide", this.#back, frame, this.#about);
    this.element.slide = this;
    this.element.tabIndex = -1;
    this.element.setAttribute("aria-posinset", String(place + 1));
    this.element.setAttribute("aria-setsize", String(feed.count));
    this.element.setAttribute("aria-label", "Loading");
    this.#load();
  }

  get isPaused() {
    return this.#video.paused;
  }

  get progress() {
    const length = this.#video.duration;
    const duration = Number.isFinite(length) ? length : this.#post?.duration ?? 0;
    return { duration, currentTime: this.#video.currentTime };
  }

  /** Sets the distance from the post that is shown: only near posts are loaded. */
  approach(distance) {
    this.#distance = distance;
    const isShown = distance === 0;
    this.element.inert = !isShown;
    this.element.tabIndex = isShown ? 0 : -1;
    this.#attach();
  }

  play() {
    this.#wantsToPlay = true;
    this.#attach();
    if (!this.#video.hasAttribute("src")) return;
    this.#video.muted = this.#player.isMuted;
    // The browser may refuse to play; then the button shows that.
    this.#video.play().catch(() => this.#player.follow(this));
  }

  pause() {
    this.#wantsToPlay = false;
    this.#video.pause();
  }

  mute(isMuted) {
    this.#video.muted = isMuted;
  }

  seekTo(part) {
    const { duration } = this.progress;
    if (duration > 0) this.#video.currentTime = part * duration;
  }

  skip(seconds) {
    const { duration, currentTime } = this.progress;
    if (duration > 0) this.#video.currentTime = Math.max(0, Math.min(duration - 0.1, currentTime + seconds));
  }

  /** Frees the video's decoder and loaded data. */
  release() {
    this.#isGone = true;
    this.#detach();
  }

  async #load() {
    try {
      const post = await feed.post(this.place);
      if (this.#isGone) return;
      if (post) this.#show(post);
      else this.#say("This post is no longer here.");
    } catch {
      const again = make("button", "again", "Try again");
      again.onclick = () => (this.#about.replaceChildren(), this.#load());
      if (!this.#isGone) this.#say("This part of the feed could not be loaded.", again);
    }
  }

  #show(post) {
    this.#post = post;
    this.element.setAttribute("aria-label", `${spoken(post)}, ${number.format(this.place + 1)} of ${number.format(feed.count)}`);
    drawPlaceholder(this.#back, post);
    drawPlaceholder(this.#blur, post);
    showPoster(this.#poster, post);
    const [width, height] = [post.videoWidth || post.posterWidth, post.videoHeight || post.posterHeight];
    if (width && height) this.#stage.style.setProperty("--shape", String(width / height));
    else this.#stage.classList.add("shapeless");
    this.#describe(post);
    this.#prepareVideo(post);
    this.approach(this.#distance);
    if (this.#wantsToPlay) this.play();
  }

  #describe(post) {
    const author = authorOf(post);
    const list = make("dl", "facts");
    for (const [label, text] of facts(post)) list.append(make("div", "", make("dt", "", label), make("dd", "", text)));
    const address = mediaAddress(post.videoURL);
    const open = make("a", "open", "Open the file");
    if (address) Object.assign(open, { href: address, target: "_blank", rel: "noopener noreferrer" });
    this.#about.replaceChildren(
      ...[
        author && makeForeign("p", "author", author),
        makeForeign("h2", "caption", titleOf(post)),
        post.music && makeForeign("p", "music", post.music),
        list,
        address && make("p", "file", open),
      ].filter(Boolean),
    );
  }

  #prepareVideo(post) {
    const video = this.#video;
    Object.assign(video, { loop: true, muted: true, playsInline: true, disableRemotePlayback: true });
    video.setAttribute("aria-label", titleOf(post));
    const poster = mediaAddress(post.posterURL);
    if (poster) video.poster = poster;
    video.onloadeddata = () => video.classList.add("here");
    for (const event of ["timeupdate", "play", "pause", "durationchange", "seeked"]) {
      video.addEventListener(event, () => this.#player.follow(this));
    }
    video.onerror = () => {
      if (video.hasAttribute("src")) this.#fail();
    };
    const tap = make("button", "tap");
    tap.tabIndex = -1;
    tap.setAttribute("aria-hidden", "true");
    tap.onclick = () => this.#player.toggle();
    this.#stage.append(video, tap);
  }

  #attach() {
    if (!this.#post || this.#isGone) return;
    if (Math.abs(this.#distance) > 1) return this.#detach();
    const address = mediaAddress(this.#post.videoURL);
    if (!address) return this.#fail();
    this.#video.preload = this.#distance === 0 || (this.#distance === 1 && !navigator.connection?.saveData) ? "auto" : "metadata";
    if (!this.#video.hasAttribute("src") && !this.#stage.classList.contains("failed")) this.#video.src = address;
  }

  #detach() {
    if (!this.#video.hasAttribute("src")) return;
    this.#video.removeAttribute("src");
    this.#video.classList.remove("here");
    this.#video.load();
  }

  #fail() {
    if (this.#stage.classList.contains("failed")) return;
    this.#stage.classList.add("failed");
    this.#detach();
    const text = make("p", "trouble", "This video can't be played: it is gone, or in a format that this browser does not support.");
    text.setAttribute("role", "status");
    this.#stage.append(text);
    this.#player.follow(this);
  }

  #say(text, ...more) {
    this.element.setAttribute("aria-label", text);
    this.#stage.classList.add("shapeless");
    this.#about.replaceChildren(make("h2", "caption", text), ...more);
  }
}
