import ReelModel

extension GlobPattern {
  /// - Throws: ``CommandFailure`` when one is no pattern.
  static func parsed(_ patterns: [String]) throws -> [GlobPattern] {
    try patterns.map { pattern in
      guard let glob = GlobPattern(pattern) else {
        throw CommandFailure(
          .usage, "\"\(pattern)\" is no pattern: * ? [a-z] and ** have a meaning")
      }
      return glob
    }
  }
}
