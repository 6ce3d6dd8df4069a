import ReelCore

/// When packets end by the pages of an Ogg file, compared with how many packets there are (RFC 3533, 6).
struct OggTimes: Hashable {
  /// The rate in Theora's header, at which all of its pictures come (Theora specification, 6.2).
  private(set) var rate: Rational?
  /// The number of pictures in the last of the files that were joined; nil without Theora, and if not all pages were
  /// looked at.
  private(set) var pictures: Int64?
  /// How many seconds the sound lasts, by the last of its pages; nil if that is not known.
  private(set) var soundSeconds: Double?
  /// Whether a page states a time to which its packets do not add up.
  private(set) var jumps = false
  /// Whether a page in which packets end states no time, so that FFmpeg loses count.
  private(set) var leavesTimesOut = false
  /// Whether pages count pictures without packets, and no sound confirms how long all of them last.
  private(set) var isUnconfirmed = false
  /// Whether its pictures, and all of its sound, begin in the middle of a broadcast. FFmpeg also counts the time
  /// before that.
  private(set) var picturesBeginLate = false
  /// How many seconds it lasts if a stream begins late, so that FFmpeg's durations of the streams do not tell.
  private(set) var lateSeconds: Double?
  /// Whether the sound confirms how long the pictures last at their rate: they end together, or one ends where the
  /// other is as far in the file.
  private(set) var picturesAgree = false
  /// Whether it has bytes that are no page, and either pages follow behind them or its streams have not ended before.
  /// Nothing behind them counts here.
  private(set) var hasGap = false
  /// Whether it has a stream of an unknown kind.
  private(set) var hasUnknown = false
  /// Whether it has a stream whose times are not read.
  private var hasUnread = false
  /// The size of the blocks in Theora's header, and that of the pictures in them, if these leave out whole blocks.
  private(set) var unlikeSizes: [PixelSize] = []
  /// The number of files that were joined in it: the links of a chain (RFC 3533, 4).
  private(set) var links = 1
  /// The total seconds of those before the last one; nil if that is not known.
  private var secondsBefore: Double? = 0

  private static let mostBytes: Int64 = 128 << 20
  private static let mostLeftOut: Int64 = 100
  /// The bytes to search for pages behind bytes that are no page.
  private static let searched: Int64 = 16 << 20

  fileprivate struct Stream {
    let codec: Codec
    var headers = 3
    var packets: Int64 = 0
    var before: Int64?
    /// The number of pages that state a time.
    var timed = 0
    /// The packets since the last page that states a time.
    var since: Int64 = 0
    /// Repeated pictures, for which the one before them stays: pages count them, and newer writers leave out their
    /// empty packets (FFmpeg since 6.1).
    var repeated: Int64 = 0
    /// The number of the last page.
    var page = 0
    /// Whether a page is missing since the last one that states a time.
    var isTorn = false
    /// Whether it begins in the middle, as a part of a broadcast does.
    var beginsLate = false
    var last: Int64 = 0
    /// How long its first packets last, in the unit of its times; nil if that is not known.
    var length: Int64?
    /// When its first packet begins; nil if that is not known.
    var first: Int64?
    /// The seconds that the other stream has reached by its pages before the last page of this one, and by the next.
    var beside: (before: Double, behind: Double?)?
  }

  fileprivate enum Codec {
    case theora(shift: Int64, rate: Double)
    case vorbis(rate: Int, longest: Int64)
    case opus(skipped: Int64)
    case flac(rate: Int, headers: Int, length: Int64)
    case vp8(rate: Double)
  }

