import ReelModel

/// How a post's object stands in its store.
public enum ObjectVerdict: Hashable, Sendable {
  /// There, as long as it should be, and, where that was found out, with the right digest.
  case sound(digestCompared: Bool)
  /// The store says that there is none.
  case missing
  /// Bytes that the store holds instead.
  case otherLength(Int64)
  /// Its bytes are not those that were published.
  case otherBytes(ContentDigest)
  /// The store did not tell; whether it is damaged is not known.
  case unknown(UploadError)

  /// For programs: `missing`, `truncated`, `longer`, `differs`, `unreadable`; nil when nothing is wrong.
  public func code(expecting size: Int64) -> String? {
    switch self {
    case .sound: nil
    case .missing: "missing"
    case .otherLength(let found): found < size ? "truncated" : "longer"
    case .otherBytes: "differs"
    case .unknown: "unreadable"
    }
  }
}

/// A post whose object was looked at.
public struct VerifiedObject: Hashable, Sendable {
  /// What the catalog says of it.
  public let object: ExaminedObject
  /// Where it is stored.
  public let destination: Destination
  /// How it stands.
  public let verdict: ObjectVerdict

  /// A verdict on an object.
  public init(_ object: ExaminedObject, in destination: Destination, verdict: ObjectVerdict) {
    self.object = object
    self.destination = destination
    self.verdict = verdict
  }
}

/// What a verification says, as it goes.
public enum VerificationEvent: Hashable, Sendable {
  /// An object was looked at.
  case verified(VerifiedObject)
  /// A store could not be looked at, or no longer: its other posts were not looked at.
  case unreachable(Destination, UploadError)
}

/// How many objects stand how.
public struct VerificationCount: Hashable, Sendable {
  /// Nothing is wrong with them, as far as was looked.
  public var sound = 0
  /// Of these, those whose digest was compared.
  public var digestsCompared = 0
  /// Missing, of another length, or other bytes.
  public var damaged = 0
  /// The store did not tell.
  public var unknown = 0
  /// Stores that could not be looked at.
  public var unreachable = 0

  /// Nothing yet.
  public init() {}

  /// Objects that were looked at.
  public var objects: Int { sound + damaged + unknown }

  /// Counts what has happened.
  public mutating func add(_ event: VerificationEvent) {
    switch event {
    case .unreachable: unreachable += 1
    case .verified(let verified):
      switch verified.verdict {
      case .sound(let compared):
        sound += 1
        digestsCompared += compared ? 1 : 0
      case .missing, .otherLength, .otherBytes: damaged += 1
      case .unknown: unknown += 1
      }
    }
  }
}
