// Navigation: the address, the keys, and the two views.

/** How many posts are examined to find one to open with. */
const MOST_LOOKED_AT = 100;

/** Returns the place of the newest post that browsers play; if none of the first ones is, that of the newest. */
const opening = async () => {
  for (let place = 0; place < Math.min(feed.count, MOST_LOOKED_AT); place++) {
    const post = await feed.post(place).catch(() => null);
    if (!post) break;
    if (isPlayed(post)) return place;
  }
  return 0;
};

const start = () => {
  const player = new Player();
  const grid = new Grid();
  const viewButton = document.getElementById("view");
  const position = document.getElementById("position");
  const announcement = document.getElementById("announcement");
  const gone = document.getElementById("gone");
  const isGrid = () => document.body.classList.contains("gridding");

  document.getElementById("total").textContent = number.format(feed.count ? feed.numberAt(0) : 0);
  if (feed.count) [position.min, position.max] = [String(feed.numberAt(feed.count - 1)), String(feed.numberAt(0))];
  document.body.classList.toggle("nothing", feed.count === 0);
  if (feed.count === 0) return;

  let later = 0;
  player.onMove = (place) => {
    showPosition(place);
    if (place > 0) gone.hidden = true;
    // Browsers limit how often an address may change.
    clearTimeout(later);
    const address = location.hash;
    later = setTimeout(() => {
      // Don't replace an address that has changed meanwhile and was not followed yet.
      if (location.hash === address && !isGrid()) history.replaceState(null, "", `#p${feed.numberAt(place)}`);
    }, 400);
    feed.post(place).then((post) => {
      if (post && player.place === place && !isGrid()) announcement.textContent = `${feed.numberAt(place)}: ${spoken(post)}`;
    }, () => {});
  };
  grid.onMove = (place) => isGrid() && showPosition(place);
  const showPosition = (place) => {
    if (document.activeElement !== position) position.value = String(feed.numberAt(place));
  };

  const showGrid = (place) => {
    clearTimeout(later);
    document.body.classList.add("gridding");
    gone.hidden = true;
    viewButton.setAttribute("aria-pressed", "true");
    player.close();
    grid.open(place);
    grid.focus(place);
  };
  const showPlayer = (place) => {
    document.body.classList.remove("gridding");
    viewButton.setAttribute("aria-pressed", "false");
    grid.close();
    player.open(place);
  };
  let first = 0;
  const follow = () => {
    const asked = /^#p(\d+)$/.exec(location.hash)?.[1];
    const place = feed.placeOf(Number(asked ?? NaN));
    const isKnown = place >= 0 && place < feed.count;
    const known = isKnown ? place : asked === undefined ? first : 0;
    gone.hidden = asked === undefined || isKnown;
    if (location.hash === "#grid") showGrid(isGrid() ? grid.place : player.place);
    else if (isGrid() || known !== player.place || !document.querySelector(".slide")) showPlayer(known);
    if (!isGrid()) showPosition(player.place);
  };

  const toggleView = () => {
    if (isGrid()) location.hash = `#p${feed.numberAt(grid.place)}`;
    else location.hash = "#grid";
  };
  viewButton.onclick = toggleView;
  document.getElementById("go").onsubmit = (event) => {
    event.preventDefault();
    const asked = Number(position.value);
    if (!Number.isSafeInteger(asked) || asked < 1) return;
    const place = feed.placeOf(asked);
    position.blur();
    if (place >= 0 && place < feed.count) {
      gone.hidden = true;
      if (isGrid()) grid.go(place);
      else player.go(place);
    } else if (location.hash === `#p${asked}`) follow();
    else location.hash = `#p${asked}`;
  };

  const keys = {
    ArrowDown: () => player.step(1), j: () => player.step(1), PageDown: () => player.step(1),
    ArrowUp: () => player.step(-1), k: () => player.step(-1), PageUp: () => player.step(-1),
    Home: () => player.go(0), End: () => player.go(feed.count - 1),
    ArrowLeft: () => player.skip(-5), ArrowRight: () => player.skip(5),
    " ": () => player.toggle(), m: () => player.toggleSound(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.matches("input")) return;
    if (event.key === "g" || (event.key === "Escape" && isGrid())) return toggleView();
    // A key that acts on the focused element keeps its meaning there.
    const isOfTarget = event.key === " " && target.matches("button, a");
    const action = isGrid() || isOfTarget ? null : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  window.addEventListener("hashchange", follow);
  if (location.hash) return follow();
  opening().then((place) => {
    first = place;
    // If the user has navigated meanwhile, stay there.
    if (!isGrid() && !document.querySelector(".slide")) follow();
  });
};

// `feed/index.js` comes after this script, and calls `reel.index`.
document.querySelector('script[src="feed/index.js"]')?.addEventListener("error", () => {
  document.body.append(make("p", "notice", "feed/index.js is missing next to this page. Write the page again with reel page."));
});
