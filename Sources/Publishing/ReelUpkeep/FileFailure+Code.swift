import ReelCore
import ReelIngest

extension FileFailure {
  /// Creates a failure from an error of a layer, with that layer's own code, for work that makes no post of the file.
  package init(_ error: some ReelError, as code: some RawRepresentable<String>) {
    self.init(code: Code(rawValue: code.rawValue), message: error.text, cause: error)
  }
}
