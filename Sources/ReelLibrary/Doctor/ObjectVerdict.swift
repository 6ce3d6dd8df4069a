import ReelCore

/// How a post's object stands in its store.
package enum ObjectVerdict: Hashable, Sendable {
  /// There, as long as it should be, and, where that was found out, with the right digest; and shown by its record,
  /// in a store that keeps posts.
  case sound(digestCompared: Bool, recordCompared: Bool = false)
  /// The store says that there is none.
  case missing
  /// Bytes that the store holds instead.
  case otherLength(Int64)
  /// Its bytes are not those that were published.
  case otherBytes(ContentDigest)
  /// It is sound, but the store's database has no record of the post: viewers do not see it.
  case unrecorded
  /// It is sound, but what the store's database has under the post's id shows another object, or none (nil).
  case recordShows(ObjectKey?)
  /// The store did not tell; whether it is damaged is not known.
  case unknown(UploadError)

  /// For programs: `missing`, `truncated`, `longer`, `differs`, `unrecorded`, `misrecorded`, `unreadable`; nil when nothing is wrong.
  package func code(expecting size: Int64) -> String? {
    switch self {
    case .sound: nil
    case .missing: "missing"
    case .otherLength(let found): found < size ? "truncated" : "longer"
    case .otherBytes: "differs"
    case .unrecorded: "unrecorded"
    case .recordShows: "misrecorded"
    case .unknown: "unreadable"
    }
  }
}

extension Destination {
  /// What to do when a folder is not where it was; nil for another store.
  package var moved: String? {
    name.hasPrefix("file:") ? "if it was moved, say so: reel relocate \(name) NEW" : nil
  }
}

/// A post whose object was looked at.
package struct VerifiedObject: Hashable, Sendable {
  /// What the catalog says of it.
  package let object: ExaminedObject
  /// Where it is stored.
  package let destination: Destination
  /// How it stands.
  package let verdict: ObjectVerdict

  /// A verdict on an object.
  package init(_ object: ExaminedObject, in destination: Destination, verdict: ObjectVerdict) {
    self.object = object
    self.destination = destination
    self.verdict = verdict
  }
}

/// What a verification says, as it goes.
package enum VerificationEvent: Hashable, Sendable {
  /// An object was looked at.
  case verified(VerifiedObject)
  /// A store could not be looked at, or no longer: its other posts were not looked at.
  case unreachable(Destination, UploadError)
  /// A store that needs a secret, and none was given for it: nothing was asked of it.
  case notLookedAt(Destination)
}

/// How many objects stand how.
package struct VerificationCount: Hashable, Sendable {
  /// Nothing is wrong with them, as far as was looked.
  package var sound = 0
  /// Of these, those whose digest was compared.
  package var digestsCompared = 0
  /// Of these, those whose record in the store's database was compared.
  package var recordsCompared = 0
  /// Missing, of another length, other bytes, or not recorded.
  package var damaged = 0
  /// The store did not tell.
  package var unknown = 0
  /// Stores that could not be looked at.
  package var unreachable = 0
  /// Stores that were not looked at, for want of a secret that was given for them.
  package var notLookedAt = 0

  /// Nothing yet.
  package init() {}

  /// Objects that were looked at.
  package var objects: Int { sound + damaged + unknown }

  /// Counts what has happened.
  package mutating func add(_ event: VerificationEvent) {
    switch event {
    case .unreachable: unreachable += 1
    case .notLookedAt: notLookedAt += 1
    case .verified(let verified):
      switch verified.verdict {
      case .sound(let digest, let record):
        sound += 1
        digestsCompared += digest ? 1 : 0
        recordsCompared += record ? 1 : 0
      case .missing, .otherLength, .otherBytes, .unrecorded, .recordShows: damaged += 1
      case .unknown: unknown += 1
      }
    }
  }
}
