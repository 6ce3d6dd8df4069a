import ReelCore

/// The library names settings in backquotes, as docs/settings.md does; the command line puts its flags in their place.
enum FlagNames {
  private static let flags: [Substring: String] = [
    "adapterDeadline": "--adapter-deadline", "caFile": "--ca-file", "credentials": "--credentials",
    "duplicates": "--duplicates", "followLinks": "--follow-links", "insecureHTTP": "--insecure-http",
    "isolation": "--isolation", "jobs": "--jobs", "library": "--library", "maxSize": "--max-size",
    "noPathStyle": "--no-path-style", "project": "--project", "publicBaseURL": "--public-base-url",
    "region": "--region", "serviceAccount": "--service-account", "to": "--to", "uploads": "--uploads",
    "worker": "--worker",
  ]

  /// The message with `--jobs` where it says `jobs` in backquotes.
  static func put(into message: String) -> String {
    let parts = message.split(separator: "`", omittingEmptySubsequences: false)
    var text = ""
    for (index, part) in parts.enumerated() {
      // Every other part is quoted, but for one that nothing closes.
      let isQuoted = index % 2 == 1 && index + 1 < parts.count
      if isQuoted {
        text += flags[part] ?? "`\(part)`"
      } else {
        text += (index % 2 == 1 ? "`" : "") + part
      }
    }
    return text
  }
}

extension ReelError {
  /// The message as the command line tells it.
  var told: String { FlagNames.put(into: message) }
}
