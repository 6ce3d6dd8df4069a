/// Makes text from files (names, tags, messages that quote them) safe to display.
///
/// Anything that could move a cursor, change a color, hide or reorder text, forge a line or give a command to a CI
/// runner is shown as a visible escape: `\n`, `\x1b`, `\u{202e}`. Everything else stays as it is.
package enum SanitizedText {
  /// Sanitizes text for a terminal, a plain log or a CI runner's log, as part of one line.
  ///
  /// - Parameter asciiOnly: Whether to escape everything beyond ASCII, too, for a terminal that is not UTF-8.
  package static func line(_ text: String, asciiOnly: Bool = false) -> String {
    withoutRunnerCommands(terminal(text, asciiOnly: asciiOnly))
  }

  /// Sanitizes text for a terminal whose output no CI runner reads, as part of one line.
  package static func terminal(_ text: String, asciiOnly: Bool = false) -> String {
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
    let scalars = Array(text.unicodeScalars)
    var result = ""
    var kept = KeptScalars()
    for (index, scalar) in scalars.enumerated() {
      let next = index + 1 < scalars.count ? scalars[index + 1] : nil
      if scalar.isASCII || !asciiOnly, kept.admits(scalar, before: next) {
        result.unicodeScalars.append(scalar)
        kept.note(scalar)
      } else {
        result += escape(scalar)
        kept = KeptScalars()
      }
    }
    return result
  }

  /// A visible escape for `scalar`.
  package static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\n": return #"\n"#
    case "\r": return #"\r"#
    case "\t": return #"\t"#
    default:
      return scalar.isASCII
        ? "\\x" + UInt8(scalar.value).hex : "\\u{\(String(scalar.value, radix: 16))}"
    }
  }

  /// Runners act on `##[command]` (GitHub) and `##vso[command]` (Azure) anywhere in a line, so every `#` after a
  /// `#` is escaped. They act on `::command` only at the beginning of a line, even after white space, so the second
  /// `:` is escaped there. Elsewhere it stays, as in the address `http://[::1]:9000`.
  package static func withoutRunnerCommands(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: ":") }) else {
      return text
    }
    var result = ""
    var previous: Unicode.Scalar?
    var isAtBeginning = true
    for scalar in text.unicodeScalars {
      if scalar == previous, scalar == "#" || scalar == ":" && isAtBeginning {
        result += escape(scalar)
      } else {
        result.unicodeScalars.append(scalar)
      }
      if !scalar.properties.isWhitespace, scalar != ":" || previous == ":" { isAtBeginning = false }
      previous = scalar
    }
    return result
  }
}

/// Makes JSON safe for terminals and CI logs without changing its meaning. What a runner or terminal would act on
/// is written as `\uXXXX`, which every JSON reader decodes to the same text.
package enum SanitizedJSON {
  /// - Parameter json: Well-formed JSON in UTF-8, with the controls below U+0020 escaped as RFC 8259 demands.
  package static func escaping(_ json: [UInt8]) -> [UInt8] {
    needsEscapes(json) ? withEscapes(json) : json
  }

  /// In ASCII, only DEL and the pair `##` are dangerous, and JSON contains such a pair only in its strings. No line
  /// of JSON begins with the text of a string, so `::` is harmless.
  private static func needsEscapes(_ json: [UInt8]) -> Bool {
    var previous: UInt8 = 0
    for byte in json {
      if byte >= 0x7F || byte == previous && byte == UInt8(ascii: "#") { return true }
      previous = byte
    }
    return false
  }

  private static func withEscapes(_ json: [UInt8]) -> [UInt8] {
    let scalars = Array(String(decoding: json, as: UTF8.self).unicodeScalars)
    var result: [UInt8] = []
    result.reserveCapacity(json.count + 64)
    for (index, scalar) in scalars.enumerated() {
      if isLive(scalar) || isInPair(index, of: scalars) {
        appendEscape(scalar, to: &result)
      } else {
        result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
    return result
  }

  private static func isInPair(_ index: Int, of scalars: [Unicode.Scalar]) -> Bool {
    let scalar = scalars[index]
    guard scalar == "#" else { return false }
    return index > 0 && scalars[index - 1] == scalar
      || index + 1 < scalars.count && scalars[index + 1] == scalar
  }

  private static func isLive(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII ? scalar.value == 0x7F : scalar.isInvisible
  }

  /// RFC 8259, section 7: one escape, or two for a surrogate pair.
  private static func appendEscape(_ scalar: Unicode.Scalar, to result: inout [UInt8]) {
    for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
      let digits = String(unit, radix: 16)
      result.append(contentsOf: #"\u"#.utf8)
      result.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
      result.append(contentsOf: digits.utf8)
    }
  }
}

/// Decides for each scalar of a text whether to show it as it is, depending on what was kept just before.
struct KeptScalars {
  private var previous: Unicode.Scalar?
  /// The number of consecutive combining marks kept.
  private var marks = 0

  /// Letters of living languages carry up to four marks; more of them only overlap other lines (UTS #39, section
  /// 5.4: no more than four nonspacing marks).
  private static let mostMarks = 4

  mutating func note(_ scalar: Unicode.Scalar) {
    marks = scalar.isCombining ? marks + 1 : 0
    previous = scalar
  }

  /// Whether `scalar` may be shown as it is between what was kept before and `next`.
  func admits(_ scalar: Unicode.Scalar, before next: Unicode.Scalar?) -> Bool {
    if scalar.isASCII { return (0x20...0x7E).contains(scalar.value) }
    if scalar == .zeroWidthJoiner { return joins(next) }
    if scalar == .zeroWidthNonJoiner { return isBetweenJoiningLetters(next) }
    if scalar.properties.isVariationSelector { return selectsVariation(scalar) }
    if scalar.isInvisible { return false }
    // At the beginning, a mark would combine with our own text.
    if scalar.isCombining { return previous != nil && marks < Self.mostMarks }
    return true
  }

  /// Whether a joiner belongs here: in emoji sequences, and in scripts whose spelling needs it.
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
  package static let emojiPresentation: Unicode.Scalar = "\u{FE0F}"

  /// Controls, direction marks, separators and fillers: invisible characters that have an effect. Unassigned
  /// characters are included because their width is unknown.
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
