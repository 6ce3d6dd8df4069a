/// Playlists and manifests: text that names other files or addresses for a demuxer to open.
///
/// FFmpeg looks for some of these at the very beginning, for others anywhere before the first NUL; a byte
/// order mark and white space before them are skipped here, because other players skip them.
enum Manifest {
  static func verdict(_ head: FilePrefix) -> SniffVerdict? {
    let text = LowerCaseText(head)
    return kinds.first { $0.matches(text) }.map { Refusal.playlist($0.found).verdict }
  }

  private static let kinds: [TextKind] = [
    TextKind(.begins("#extm3u"), .contains("#ext-x-"), "an HLS playlist"),
    TextKind(.begins("#extm3u"), "an M3U playlist"),
    TextKind(.begins("#extinf:"), "an M3U playlist"),
    TextKind(.begins("#ext-x-"), "an HLS playlist"),
    TextKind(.begins("ffconcat version"), "an ffconcat list"),
    TextKind(.contains("<mpd"), .contains("dash:profile"), "a DASH manifest"),
    TextKind(.isMarkup, .contains("<mpd"), "a DASH manifest"),
    TextKind(.contains("<compositionplaylist"), "an IMF playlist"),
    TextKind(.isMarkup, .contains("<smoothstreamingmedia"), "a Smooth Streaming manifest"),
    TextKind(.isMarkup, .contains("<asx"), "an ASX playlist"),
    TextKind(.isMarkup, .contains("<smil"), "a SMIL playlist"),
    TextKind(.begins("<?wpl"), "a Windows Media playlist"),
    TextKind(.isMarkup, .contains("<playlist"), .contains("xspf"), "an XSPF playlist"),
    TextKind(.begins("[playlist]"), "a PLS playlist"),
    TextKind(.begins("[reference]"), "an ASF playlist"),
    TextKind(.begins("asf "), .contains("://"), "an ASF playlist"),
    TextKind(.begins("rtsptext"), "a QuickTime playlist"),
    TextKind(.begins("smiltext"), "a QuickTime playlist"),
    TextKind(.begins("v=0"), .hasLine("o="), "an SDP description"),
    TextKind(.hasLine("c=in ip"), "an SDP description"),
    TextKind(.begins("# mpv edl"), "an EDL playlist"),
    TextKind(.begins("http://"), "a list of addresses"),
    TextKind(.begins("https://"), "a list of addresses"),
    TextKind(.begins("rtsp://"), "a list of addresses"),
    TextKind(.begins("rtmp://"), "a list of addresses"),
    TextKind(.begins("mms://"), "a list of addresses"),
  ]
}
