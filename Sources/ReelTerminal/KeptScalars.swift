/// Decides scalar by scalar what of a text may be shown as it is, by what was kept just before.
struct KeptScalars {
  /// The scalar before, when it was kept.
  private var previous: Unicode.Scalar?
  /// Combining marks kept in a row.
  private var marks = 0

  /// Letters of living languages carry up to four; more of them only climb into other lines
  /// (UTS #39, section 5.4: no more than four nonspacing marks).
  private static let mostMarks = 4

  mutating func note(_ scalar: Unicode.Scalar) {
    marks = scalar.isCombining ? marks + 1 : 0
    previous = scalar
  }

  /// Whether `scalar` may be shown as it is between what was kept and `next`.
  func admits(_ scalar: Unicode.Scalar, before next: Unicode.Scalar?) -> Bool {
    if scalar.isASCII { return (0x20...0x7E).contains(scalar.value) }
    if scalar == .zeroWidthJoiner { return joins(next) }
    if scalar == .zeroWidthNonJoiner { return isBetweenJoiningLetters(next) }
    if scalar.properties.isVariationSelector { return selectsVariation(scalar) }
    if scalar.isInvisible { return false }
    // At the beginning a mark would sit on our own text.
    if scalar.isCombining { return previous != nil && marks < Self.mostMarks }
    return true
  }

  /// Emoji sequences, and scripts whose spelling needs it.
  private func joins(_ next: Unicode.Scalar?) -> Bool {
    guard let previous, let next else { return false }
    let followsEmoji = previous.isPictograph || previous == .emojiPresentation
    return followsEmoji && next.isPictograph || isBetweenJoiningLetters(next)
  }

  private func isBetweenJoiningLetters(_ next: Unicode.Scalar?) -> Bool {
    guard let previous, let next else { return false }
    return previous.isOfJoiningScript && next.isOfJoiningScript && !next.isInvisible
  }

  private func selectsVariation(_ selector: Unicode.Scalar) -> Bool {
    guard let previous, !previous.properties.isVariationSelector else { return false }
    if selector == .emojiPresentation || selector == .textPresentation { return previous.properties.isEmoji }
    return previous.properties.isIdeographic || previous.isOfJoiningScript
  }
}

extension Unicode.Scalar {
  static let zeroWidthNonJoiner: Unicode.Scalar = "\u{200C}"
  static let zeroWidthJoiner: Unicode.Scalar = "\u{200D}"
  static let textPresentation: Unicode.Scalar = "\u{FE0E}"
  static let emojiPresentation: Unicode.Scalar = "\u{FE0F}"

  /// Controls, directions, separators, fillers: nothing to see, but something to do. Unassigned characters count
  /// too: nobody knows how wide they are.
  var isInvisible: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: true
    default: properties.isDefaultIgnorableCodePoint
    }
  }

  /// A mark that is drawn onto the character before it.
  var isCombining: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .spacingMark: true
    default: false
    }
  }

  /// An emoji that is not a digit or another ASCII character.
  var isPictograph: Bool { !isASCII && properties.isEmoji }

  /// Arabic to Tibetan, Myanmar, Khmer, Mongolian: blocks of scripts whose words use joiners.
  var isOfJoiningScript: Bool {
    switch value {
    case 0x0600...0x0FFF, 0x1000...0x109F, 0x1780...0x18AF: true
    default: false
    }
  }
}
