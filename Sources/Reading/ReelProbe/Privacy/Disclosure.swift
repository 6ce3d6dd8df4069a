/// What a place in a file gives away. The list of places (``MoviePlaces``, ``MetadataKey``, ``PictureMetadata`` and
/// ``OtherPlaces``) states it once, for the fact, for the rule that judges the fact, and for the mender that removes
/// it.
package enum Disclosure: Hashable, Sendable {
  /// Nothing: players need it, or it is meant for viewers.
  case nothing
  /// Where the recording was made.
  case location
  /// Something that is not known to be harmless, such as a maker, a serial number or an identifier, but not a location.
  case identity
  /// Unknown: it may be a location or an identity.
  case unreadable
  /// It has no meaning, and holds what some program left there.
  case leftover
  /// A picture, whose own metadata may give away a location or an identity.
  case picture
  /// Content Credentials.
  case credentials
  /// Whatever the boxes in it give away.
  case parts
}

/// Which disclosures are removed.
package enum Stripping: Hashable, Sendable {
  /// Whatever names the location of the recording, or may do so.
  case location
  /// Everything that is not known to be meant for viewers or players.
  case everything

  /// Returns whether something with this disclosure is removed.
  package func takes(_ disclosure: Disclosure) -> Bool {
    switch disclosure {
    case .location, .unreadable, .leftover: true
    case .identity: self == .everything
    case .nothing, .picture, .credentials, .parts: false
    }
  }
}
