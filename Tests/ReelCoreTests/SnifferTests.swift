import ReelCore
import Testing

@Suite("what the first bytes reveal")
struct SnifferTests {
  @Test("containers are recognized by their magic numbers", arguments: KnownHead.containers)
  func containers(_ known: KnownHead) {
    #expect(known.verdict == .container(known.container ?? .mp4), "\(known)")
  }

  @Test("everything else is refused with its name and code", arguments: KnownHead.refusals)
  func refusals(_ known: KnownHead) {
    guard case .refused(let error) = known.verdict else {
      Issue.record("\(known): \(known.verdict)")
      return
    }
    #expect(error.code == known.code, "\(known)")
    #expect(error.found == known.found)
    #expect(error.message.hasPrefix("it is \(known.found ?? "")"))
  }

  @Test(
    "a text is recognized after a byte order mark or white space, and in other letter case",
    arguments: KnownHead.playlists)
  func playlistsBehindSpace(_ known: KnownHead) {
    for prefix in ["\u{FEFF}", "\n\n  ", "\u{FEFF}\r\n\t"] {
      #expect(
        KnownHead(known.description, Array(prefix.utf8) + known.bytes).verdict == known.verdict, "\(known)")
    }
    let upper = known.bytes.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
    #expect(KnownHead(known.description, upper).verdict == known.verdict)
  }

  @Test("an empty file is refused")
  func empty() {
    guard case .refused(let error) = Sniffer.verdict(head: [], size: 0) else {
      Issue.record("an empty file is refused")
      return
    }
    #expect(error.code == .empty)
    #expect(Sniffer.verdict(head: [], size: 5) == .unrecognised)
  }

  @Test("unknown bytes are refused")
  func unrecognised() {
    let noise: [UInt8] = [0x93, 0x01, 0x1C, 0xE4, 0x00, 0x7A, 0xC3, 0x10, 0x02, 0xD9, 0x8B, 0x55]
    #expect(Sniffer.verdict(head: noise, size: 12) == .unrecognised)
  }

  /// Tables and uniform pixels after any header: what repeats every four bytes also repeats every 188, 192 and 204.
  @Test(
    arguments: [[0x47, 0x11, 0x22, 0x33], [0x47, 0x00, 0x00, 0x1F], [0x20, 0x47, 0x40, 0x10]] as [[UInt8]])
  func tablesAreNoTransportStream(row: [UInt8]) {
    let head = Array("some header".utf8) + [0, 1, 2, 0xFE, 0xFF, 3] + Bytes.repeated(row, 4_000)
    #expect(Sniffer.verdict(head: head, size: Int64(head.count)) == .unrecognised)
  }

  @Test("a refusal says what to do, in one sentence without a line end")
  func sentences() {
    for known in KnownHead.refusals {
      guard case .refused(let error) = known.verdict else { continue }
      #expect(error.message.contains(";") || error.message.contains(":"), "\(error.message)")
      #expect(!error.message.contains("\n") && !error.message.hasSuffix("."))
      #expect(
        ["a ", "an ", "LL", "su"].contains { error.found?.hasPrefix($0) == true }, "\(error.found ?? "")")
    }
  }
}

@Suite("prose")
struct ProseTests {
  @Test(
    "prose is recognized even if it begins with the magic letters of another format",
    arguments: [
      "MAC addresses of the office", "DSD is a format", "TTA1 and others", "LZIP it", "icns files",
      "PAR1 of 2",
      "MZ is what programs begin with", "BM is what bitmaps begin with", "ID3 tags are in front",
      "OggS is a magic",
      "FLV is old", "RIFF chunks AVI", "fly to 7z", "caff", "BZh is bzip2", "II* is TIFF", "GIF it",
      "KB2 and KB3",
      "moov and trak", "ftypisom is a brand", "PK is a country code", "Rar!", "P5 and P6",
      "ustar",
    ])
  func prose(_ text: String) {
    guard case .refused(let error) = KnownHead(text, Array((text + ".\n").utf8)).verdict else {
      Issue.record("\(text) is not refused")
      return
    }
    #expect(error.found == "a text file")
  }
}
