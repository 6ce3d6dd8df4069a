import CReel

/// What to do with symbolic links on the way to a file.
enum LinkRule: Sendable {
  /// None in any component; the last one is opened as the link that it is.
  case refuse
  /// Follow them, wherever they lead.
  case follow
  /// Follow them as long as they stay beneath the directory that the path begins in.
  case followBeneath

  /// Flags of `openat2`.
  var resolve: UInt64 {
    switch self {
    case .refuse: reel_resolve_no_symlinks | reel_resolve_no_magiclinks
    case .follow: 0
    case .followBeneath: reel_resolve_beneath | reel_resolve_no_magiclinks
    }
  }
}
