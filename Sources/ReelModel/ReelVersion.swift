/// This build's version. The tool and its worker must agree on it.
public enum ReelVersion {
  public static let current = "0.1.0"
}