  /// Returns nil for a large file, for a remote one, and for one that does not begin with a page.
  init?(_ file: some ByteReading) {
    guard file.size <= Self.mostBytes, !file.isFar else { return nil }
    var streams: [Int: Stream] = [:]
    var (at, begun, ended, hasContent): (Int64, Set<Int>, Set<Int>, Bool) = (0, [], [], false)
    let mark = Array("OggS".utf8)
    while at < file.size {
      let head = file.bytes(at: at, count: 27 + 255)
      guard head.count >= 28, head.starts(with: mark), head.count >= 27 + Int(head[26]) else {
        if at == 0 { return nil }
        // A page that was cut off begins like others, and zeros may fill the end.
        let isPage = mark.starts(with: head.prefix(mark.count))
        let tail = file.bytes(at: max(at, file.size - Int64(head.count)), count: head.count)
        let isForeign = !isPage && !begun.isSubset(of: ended) && !(head + tail).allSatisfy { $0 == 0 }
        hasGap =
          isForeign
          || file.contains(mark + [0], in: at..<min(file.size, at.addingClamped(Self.searched)))
        break
      }
      let lengths = head[27..<(27 + Int(head[26]))]
      let contents = at + 27 + Int64(lengths.count)
      let serial = head.number(at: 14, bytes: 4) ?? 0
      if head[5] & 4 != 0 { ended.insert(serial) }
      // A page of a stream that never began is from another file.
      if head[5] & 2 != 0 {
        begun.insert(serial)
      } else if !begun.isEmpty, !begun.contains(serial) {
        jumps = true
      }
      if head[5] & 2 != 0 {
        if hasContent {
          finish(streams)
          secondsBefore = secondsBefore.flatMap { before in lastSeconds.map { before + $0 } }
          (streams, links, hasContent) = ([:], links + 1, false)
        }
        let packet = file.bytes(at: contents, count: Int(min(64, lengths.first ?? 0)))
        if let codec = codec(packet) {
          streams[serial] = Stream(codec: codec, headers: codec.headers, length: codec.length)
        } else {
          hasUnread = hasUnread || !packet.starts(with: Array("fishead".utf8))
        }
      }
      let granule = (0..<8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(head[6 + $1]) }
      if var stream = streams[serial] {
        let number = head[18..<22].reversed().reduce(0) { $0 << 8 | Int($1) }
        let isNext = number == (stream.page + 1) & 0xFFFF_FFFF
        // Writers that do not number their pages leave all numbers at 0.
        if stream.before != nil, !isNext, number != stream.page { stream.isTorn = true }
        stream.page = number
        if stream.length == nil, stream.headers == 0, case .opus = stream.codec {
          stream.length = SoundFrame.opus(file.bytes(at: contents, count: 2)).map { Int64($0 * 48_000) }
        }
        take(&stream, Int64(bitPattern: granule), packets: Int64(lengths.count { $0 < 255 }))
        if streams.count == 2, let other = streams.first(where: { $0.key != serial }) {
          stream.beside = (other.value.seconds, nil)
          if let before = other.value.beside, before.behind == nil {
            streams[other.key]?.beside = (before.before, stream.seconds)
          }
        }
        streams[serial] = stream
        hasContent = hasContent || stream.packets > 0
      }
      at = contents + lengths.reduce(0) { $0 + Int64($1) }
    }
    finish(streams)
  }

  /// Records what the streams of one link say.
  private mutating func finish(_ streams: [Int: Stream]) {
    // If there are several side by side, none speaks for all.
    let theora = streams.values.filter(\.isTheora)
    let sounds = streams.values.filter(\.isCountedSound)
    soundSeconds = sounds.count == 1 && !sounds[0].beginsLate ? sounds[0].seconds : nil
    defer { lateSeconds = jumps ? nil : lateSeconds(Array(streams.values)) }
    guard theora.count == 1 else { return pictures = nil }
    picturesBeginLate = theora[0].beginsLate && sounds.allSatisfy(\.beginsLate)
    pictures = theora[0].packets + theora[0].repeated
    let agreement = areAlikeLong ? .sure : sounds.count == 1 ? Self.agreement(theora[0], sounds[0]) : .none
    picturesAgree = agreement == .sure
    guard theora[0].repeated > 0 else { return }
    // A time that only a page states is a claim, which later pages may carry on.
    if soundSeconds == nil { isUnconfirmed = true } else if agreement == .none { jumps = true }
    if jumps { pictures = theora[0].packets }
  }

  /// Whether pictures and sound last equally long, within the precision of their times; false if either is not known.
  private var areAlikeLong: Bool {
    guard let pictureSeconds, let soundSeconds, soundSeconds > 0 else { return false }
    return Self.areNear(pictureSeconds, soundSeconds)
  }

  private static func areNear(_ one: Double, _ other: Double) -> Bool { abs(one - other) <= slack(other) }

  private static func slack(_ seconds: Double) -> Double { max(0.2, 0.03 * seconds) }

  private enum Agreement {
    case sure, possible, none
  }

