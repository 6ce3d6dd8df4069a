import CCommit

/// This build's version. The tool and its worker must agree on it.
public enum ReelVersion {
  /// The release number as in semver.org, without a leading `v`; between releases, that of the next one with
  /// `-dev`.
  public static let number = "0.3.0-dev"

  /// The commit that was checked out at build time; nil if unknown.
  public static let commit: String? = {
    let digits = String(cString: reel_commit())
    return digits.isEmpty ? nil : digits
  }()

  /// ``number``; between releases followed by the beginning of ``commit``, such as `0.3.0-dev+5aefb46f2c1d`.
  public static let current = name(number, commit)

  static func name(_ number: String, _ commit: String?) -> String {
    guard number.hasSuffix("-dev"), let commit else { return number }
    return "\(number)+\(commit.prefix(12))"
  }
}

#if !os(Linux)
  #error("Reel runs on Linux: it confines its probe with Landlock and seccomp, which exist nowhere else.")
#endif
