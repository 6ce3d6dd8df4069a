import FoundationEssentials

/// What a removal has left of an object. Whoever looks for the object no longer finds it.
public struct ObjectRemoval: Hashable, Sendable, Codable {
  /// Which store keeps what of it, and what to do about it, for people; nil when nothing is left that the store tells of.
  public let remains: String?
  /// What the store keeps of it under its name, the newest first; empty where it names no versions.
  public let versions: [KeptVersion]
  /// What hides the versions: once it is removed from the store, the newest is the object again. Nil where nothing does.
  public let deleteMarker: String?

  /// Nothing is left.
  public static let gone = ObjectRemoval()

  private init() { (remains, versions, deleteMarker) = (nil, [], nil) }

  /// A removal that has left what `remains` says: one sentence, with the store and the versions in it.
  public init(remains: String, versions: [KeptVersion] = [], deleteMarker: String? = nil) {
    (self.remains, self.versions, self.deleteMarker) = (remains, versions, deleteMarker)
  }

  /// Whether nothing is left.
  public var isGone: Bool { remains == nil }
}

/// A version of an object that a store keeps although the object was removed.
public struct KeptVersion: Hashable, Sendable, Codable {
  /// The store's name for it.
  public let id: String
  /// Until when the store itself keeps it; nil when it doesn't say. Some may remove it before, with a right of their own.
  public let keptUntil: Date?
  /// Whether somebody has put a hold on it: then it stays until that is taken away.
  public let isHeld: Bool

  /// A version as the store tells of it.
  public init(id: String, keptUntil: Date? = nil, isHeld: Bool = false) {
    (self.id, self.keptUntil, self.isHeld) = (id, keptUntil, isHeld)
  }
}
