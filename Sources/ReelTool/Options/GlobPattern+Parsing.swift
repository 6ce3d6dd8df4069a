import ReelCore

extension GlobPattern {
  /// - Throws: ``CommandFailure`` when one is not a pattern.
  static func parsed(_ patterns: [String]) throws -> [GlobPattern] {
    try patterns.map { pattern in
      let bytes = RawArguments.bytes(of: pattern)
      guard let glob = GlobPattern(bytes) else {
        throw CommandFailure(
          .usage,
          "\"\(SourcePath(bytes: bytes))\" is not a valid pattern: * ? [a-z] and ** have a meaning, and \\ before one "
            + "of these characters takes it away")
      }
      return glob
    }
  }
}