  /// Whether two streams end together, or one of them where the other is as far in the file.
  private static func agreement(_ one: Stream, _ other: Stream) -> Agreement {
    if areNear(one.seconds, other.seconds) { return .sure }
    let (short, long) = one.seconds < other.seconds ? (one, other) : (other, one)
    let slack = slack(short.seconds)
    guard let beside = short.beside, let behind = beside.behind,
      short.seconds >= beside.before - slack, short.seconds <= behind + slack
    else {
      // A writer may keep an only page to the end.
      return short.timed == 1 ? .possible : .none
    }
    // A long page beside all of a stream fits many a rate, unless its own stream only begins behind the other, or both
    // end in the same half second.
    let isSure =
      behind - beside.before <= max(slack, short.seconds / 4) || long.seconds - short.seconds < 0.5
      || long.firstSecond ?? 0 >= short.seconds
    return isSure ? .sure : .possible
  }

  private func lateSeconds(_ streams: [Stream]) -> Double? {
    let begins = streams.compactMap(\.firstSecond)
    guard links == 1, !hasUnread, begins.count == streams.count, begins.contains(where: { $0 > 1 }),
      let begin = begins.min(), let end = streams.map(\.seconds).max()
    else { return nil }
    if begin <= 1 { return end }
    // FFmpeg takes these codecs for ones that begin at 0. For others it knows better when they begin.
    return streams.contains(where: \.isMiscounted) ? end - begin : nil
  }

  /// The duration of all pictures in seconds.
  var pictureSeconds: Double? {
    guard let pictures, let rate, rate.value > 0 else { return nil }
    return Double(pictures) / rate.value
  }

  /// The total duration of all joined files in seconds, by the number of pictures, otherwise by the sound.
  var seconds: Double? { lateSeconds ?? secondsBefore.flatMap { before in lastSeconds.map { before + $0 } } }

  /// The duration of the last file in seconds.
  private var lastSeconds: Double? { pictureSeconds ?? soundSeconds }

  /// Identifies the codec by the first packet of a stream.
  private mutating func codec(_ packet: [UInt8]) -> Codec? {
    if packet.count >= 42, packet.starts(with: [0x80] + Array("theora".utf8)) {
      let parts = [packet.number(at: 22, bytes: 4) ?? 0, packet.number(at: 26, bytes: 4) ?? 0]
      rate = parts.allSatisfy { $0 <= Int32.max } ? Rational(parts[0], parts[1]) : nil
      takeSizes(packet)
      // Another version may have this elsewhere (6.2), which is where FFmpeg looks for it.
      if (packet[7], packet[8]) != (3, 2) { jumps = true }
      return .theora(shift: Int64(packet[40] & 3) << 3 | Int64(packet[41] >> 5), rate: rate?.value ?? 0)
    }
    if packet.count >= 30, packet.starts(with: [1] + Array("vorbis".utf8)) {
      let rate = (0..<4).reversed().reduce(0) { $0 << 8 | Int(packet[12 + $1]) }
      return .vorbis(rate: rate, longest: 1 << Int64(packet[28] >> 4))
    }
    if packet.count >= 19, packet.starts(with: Array("OpusHead".utf8)) {
      return .opus(skipped: Int64(packet[10]) | Int64(packet[11]) << 8)
    }
    if !Self.others.contains(where: packet.starts) { hasUnknown = true }
    // RFC 9639, 10.1: how many packets of metadata follow, then the stream's own header.
    if packet.starts(with: [0x7F] + Array("FLAC".utf8)), let own = FLACStreamInfo(Array(packet.dropFirst(9))),
      let headers = packet.number(at: 7, bytes: 2), headers > 0, let length = own.frameLength
    {
      return .flac(rate: own.sampleRate, headers: headers + 1, length: Int64(length))
    }
    if packet.starts(with: Array("OVP80".utf8)), let pictures = packet.number(at: 18, bytes: 4),
      let seconds = packet.number(at: 22, bytes: 4), pictures > 0, seconds > 0
    {
      return .vp8(rate: Double(pictures) / Double(seconds))
    }
    return nil
  }

  /// Reads the sizes in Theora's header (Theora specification, 6.2).
  private mutating func takeSizes(_ packet: [UInt8]) {
    let blocks = [10, 12].map { 16 * (packet.number(at: $0, bytes: 2) ?? 0) }
    let pictures = [14, 17].map { packet.number(at: $0, bytes: 3) ?? 0 }
    guard zip(blocks, pictures).contains(where: { !(0..<16).contains($0 - $1) }) else { return }
    unlikeSizes = [blocks, pictures].map { PixelSize(width: $0[0], height: $0[1]) }
  }

