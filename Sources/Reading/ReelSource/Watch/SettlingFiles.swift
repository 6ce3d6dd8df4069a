import ReelCore

/// Decides when the files of a watched folder are ingested: as soon as their writer has closed them, otherwise once
/// they have been unchanged for a while.
///
/// It is told what is seen, and when; it looks at nothing itself. Times are counted from an arbitrary moment.
package struct SettlingFiles: Sendable {
  /// How long files are left alone.
  package struct Waits: Hashable, Sendable {
    /// For a file that is not known to be closed.
    package var settle: Duration
    /// For a file that looks cut off, or has parts that were never written.
    package var secondLook: Duration
    /// For a file of which nothing can tell whether it is still open.
    package var unknown: Duration

    /// How many times longer such a file is left alone than others.
    private static let patience = 30

    /// - Parameters: see the properties; `unknown` by default follows from `settle`.
    package init(
      settle: Duration = .seconds(2), secondLook: Duration = .seconds(30), unknown: Duration? = nil
    ) {
      (self.settle, self.secondLook) = (settle, max(settle, secondLook))
      self.unknown = unknown ?? settle * Self.patience
    }
  }

  /// What happens to a file that was seen.
  package enum Verdict: Hashable, Sendable {
    /// It will be looked at again when it is due.
    case waits
    /// It has been unchanged for so long.
    case settled(Duration)
    /// It was settled before in this very state.
    case known
  }

  private struct Waiting {
    var identity: FileIdentity?
    /// Since when it has been unchanged, as far as that was seen.
    var since: Duration
    var due: Duration
    /// How long it has to be left alone.
    var needed: Duration
    /// Whether it does not count when its writer closes it.
    var mustRest = false
    /// Its state when its writer was last seen to close it.
    var closed: FileIdentity?
    /// Whether it was reported that a process keeps it open.
    var isTold = false
    /// Identifies its one entry in the schedule.
    var ticket = 0
  }

  private let waits: Waits
  private var waiting: [SourcePath: Waiting] = [:]
  private var schedule = DueTimes()
  private var lastTicket = 0
  /// The files that were settled and are still there, by hashes of path and state: a few bytes for each.
  private var done: [Int: Int] = [:]
  /// The path hashes of those of which nothing could tell whether they were closed.
  private var unproven: Set<Int> = []

  package init(_ waits: Waits = Waits()) { self.waits = waits }

  /// The number of files that are waiting.
  package var count: Int { waiting.count }

  /// When the next file is due; nil if none is waiting. It may turn out to be due later.
  package var nextDue: Duration? { schedule.first }

  /// Records that something has happened to `path` that does not mean it is finished.
  package mutating func noticed(_ path: SourcePath, at now: Duration) {
    guard waiting[path] == nil else { return }
    wait(for: path, Waiting(identity: nil, since: now, due: now + waits.settle, needed: waits.settle))
  }

  /// Records that `path` was seen in the state `identity`.
  /// - Parameters:
  ///   - age: how long it has been unchanged by its own timestamps; zero if these can't be trusted.
  ///   - isClosed: whether its writer has just closed it.
  package mutating func saw(
    _ path: SourcePath, _ identity: FileIdentity, age: Duration, isClosed: Bool, at now: Duration
  ) -> Verdict {
    if done[path.hashValue] == identity.hashValue {
      // Now it is known to be closed, so it can be disposed of.
      guard isClosed, unproven.remove(path.hashValue) != nil else { return .known }
    }
    let known = waiting[path]
    let isSame = known?.identity == identity
    let since = isSame ? known?.since ?? now : now - max(.zero, age)
    let needed = isSame ? known?.needed ?? waits.settle : waits.settle
    let mustRest = known?.mustRest ?? false
    let closed = isClosed ? identity : known?.closed
    if now - since >= needed || isClosed && needed == waits.settle && !mustRest {
      waiting[path] = nil
      done[path.hashValue] = identity.hashValue
      return .settled(now - since)
    }
    wait(
      for: path,
      Waiting(
        identity: identity, since: since, due: since + needed, needed: needed, mustRest: mustRest,
        closed: closed, isTold: isSame && known?.isTold ?? false))
    return .waits
  }

  /// Returns the state of `path` when its writer was last seen to close it; nil if that was not seen. Call it before
  /// ``saw(_:_:age:isClosed:at:)``, which forgets this with the file.
  func closing(of path: SourcePath) -> FileIdentity? { waiting[path]?.closed }

  /// Records that a settled file has been unchanged for `rest`. It is settled again once that reaches `needed`, or its
  /// writer closes it.
  mutating func rests(
    _ path: SourcePath, _ identity: FileIdentity, after rest: Duration, until needed: Duration,
    closed: FileIdentity?, at now: Duration
  ) {
    wait(
      for: path,
      Waiting(
        identity: identity, since: now - rest, due: now - rest + needed, needed: waits.settle, closed: closed)
    )
  }

  /// Records that a settled file, unchanged for `rest`, is open for writing. It is looked at again and again.
  /// - Returns: whether to report that: it has been unchanged for as long as a file that looks cut off has to be, and
  ///   was not reported.
  mutating func isOpen(
    _ path: SourcePath, _ identity: FileIdentity, after rest: Duration, wasTold: Bool, at now: Duration
  ) -> Bool {
    let isNew = !wasTold && rest >= waits.secondLook
    wait(
      for: path,
      Waiting(
        identity: identity, since: now - rest, due: now + max(waits.settle, Self.shortestPause),
        needed: waits.settle, isTold: wasTold || isNew))
    return isNew
  }

  /// Whether it was reported that a process keeps `path` open. Call it before ``saw(_:_:age:isClosed:at:)``.
  func isTold(_ path: SourcePath) -> Bool { waiting[path]?.isTold ?? false }

  /// The shortest time between two looks at a file that is open.
  private static let shortestPause = Duration.seconds(1)

  /// Records that a settled file, unchanged for `rest`, looks cut off. It is settled again when it has been left alone
  /// for longer.
  /// - Returns: false if it has been left alone for long enough.
  package mutating func looksCutOff(
    _ path: SourcePath, _ identity: FileIdentity, after rest: Duration, closed: FileIdentity? = nil,
    at now: Duration
  ) -> Bool {
    guard rest < waits.secondLook else { return false }
    wait(
      for: path,
      Waiting(
        identity: identity, since: now - rest, due: now - rest + waits.secondLook, needed: waits.secondLook,
        closed: closed))
    return true
  }

  /// Records that a settled file could not be dealt with. It is settled again after `delay` if it does not change.
  package mutating func retry(
    _ path: SourcePath, _ identity: FileIdentity, after delay: Duration, closed: FileIdentity? = nil,
    at now: Duration
  ) {
    wait(
      for: path, Waiting(identity: identity, since: now, due: now + delay, needed: delay, closed: closed))
  }

  /// Records that a settled file changed while it was dealt with: its writer closes it and then continues, so it has to
  /// rest.
  /// - Parameter closed: its state when its writer was seen to close it.
  package mutating func changed(_ path: SourcePath, closed: FileIdentity? = nil, at now: Duration) {
    wait(
      for: path,
      Waiting(
        identity: nil, since: now, due: now + waits.settle, needed: waits.settle, mustRest: true,
        closed: closed))
  }

  /// Records that the file can't even be opened.
  /// - Returns: whether that is new.
  package mutating func isUnreachable(_ path: SourcePath) -> Bool {
    waiting[path] = nil
    return done.updateValue(0, forKey: path.hashValue) != 0
  }

  /// Records that nothing could tell whether a settled file was closed. Once its writer is seen to close it, it is
  /// settled again.
  mutating func isUnproven(_ path: SourcePath) { unproven.insert(path.hashValue) }

  /// Forgets a file that is no longer there, or is not to be ingested.
  package mutating func forget(_ path: SourcePath) {
    waiting[path] = nil
    done[path.hashValue] = nil
    unproven.remove(path.hashValue)
  }

  /// Returns the files to look at by now, at most `count`. The caller reports what it sees; until then they are due
  /// again and again.
  package mutating func due(upTo count: Int, at now: Duration) -> [SourcePath] {
    var paths: [SourcePath] = []
    while paths.count < count, let entry = schedule.popFirst(by: now) {
      guard var known = waiting[entry.path], known.ticket == entry.ticket else { continue }
      if known.due <= now {
        paths.append(entry.path)
        known.due = now + waits.settle
        waiting[entry.path] = known
      }
      schedule.insert(entry.path, at: known.due, ticket: entry.ticket)
    }
    return paths
  }

  /// Forgets what a completed walk has not seen, as it is no longer there.
  /// - Parameter seen: the `hashValue` of each path.
  mutating func keep(_ seen: Set<Int>) {
    done = done.filter { seen.contains($0.key) }
    unproven.formIntersection(seen)
  }

  private mutating func wait(for path: SourcePath, _ next: Waiting) {
    done[path.hashValue] = nil
    unproven.remove(path.hashValue)
    var next = next
    if let known = waiting[path], known.due <= next.due {
      // Its entry comes up early, and is then scheduled anew.
      next.ticket = known.ticket
    } else {
      lastTicket += 1
      next.ticket = lastTicket
      schedule.insert(path, at: next.due, ticket: next.ticket)
    }
    waiting[path] = next
  }
}

/// Paths by the time at which they are due, in a heap.
private struct DueTimes: Sendable {
  typealias Entry = (time: Duration, path: SourcePath, ticket: Int)
  private var entries: [Entry] = []

  var first: Duration? { entries.first?.time }

  mutating func insert(_ path: SourcePath, at time: Duration, ticket: Int) {
    entries.append((time, path, ticket))
    var index = entries.count - 1
    while index > 0, entries[(index - 1) / 2].time > entries[index].time {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func popFirst(by now: Duration) -> Entry? {
    guard let first = entries.first, first.time <= now else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var index = 0
    while true {
      let children = [2 * index + 1, 2 * index + 2].filter { $0 < entries.count }
      guard let least = children.min(by: { entries[$0].time < entries[$1].time }),
        entries[least].time < entries[index].time
      else { break }
      entries.swapAt(index, least)
      index = least
    }
    return first
  }
}
