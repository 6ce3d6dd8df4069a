import Glibc
import ReelTerminal
import Testing

/// The size of a real (pseudo-)terminal.
@Suite(.enabled(if: access("/dev/ptmx", R_OK | W_OK) == 0, "no pseudo-terminals here"))
struct TerminalSizeTests {
  /// From asm-generic/ioctls.h; swiftc does not import them.
  private static let (unlock, openPeer) = (UInt(0x4004_5431), UInt(0x5441))

  @Test func theSizeOfATerminalIsAskedAnewEachTime() throws {
    let primary = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(primary >= 0)
    defer { close(primary) }
    var locked: CInt = 0
    try #require(ioctl(primary, Self.unlock, &locked) == 0)
    let terminal = ioctl(primary, Self.openPeer, O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(terminal >= 0)
    defer { close(terminal) }

    let environment = ["TERM": "xterm", "LANG": "C.UTF-8", "COLUMNS": "7"]
    for (columns, rows) in [(101, 33), (40, 10)] as [(UInt16, UInt16)] {
      var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      try #require(ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0)
      #expect(
        TerminalTraits.of(descriptor: terminal, environment: environment)
          == TerminalTraits(
            isTerminal: true, columns: Int(columns), rows: Int(rows), colour: true, unicode: true,
            canRedraw: true))
    }
  }
}
