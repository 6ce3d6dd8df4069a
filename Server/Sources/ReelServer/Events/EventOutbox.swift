import FoundationEssentials
import Glibc
import Reel
import Synchronization

/// Events on their way to a webhook, each in a file until it is taken. An event that is not taken for days is set
/// aside. All of it blocks.
public final class EventOutbox: Sendable {
  let folder: String
  /// The folder of the events that were set aside.
  private var asideFolder: String { folder + "/aside" }
  private let clock: any WallClock
  private let last: Mutex<Int64>

  /// Creates the folder (0700) if it is missing.
  /// - Throws: a sentence for users.
  convenience init(library: String) throws {
    do throws(Problem) {
      try self.init(folder: library + "/events", clock: SystemWallClock())
    } catch {
      throw StartFailure("events can't be kept in \(library)/events: \(error.message)")
    }
  }

  /// The outbox of a server that was once started with a webhook.
  /// - Throws: a sentence for users, where there is none.
  public static func existing(inLibrary library: String) throws -> EventOutbox {
    guard Disk.status(of: library + "/events") != nil else {
      throw StartFailure(
        "there are no events in \(library): a server makes their folder once it is started with --webhook")
    }
    return try EventOutbox(library: library)
  }

  init(folder: String, clock: any WallClock) throws(Problem) {
    self.clock = clock
    self.folder = try Disk.makeFolder(folder)
    last = Mutex(0)
    _ = try Disk.makeFolder(asideFolder)
    // If the clock was set back, a new event would come before these.
    let newest = try max(waiting().last?.number ?? 0, setAside().last?.number ?? 0)
    last.withLock { $0 = newest }
  }

  /// The events to deliver, in order.
  func waiting() throws(Problem) -> [OutgoingEvent] { try Self.events(in: folder) }

  /// The events that may be delivered, in order.
  func deliverable() throws(Problem) -> [OutgoingEvent] { try dueAndLate().due }

  /// The waiting events, in order. Those that follow one of the same post that was set aside are late: nobody is told of
  /// a removal before they are told of the post. They stay where they are, as another process may replay the first.
  private func dueAndLate() throws(Problem) -> (due: [OutgoingEvent], late: [OutgoingEvent]) {
    let first = Dictionary(try setAside().map { ($0.post, $0.number) }) { min($0, $1) }
    let waiting = try waiting()
    func isLate(_ event: OutgoingEvent) -> Bool { first[event.post].map { event.number > $0 } ?? false }
    return (waiting.filter { !isLate($0) }, waiting.filter(isLate))
  }

  /// The events that were set aside, in order.
  func setAside() throws(Problem) -> [OutgoingEvent] { try Self.events(in: asideFolder) }

  private static func events(in folder: String) throws(Problem) -> [OutgoingEvent] {
    try Disk.names(in: folder).compactMap { OutgoingEvent(fileName: $0) }.sorted { $0.number < $1.number }
  }

  /// Keeps those of `events` that are about posts. They are on disk when this returns.
  /// - Returns: the number of these.
  @discardableResult
  func add(_ events: [IngestEvent]) throws(Problem) -> Int {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var count = 0
    for event in events {
      guard let post = event.post, let line = try? encoder.encode(event), let type = Self.type(of: line),
        let body = try? encoder.encode(WebhookBody(type: type, timestamp: event.at, data: event))
      else { continue }
      let outgoing = OutgoingEvent(number: nextNumber(), type: type, post: post.id)
      // The file is hidden until it is complete.
      let (path, new) = (path(of: outgoing), "\(folder)/.\(outgoing.fileName)")
      do throws(Problem) {
        try write(body, to: new)
        try Disk.call("rename") { rename(new, path) }
      } catch {
        unlink(new)
        // A missing file does not mean a missing upload here.
        throw error == .noSuchUpload
          ? Problem(.serviceUnavailable, "storage", "\(folder) is gone") : error
      }
      count += 1
    }
    if count > 0 { try Disk.syncFolder(of: folder + "/") }
    return count
  }

