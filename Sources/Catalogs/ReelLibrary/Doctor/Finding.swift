import ReelCore
import ReelStorage

/// Something that is wrong in a library or its stores.
package struct Finding: Hashable, Sendable {
  package enum Kind: String, Codable, Sendable, CaseIterable {
    /// The database contradicts itself, or can't be read.
    case catalogDamaged = "catalog.damaged"
    /// A process that died and whose row has not been deleted yet.
    case ownerDead = "owner.dead"
    /// A process that is running, but has let its lease run out.
    case leaseExpired = "lease.expired"
    /// A temporary file of a dead process.
    case temporaryLeftOver = "temporary.left-over"
    /// A store that rows name, but that can't be looked at.
    case storeUnreachable = "store.unreachable"
    /// A post whose object is gone.
    case objectMissing = "object.missing"
    /// A post whose object is not what was published.
    case objectDiffers = "object.differs"
    /// An object that no row names.
    case objectUnknown = "object.unknown"
    /// An object under a key that was given up.
    case objectGivenUp = "object.given-up"
    /// A missing object of a removed post, which was to be kept.
    case keptMissing = "object.kept-missing"
    /// An object of a removed post that is still there.
    case removedLeftBehind = "object.removed"
    /// A removal, restoration, edit or move that was begun, and that no process is working on.
    case changeUnfinished = "change.unfinished"
    /// A stored poster that its post has not shown for longer than the grace period.
    case posterUnneeded = "poster.unneeded"
    /// A dead process's intent to publish.
    case intentAbandoned = "intent.abandoned"
    /// An intent that no process holds, with its object stored, within the grace period.
    case intentWaiting = "intent.waiting"
    /// An intent that no process has worked on for longer than the grace period.
    case intentStale = "intent.stale"
  }

  package enum Repair: String, Codable, Sendable {
    /// `--fix` repairs it.
    case byFix
    /// Only a person can decide.
    case byHand
  }

  package let kind: Kind
  /// What it is about: a path, an object's key, or a lock's name.
  package let subject: String
  /// What is wrong, and what that means, as a sentence.
  package let meaning: ErrorMessage
  /// What `--fix` does about it, or what a person can do, as a sentence.
  package let remedy: ErrorMessage
  package let repair: Repair
  /// How long no process has worked on the intent; nil if it is not about an intent.
  package let age: Duration?

  init(
    _ kind: Kind, _ subject: String, _ repair: Repair, meaning: ErrorMessage, remedy: ErrorMessage,
    age: Duration? = nil
  ) {
    self.kind = kind
    self.subject = subject
    self.repair = repair
    self.age = age
    self.meaning = meaning
    self.remedy = remedy
  }

  /// Whether `--fix --from` repairs it if the bytes are found there.
  package var isRestorable: Bool { kind == .objectMissing || kind == .objectDiffers }

  /// Returns the same finding with its sentences worded by `wording`.
  func worded(_ wording: (ErrorMessage) -> String) -> Finding {
    Finding(
      kind, subject, repair, meaning: ErrorMessage(wording(meaning)), remedy: ErrorMessage(wording(remedy)),
      age: age)
  }

  /// What two findings of the same kind about the same thing have in common, however they are worded.
  var identity: String { kind.rawValue + " " + subject }
}

/// What an examination found, and what of it was repaired.
package struct Diagnosis: Sendable {
  /// The findings that are gone since the first look.
  package let repaired: [Finding]
  package let left: [Finding]
  /// The reasons why findings that are left could not be repaired, where repair was tried.
  package let failures: [RepairFailure]
  /// The number of objects named by rows that were looked at.
  package let objects: Int
  package let wasRead: Bool

  package init(
    repaired: [Finding], left: [Finding], failures: [RepairFailure] = [], objects: Int, wasRead: Bool
  ) {
    self.repaired = repaired
    self.left = left
    self.failures = failures
    self.objects = objects
    self.wasRead = wasRead
  }

  /// Returns the same diagnosis, worded by `wording`.
  package func worded(_ wording: (ErrorMessage) -> String) -> Diagnosis {
    Diagnosis(
      repaired: repaired.map { $0.worded(wording) }, left: left.map { $0.worded(wording) },
      failures: failures.map { $0.worded(wording) }, objects: objects, wasRead: wasRead)
  }
}

