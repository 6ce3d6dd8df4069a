@_spi(_Unicode) import Swift

// The standard library implements the normal forms without a public name for them. All of Foundation would bring in
// ICU's tables.

extension String {
  /// The text in normal form C (Unicode, UAX #15): equal to it in Swift, and the same bytes however the text was
  /// composed.
  package var composed: String { utf8.allSatisfy { $0 < 0x80 } ? self : String(scalars: Array(_nfc)) }

  /// The text as it is, and its normal forms C and D if their bytes differ. Swift considers all of them equal; a
  /// database considers them different texts.
  package var canonicalForms: [String] {
    if utf8.allSatisfy({ $0 < 0x80 }) { return [self] }
    return [String(scalars: Array(_nfc)), String(scalars: Array(_nfd))].reduce(into: [self]) { forms, form in
      if !forms.contains(where: { $0.utf8.elementsEqual(form.utf8) }) { forms.append(form) }
    }
  }

  /// The text in normal form D: composed characters are split into their parts.
  package var decomposed: String { utf8.allSatisfy { $0 < 0x80 } ? self : String(scalars: Array(_nfd)) }

  private init(scalars: [Unicode.Scalar]) {
    self.init()
    unicodeScalars.append(contentsOf: scalars)
  }
}
