import FoundationEssentials

/// What is left of an object after its removal. In any case the object can no longer be found.
public struct ObjectRemoval: Hashable, Sendable, Codable {
  /// What the store keeps of it, and what to do about that, for people; nil if the store mentions nothing.
  public let remains: String?
  /// The versions that the store keeps under its name, newest first; empty if it names none.
  public let versions: [KeptVersion]
  /// The delete marker that hides the versions: removing it from the store makes the newest version the object
  /// again. Nil if there is none.
  public let deleteMarker: String?

  /// Nothing is left.
  public static let gone = ObjectRemoval()

  private init() { (remains, versions, deleteMarker) = (nil, [], nil) }

  /// Creates a removal that left what `remains` says: one sentence that names the store and the versions.
  public init(remains: String, versions: [KeptVersion] = [], deleteMarker: String? = nil) {
    (self.remains, self.versions, self.deleteMarker) = (remains, versions, deleteMarker)
  }

  /// Whether nothing is left.
  public var isGone: Bool { remains == nil }
}

/// A version of an object that a store keeps although the object was removed.
public struct KeptVersion: Hashable, Sendable, Codable {
  /// The store's id for the version.
  public let id: String
  /// When the store's own retention of it ends; nil if the store does not say. Users with a special permission may
  /// be able to remove it earlier.
  public let keptUntil: Date?
  /// Whether somebody has put a hold on it: it then stays until the hold is removed.
  public let isHeld: Bool

  /// Creates a version as the store describes it.
  public init(id: String, keptUntil: Date? = nil, isHeld: Bool = false) {
    (self.id, self.keptUntil, self.isHeld) = (id, keptUntil, isHeld)
  }
}