  /// The beginnings of other streams: FLAC, Speex, Dirac, VP8, OGM, PCM, CELT, Kate, CMML, Skeleton, Daala, MIDI, and
  /// annotations.
  private static let others: [[UInt8]] =
    [
      "\u{7F}FLAC", "fLaC", "Speex   ", "BBCD\0", "OVP80", "\u{1}video", "\u{1}audio", "\u{1}text",
      "\u{1}Direct Show",
      "PCM     ", "CELT    ", "CMML", "fishead", "OggMIDI", "AnxData", "Annodex", "UVS ", "YUV4MPEG",
    ].map { Array($0.utf8) } + ["kate", "daala", "theora"].map { [0x80] + Array($0.utf8) }
    + [[1] + Array("vorbis".utf8), Array("OpusHead".utf8)]

  private mutating func take(_ stream: inout Stream, _ granule: Int64, packets: Int64) {
    let headers = min(packets, Int64(stream.headers))
    stream.headers -= Int(headers)
    stream.packets += packets - headers
    stream.since += packets - headers
    guard packets > headers else { return }
    // -1 means that no packet ends there.
    if granule == -1 {
      if stream.isTheora || stream.isCountedSound { leavesTimesOut = true }
      return
    }
    let time: Int64
    switch stream.codec {
    case .theora(let shift, _): time = granule >> shift &+ granule & (1 << shift - 1)
    case .vorbis, .opus, .flac: time = granule
    case .vp8: time = granule >> 32
    }
    let own = stream.since
    defer {
      (stream.before, stream.last, stream.since, stream.isTorn) = (time, max(stream.last, time), 0, false)
      stream.timed += 1
    }
    guard granule >= 0 else { return jumps = true }
    guard let before = stream.before else {
      stream.first = stream.length.map { time - own * $0 }
      switch stream.codec {
      // Writers may leave out empty packets before the first stated time.
      case .theora: stream.beginsLate = time > own + Self.mostLeftOut
      case .vorbis(_, let longest): stream.beginsLate = time > own * longest
      case .opus: stream.beginsLate = time > own * 5760
      case .flac, .vp8: break
      }
      return
    }
    let (step, overflow) = time.subtractingReportingOverflow(before)
    switch stream.codec {
    case .theora:
      guard !overflow, step == own || step > own && step <= 1 << 32 && !stream.isTorn else {
        return jumps = true
      }
      stream.repeated += step - own
    // Half of a block overlaps the one before (Vorbis I, 1.3.2).
    case .vorbis(_, let longest): if overflow || step < 0 || step > (own + 1) * longest / 2 { jumps = true }
    case .opus: if overflow || step < 0 || step > own * 5760 { jumps = true }
    case .flac, .vp8: break
    }
  }
}

extension OggTimes.Codec {
  /// The number of packets before the first one with content.
  fileprivate var headers: Int {
    switch self {
    case .theora, .vorbis: 3
    case .opus, .vp8: 2
    case .flac(_, let headers, _): headers
    }
  }

  /// How long each packet lasts, in the unit of the times.
  fileprivate var length: Int64? {
    switch self {
    case .theora, .vp8: 1
    case .flac(_, _, let length): length
    case .vorbis(_, let longest): longest / 2
    case .opus: nil
    }
  }
}

extension OggTimes.Stream {
  fileprivate var isTheora: Bool {
    if case .theora = codec { return true }
    return false
  }

  /// Whether it is sound whose times are compared with those of pictures.
  fileprivate var isCountedSound: Bool {
    switch codec {
    case .vorbis, .opus: true
    case .theora, .flac, .vp8: false
    }
  }

  /// Whether FFmpeg takes it for one that begins at 0.
  fileprivate var isMiscounted: Bool {
    switch codec {
    case .opus, .flac: true
    case .theora, .vorbis, .vp8: false
    }
  }

  /// When it ends, by the last of its pages.
  fileprivate var seconds: Double { seconds(last) }

  /// When it begins, by the first of its pages; nil if that is not known.
  fileprivate var firstSecond: Double? { first.map(seconds) }

  private func seconds(_ time: Int64) -> Double {
    switch codec {
    case .theora(_, let rate), .vp8(let rate): rate > 0 ? Double(time) / rate : 0
    case .vorbis(let rate, _), .flac(let rate, _, _): Double(time) / Double(max(1, rate))
    case .opus(let skipped): Double(max(0, time - skipped)) / 48_000
    }
  }
}
