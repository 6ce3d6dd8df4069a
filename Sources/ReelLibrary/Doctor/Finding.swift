import ReelCore

/// Something that is not as it should be in a library or its stores.
package struct Finding: Hashable, Sendable {
  /// What it is, for programs.
  package enum Kind: String, Codable, Sendable, CaseIterable {
    /// The database contradicts itself, or can't be read.
    case catalogDamaged = "catalog.damaged"
    /// A process died and has not been struck out yet.
    case ownerDead = "owner.dead"
    /// A process is there, and has let its lease run out.
    case leaseExpired = "lease.expired"
    /// A temporary file of a dead process.
    case temporaryLeftOver = "temporary.left-over"
    /// A store that rows name can't be looked at.
    case storeUnreachable = "store.unreachable"
    /// A post whose object is gone.
    case objectMissing = "object.missing"
    /// A post whose object is not what was published.
    case objectDiffers = "object.differs"
    /// An object that no row names.
    case objectUnknown = "object.unknown"
    /// An object under a key that was given up.
    case objectGivenUp = "object.given-up"
    /// A dead process's intent to publish.
    case intentAbandoned = "intent.abandoned"
    /// An intent that nobody is at, with its object stored, within the grace period.
    case intentWaiting = "intent.waiting"
    /// An intent that nobody has gone on with for longer than the grace period.
    case intentStale = "intent.stale"
  }

  /// What becomes of it.
  package enum Repair: String, Codable, Sendable {
    /// `--fix` mends it.
    case byFix
    /// Only a person can decide.
    case byHand
  }

  /// What it is.
  package let kind: Kind
  /// What it is about: a path, an object's key, a lock's name.
  package let subject: String
  /// What is wrong, and what that means; a sentence.
  package let meaning: String
  /// What `--fix` does about it, or what a person does; a sentence.
  package let remedy: String
  /// Who mends it.
  package let mending: Repair
  /// Of an intent: for how long nobody has gone on with it. Nil for anything else.
  package let age: Duration?

  init(
    _ kind: Kind, _ subject: String, _ mending: Repair, meaning: String, remedy: String, age: Duration? = nil
  ) {
    self.kind = kind
    self.subject = subject
    self.mending = mending
    self.age = age
    self.meaning = meaning
    self.remedy = remedy
  }

  /// Two findings of one kind about one thing are the same, however they are told.
  var identity: String { kind.rawValue + " " + subject }
}

/// What an examination found, and what of it was mended.
package struct Diagnosis: Sendable {
  /// Gone since the first look.
  package let mended: [Finding]
  /// Still there.
  package let left: [Finding]
  /// Why what is left could not be mended, as far as mending was tried.
  package let failures: [RepairFailure]
  /// Objects that rows name and that were looked at.
  package let objects: Int
  /// Whether the stored bytes were read.
  package let wasRead: Bool

  /// A diagnosis by its parts.
  package init(
    mended: [Finding], left: [Finding], failures: [RepairFailure] = [], objects: Int, wasRead: Bool
  ) {
    self.mended = mended
    self.left = left
    self.failures = failures
    self.objects = objects
    self.wasRead = wasRead
  }
}