  private func write(_ body: Data, to path: String) throws(Problem) {
    let file = try Disk.open(path, O_WRONLY | O_CREAT | O_TRUNC)
    try Disk.write(Array(body), to: file)
    // The server must be able to read what root has added.
    if geteuid() == 0, let owner = Disk.status(of: folder), owner.st_uid != 0 {
      try Disk.call("fchown") { fchown(file.number, owner.st_uid, owner.st_gid) }
    }
    try Disk.call("fdatasync") { fdatasync(file.number) }
  }

  /// Removes what a process left that died more than an hour ago while adding an event.
  func tidy() throws(Problem) {
    for name in try Disk.names(in: folder, hidden: true) where name.hasSuffix(".json") {
      let path = "\(folder)/\(name)"
      guard let written = Disk.status(of: path)?.st_mtim.tv_sec, written < time(nil) - 3600 else { continue }
      unlink(path)
    }
  }

  /// Keeps events from lines as `reel ingest --events` writes them. Lines that are not about posts are skipped.
  /// - Throws: a sentence about the first line that is not an event.
  public func add(lines: some Sequence<String>) throws -> Int {
    var events: [IngestEvent] = []
    for (index, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) {
      do {
        events.append(try JSONDecoder().decode(IngestEvent.self, from: Data(line.utf8)))
      } catch {
        throw StartFailure(
          "line \(index + 1) is no event as `reel ingest --events` writes them, so none of the lines was taken"
        )
      }
    }
    do throws(Problem) {
      return try add(events)
    } catch {
      throw StartFailure("the events could not be kept: \(error.message)")
    }
  }

  private static func type(of line: Data) -> String? {
    struct Typed: Decodable { let type: String }
    return try? JSONDecoder().decode(Typed.self, from: line).type
  }

  private func nextNumber() -> Int64 {
    let now = Int64(clamping: Int(clock.now().timeIntervalSince1970 * 1_000_000))
    return last.withLock { last in
      last = max(now, last &+ 1)
      return last
    }
  }

  private func path(of event: OutgoingEvent) -> String { "\(folder)/\(event.fileName)" }
  private func asidePath(of event: OutgoingEvent) -> String { "\(asideFolder)/\(event.fileName)" }

  /// The body that is sent; nil when the event is gone.
  func body(of event: OutgoingEvent) throws(Problem) -> [UInt8]? { try Disk.contents(of: path(of: event)) }

  /// Removes an event that was taken. After a power cut it may be there again, and is then sent again.
  func remove(_ event: OutgoingEvent) throws(Problem) {
    guard unlink(path(of: event)) == 0 || errno == ENOENT else { throw Problem(errno: errno, in: "unlink") }
  }

  func setAside(_ events: [OutgoingEvent]) throws(Problem) {
    for event in events { try Disk.call("rename") { rename(path(of: event), asidePath(of: event)) } }
  }

  /// Lets the events that were set aside be delivered once more.
  /// - Returns: the number of these.
  /// - Throws: a sentence for users.
  public func replay() throws -> Int {
    do throws(Problem) {
      let (events, late) = (try setAside(), try dueAndLate().late)
      var count = late.count
      for event in events where try takeBack(event) { count += 1 }
      return count
    } catch {
      throw StartFailure("the events in \(asideFolder) could not all be taken back: \(error.message)")
    }
  }

  /// Returns false if another process has taken it back.
  private func takeBack(_ event: OutgoingEvent) throws(Problem) -> Bool {
    if rename(asidePath(of: event), path(of: event)) == 0 { return true }
    guard errno == ENOENT else { throw Problem(errno: errno, in: "rename") }
    return false
  }

  /// One line for each event that was not taken yet.
  /// - Throws: a sentence for users.
  public func report() throws -> [String] {
    do throws(Problem) {
      let (due, late) = try dueAndLate()
      return try (setAside() + late).map { Self.line("set aside", $0) } + due.map { Self.line("waiting", $0) }
    } catch {
      throw StartFailure("the events in \(folder) can't be read: \(error.message)")
    }
  }

  private static func line(_ state: String, _ event: OutgoingEvent) -> String {
    "\(state)\t\(event.addedAt.formatted(Date.ISO8601FormatStyle()))\t\(event.type)\t\(event.post)"
  }
}
