import ArgumentParser
import ReelValidation

/// How large a file may be, as people write it: `20GB`, `512MiB`, `4000`, or `none` for any size.
struct SizeLimit: ExpressibleByArgument, Hashable, Sendable {
  /// At least 1; nil for any size.
  let bytes: Int64?

  init?(argument: String) {
    if argument == "none" {
      bytes = nil
      return
    }
    guard let bytes = Quantity.bytes(argument), bytes > 0 else { return nil }
    self.bytes = bytes
  }
}
