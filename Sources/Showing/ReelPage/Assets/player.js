// One video at a time, the next one below it.

const calm = matchMedia("(prefers-reduced-motion: reduce)");

class Player {
  #scroller = document.getElementById("feed");
  #seek = document.getElementById("seek");
  #time = document.getElementById("time");
  #sound = document.getElementById("sound");
  #playButton = document.getElementById("play");
  #track;
  #current = null;
  #isOpen = false;
  #isMuted = true;
  /** Whether the video played when the window was hidden. */
  #wasPlaying = false;
  #goal = null;
  /** Called with the place of the post that is shown. */
  onMove = () => {};

  constructor() {
    this.#track = new Track(this.#scroller, {
      reach: 2,
      rowHeight: () => this.#scroller.clientHeight,
      make: (place) => new Slide(place, this).element,
      leave: (element) => element.slide.release(),
      settle: (place) => this.#settle(place),
    });
    this.#scroller.addEventListener("scrollend", () => this.#arrive());
    // Scrolling by hand cancels a scroll to a post.
    for (const event of ["wheel", "touchstart"]) {
      this.#scroller.addEventListener(event, () => (this.#goal = null), { passive: true });
    }
    document.getElementById("newer").onclick = () => this.step(-1);
    document.getElementById("older").onclick = () => this.step(1);
    this.#sound.onclick = () => this.toggleSound();
    this.#playButton.onclick = () => this.toggle();
    this.#seek.oninput = () => this.#current?.seekTo(Number(this.#seek.value) / 1000);
    document.addEventListener("visibilitychange", () => this.#resume());
  }

  get isMuted() {
    return this.#isMuted;
  }

  get place() {
    return this.#track.row;
  }

  open(place) {
    this.#isOpen = true;
    this.#track.open(feed.count, place);
  }

  close() {
    this.#isOpen = false;
    this.#current?.pause();
    this.#current = null;
    this.#track.open(0, 0);
  }

  /** Moves `steps` posts down, or up if negative. */
  step(steps) {
    this.go((this.#goal ?? this.place) + steps);
  }

  go(place) {
    const target = Math.max(0, Math.min(place, feed.count - 1));
    this.#goal = target;
    this.#track.go(target, !calm.matches);
    if (target === this.place) this.#goal = null;
  }

  toggle() {
    if (!this.#current) return;
    if (this.#current.isPaused) this.#current.play();
    else this.#current.pause();
  }

  toggleSound() {
    this.#isMuted = !this.#isMuted;
    this.#sound.setAttribute("aria-pressed", String(!this.#isMuted));
    this.#sound.title = this.#isMuted ? "Turn sound on (m)" : "Turn sound off (m)";
    for (const slide of this.#slides()) slide.mute(this.#isMuted);
  }

  skip(seconds) {
    this.#current?.skip(seconds);
  }

  /** Called by a slide whenever its video progresses or changes its state. */
  follow(slide) {
    if (slide !== this.#current) return;
    const { duration, currentTime } = slide.progress;
    this.#seek.disabled = !(duration > 0);
    this.#seek.value = duration > 0 ? String(Math.round((currentTime / duration) * 1000)) : "0";
    this.#seek.style.setProperty("--part", duration > 0 ? String(currentTime / duration) : "0");
    const text = duration > 0 ? `${clock(currentTime)} / ${clock(duration)}` : "";
    if (this.#time.textContent !== text) this.#time.textContent = text;
    this.#seek.setAttribute("aria-valuetext", duration > 0 ? `${clock(currentTime)} of ${clock(duration)}` : "unknown");
    const isPlaying = !slide.isPaused;
    slide.element.classList.toggle("paused", !isPlaying);
    this.#playButton.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    this.#playButton.classList.toggle("playing", isPlaying);
  }

  /** Completes a scroll that was interrupted. */
  #arrive() {
    const goal = this.#goal;
    this.#goal = null;
    if (goal !== null && goal !== this.place) this.#track.go(goal, false);
  }

  #slides() {
    return [...this.#scroller.querySelectorAll(".slide")].map((element) => element.slide);
  }

  #settle(place) {
    if (!this.#isOpen || !feed.count) return;
    if (this.#goal === place) this.#goal = null;
    const shown = this.#track.element(place)?.slide ?? null;
    const hadFocus = this.#current?.element.contains(document.activeElement) ?? false;
    for (const slide of this.#slides()) slide.approach(slide.place - place);
    if (shown === this.#current) return;
    this.#current?.pause();
    this.#current = shown;
    if (!shown) return;
    document.getElementById("newer").disabled = place === 0;
    document.getElementById("older").disabled = place === feed.count - 1;
    // A screen reader reads the element with the focus.
    if (hadFocus) shown.element.focus({ preventScroll: true });
    // With reduced motion, users start each video by hand.
    if (!calm.matches) {
      // In a hidden tab, it starts once the tab is visible.
      if (document.hidden) this.#wasPlaying = true;
      else shown.play();
    }
    this.follow(shown);
    this.onMove(place);
  }

  #resume() {
    if (!this.#isOpen || !this.#current) return;
    if (document.hidden) {
      this.#wasPlaying = !this.#current.isPaused;
      this.#current.pause();
    } else if (this.#wasPlaying) {
      this.#current.play();
    }
  }
}
