/// What the first bytes of a file say.
package enum SniffVerdict: Hashable, Sendable {
  /// They are the beginning of this container. Whether the rest keeps the promise is for a demuxer to say.
  case container(MediaContainer)
  /// They are something that Reel does not take in; the error says what, and what to do.
  case refused(ProbeError)
  /// Neither: no beginning that is known here.
  case unrecognised
}
