import ReelCore
import ReelIngest

extension FileFailure {
  /// An error of a layer under the layer's own code, where no post is made of the file.
  package init(_ error: some ReelError, as code: some RawRepresentable<String>) {
    self.init(code: Code(rawValue: code.rawValue), message: error.text, cause: error)
  }
}
