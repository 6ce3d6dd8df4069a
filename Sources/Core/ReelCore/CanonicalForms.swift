@_spi(_Unicode) import Swift

// The standard library has the normal forms, without a public name for them; all of Foundation would bring ICU's tables.

extension String {
  /// The text in normal form C (Unicode, UAX #15): equal to it in Swift, and the same bytes however it was put together.
  package var composed: String { utf8.allSatisfy { $0 < 0x80 } ? self : String(scalars: Array(_nfc)) }

  /// The text as it is, and its normal forms C and D as far as those have other bytes. To Swift all of them are equal;
  /// to a database they are different texts.
  package var canonicalForms: [String] {
    if utf8.allSatisfy({ $0 < 0x80 }) { return [self] }
    return [String(scalars: Array(_nfc)), String(scalars: Array(_nfd))].reduce(into: [self]) { forms, form in
      if !forms.contains(where: { $0.utf8.elementsEqual(form.utf8) }) { forms.append(form) }
    }
  }

  /// The text in normal form D: characters that are put together of several stand apart.
  package var decomposed: String { utf8.allSatisfy { $0 < 0x80 } ? self : String(scalars: Array(_nfd)) }

  private init(scalars: [Unicode.Scalar]) {
    self.init()
    unicodeScalars.append(contentsOf: scalars)
  }
}
