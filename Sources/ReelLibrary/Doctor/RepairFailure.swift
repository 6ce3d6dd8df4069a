import ReelCore

/// Something that mending came upon and could not do.
package struct RepairFailure: Hashable, Sendable {
  /// The object's name, the store or the file.
  package let subject: String
  /// For programs: that of the error.
  package let code: String
  /// Why.
  package let message: String

  /// A failure by its parts.
  package init(subject: String, code: String, message: String) {
    (self.subject, self.code, self.message) = (subject, code, message)
  }

  init(_ subject: String, _ error: UploadError) {
    self.init(subject: subject, code: error.code.rawValue, message: error.message)
  }
}