extension ExaminedObject {
  /// What a sentence calls it.
  fileprivate var noun: String {
    switch kind {
    case .video: "object"
    case .poster: "poster"
    }
  }

  /// Where its bytes may still be found.
  fileprivate var sources: String {
    switch kind {
    case .video: "the original file or a backup of the store"
    case .poster: "a backup of the store"
    }
  }
}

extension Finding {
  /// The catalog itself can't be trusted.
  package static func damaged(_ sentence: ErrorMessage) -> Finding {
    Finding(
      .catalogDamaged, sentence.description, .byHand,
      meaning: "the catalog is damaged (\(sentence)): nothing else was looked at",
      remedy: "restore a backup (docs/backup.md); reel doctor then reports what was stored since")
  }

  /// Creates a finding about an owner; nil if the owner is alive and well.
  init?(_ owner: ExaminedOwner) {
    let who = owner.pid.map { "process \($0)" } ?? "a process"
    switch owner.life {
    case .alive: return nil
    case .dead:
      self.init(
        .ownerDead, owner.name, .byFix,
        meaning: "\(who) ended without cleaning up; other processes can already take over its work",
        remedy: "removes its entry in the catalog and its lock")
    case .overdue:
      self.init(
        .leaseExpired, owner.name, .byHand,
        meaning:
          "\(who) is running but has not renewed its lease: other processes may take over its work, and "
          + "nothing is published twice",
        remedy: "if it is stopped or hangs, resume it (kill -CONT) or kill it")
    }
  }

  static func leftOver(_ path: String) -> Finding {
    Finding(
      .temporaryLeftOver, path, .byFix,
      meaning: "left over from an upload that was interrupted; nothing will use it again",
      remedy: "removes it; so does the next run")
  }

  static func unlistable(_ destination: Destination) -> Finding {
    Finding(
      .storeUnreachable, destination.name, .byHand,
      meaning: "this store can't be listed, so its objects were not looked at",
      remedy:
        "reel verify checks the object of each post; to see what else it holds, use the store's own tools")
  }

  static func unreachable(_ destination: Destination, _ error: UploadError) -> Finding {
    Finding(
      .storeUnreachable, destination.name, .byHand,
      meaning: "its objects were not looked at: \(error.text)",
      remedy: "mount it or bring it back, then run \(command: "doctor") again"
        + (destination.moved.map { "; " + $0 } ?? ""))
  }

  static func missing(_ object: ExaminedObject, in destination: Destination) -> Finding {
    Finding(
      .objectMissing, object.key.rawValue, .byHand,
      meaning: "post \(object.id) is published, but its \(object.noun) is missing from \(destination)",
      remedy:
        "\(command: "doctor --fix --from FOLDER") puts it back if FOLDER has \(object.sources) (\(object.digest)); "
        + "ingesting the file again does not, because it is already published")
  }

  /// - Parameter remedy: the flags of `reel doctor` that find the fault again and replace the object.
  static func differs(_ object: ExaminedObject, _ how: ErrorMessage, remedy: String = "--fix") -> Finding {
    Finding(
      .objectDiffers, object.key.rawValue, .byHand,
      meaning: "the \(object.noun) of post \(object.id) is not what was published: \(how)",
      remedy:
        "\(command: "doctor \(remedy) --from FOLDER") replaces it if FOLDER has \(object.sources) (\(object.digest))"
    )
  }

  static func unneeded(_ object: ExaminedObject) -> Finding {
    Finding(
      .posterUnneeded, object.key.rawValue, .byFix,
      meaning: "an attempt to publish post \(object.id) stored this poster, and the post does not show it",
      remedy: "removes it")
  }

  static func unknown(_ name: String, in destination: Destination) -> Finding {
    Finding(
      .objectUnknown, name, .byHand,
      meaning: "this object in \(destination) is not in the catalog",
      remedy:
        "it may belong to another library, or be newer than a backup that was restored, so Reel never removes it; "
        + "check it, and move it away if nothing needs it"
        + (DestinationAddress(ofName: destination.name)?.commandMovingAway(name).map { ": \($0)" } ?? ""))
  }

