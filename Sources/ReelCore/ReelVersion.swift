/// This build's version. The tool and its worker must agree on it.
public enum ReelVersion {
  /// As semver.org writes it, without a `v` before it.
  public static let current = "0.2.0"
}

#if !os(Linux)
  #error("Reel runs on Linux: it confines its probe with Landlock and seccomp, which exist nowhere else.")
#endif
