/// What a place in a file gives away. The list of places (``MoviePlaces``, ``MetadataKey``, ``PictureMetadata`` and
/// ``OtherPlaces``) says it once, for the fact, for the rule that judges the fact, and for whoever takes it out.
package enum Disclosure: Hashable, Sendable {
  /// Nothing: players need it, or it is meant for whoever watches.
  case nothing
  /// Where the recording was made.
  case location
  /// Something that is not known to be harmless, such as a maker, a serial number or an identifier; no place.
  case identity
  /// Nobody can tell: it may be either.
  case unreadable
  /// It stands for nothing, and holds what some program left there.
  case leftover
  /// A picture, whose own metadata may tell either.
  case picture
  /// Content Credentials.
  case credentials
  /// As much as the boxes in it.
  case parts
}

/// Which disclosures are taken out.
package enum Stripping: Hashable, Sendable {
  /// What names the place of the recording, or may do so.
  case location
  /// All that is not known to be meant for whoever plays it.
  case everything

  /// Whether what discloses this goes.
  package func takes(_ disclosure: Disclosure) -> Bool {
    switch disclosure {
    case .location, .unreadable, .leftover: true
    case .identity: self == .everything
    case .nothing, .picture, .credentials, .parts: false
    }
  }
}