  static func givenUp(_ object: ExaminedObject, in destination: Destination) -> Finding {
    Finding(
      .objectGivenUp, object.key.rawValue, .byHand,
      meaning: "Reel gave this name in \(destination) up, because what is stored there is not what was sent",
      remedy: "no post needs it: look at it, and remove it if nothing uses it")
  }

  /// The process that gave the name up died before it had removed the object.
  static func leftBehind(_ object: ExaminedObject, in destination: Destination) -> Finding {
    Finding(
      .objectGivenUp, object.key.rawValue, .byFix,
      meaning: "Reel gave this name in \(destination) up, and what was stored under it is still there",
      remedy: "removes it")
  }

  static func removedLeftBehind(_ object: ExaminedObject, in destination: Destination) -> Finding {
    Finding(
      .removedLeftBehind, object.key.rawValue, .byFix,
      meaning: "post \(object.id) was removed, and its \(object.noun) is in \(destination) again, or still",
      remedy: "removes it")
  }

  static func keptMissing(_ object: ExaminedObject, in destination: Destination) -> Finding {
    Finding(
      .keptMissing, object.key.rawValue, .byHand,
      meaning:
        "post \(object.id) was removed and can't be restored: its \(object.noun) is missing from \(destination)",
      remedy:
        "\(command: "restore \(object.id) --from FILE") brings it back, with the original file; otherwise there is nothing to do"
    )
  }

  package static func unfinished(_ kind: ChangeKind, of post: PostID) -> Finding {
    let work =
      switch kind {
      case .removal: "removal"
      case .purge: "clearing"
      case .restoration: "restoration"
      case .edit: "edit"
      case .move: "move"
      }
    return Finding(
      .changeUnfinished, post.description, .byFix,
      meaning: "the \(work) of this post was started, but not finished or reported",
      remedy: "resumes it; so does reel prune")
  }

  /// The object is in a store that can't be listed.
  static func givenUpUnseen(_ object: ExaminedObject, in destination: Destination) -> Finding {
    Finding(
      .objectGivenUp, object.key.rawValue, .byHand,
      meaning:
        "Reel gave this name in \(destination) up, because what was stored there was not what was sent; "
        + "whether it is still there was not looked at",
      remedy:
        "no post needs it: look with the store's own tools, and remove it if it is there and nothing uses it")
  }

  static func abandoned(_ object: ExaminedObject, _ age: Duration, isStored: Bool) -> Finding {
    Finding(
      .intentAbandoned, object.key.rawValue, .byFix,
      meaning: "a process died while publishing post \(object.id), \(span(age)) ago; "
        + stored(isStored),
      remedy: "releases it: the next run with that file continues under the same name", age: age)
  }

  static func waiting(_ object: ExaminedObject, _ age: Duration) -> Finding {
    Finding(
      .intentWaiting, object.key.rawValue, .byHand,
      meaning: "post \(object.id) was not finished, and no process has worked on it for \(span(age)); "
        + stored(true),
      remedy:
        "a run with that file continues it; if the file is gone or has changed, do nothing: reel doctor --fix "
        + "removes the object after the grace period (--grace)", age: age)
  }

  static func stale(_ object: ExaminedObject, _ age: Duration, isStored: Bool) -> Finding {
    Finding(
      .intentStale, object.key.rawValue, .byFix,
      meaning: "post \(object.id) was not finished, and no process has worked on it for \(span(age)); "
        + stored(isStored),
      remedy: (isStored ? "removes the object and gives" : "gives")
        + " the name up; a later run with that file publishes it under another", age: age)
  }

  private static func stored(_ isStored: Bool) -> ErrorMessage {
    isStored ? "its object is stored" : "its object is not stored"
  }

  private static func span(_ age: Duration) -> String {
    let seconds = Int(age.seconds)
    let (count, unit) =
      switch seconds {
      case ..<120: (seconds, "second")
      case ..<7200: (seconds / 60, "minute")
      case ..<172_800: (seconds / 3600, "hour")
      default: (seconds / 86_400, "day")
      }
    return "\(count) \(unit)\(count == 1 ? "" : "s")"
  }
}
