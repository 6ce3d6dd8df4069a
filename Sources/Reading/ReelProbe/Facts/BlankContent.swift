import CFFmpeg
import ReelCore

/// A part of a file's content that is nothing but zeros, as in one whose room was allocated before it was downloaded, copied
/// or recovered, and never filled: its index, or what stands behind, is whole, and the content is not there. No coded frame
/// and no container's unit begins with so many zeros; plain pixels do, and so does what MXF pads.
struct BlankContent {
  /// Bytes in which zeros were found, not necessarily all of them.
  let bytes: Range<Int64>
  /// Whether the file counts on what should be there: its index does, its length, or what comes after it.
  let isMissing: Bool
  /// Whether it begins the file, or goes on to its end.
  let isOuter: Bool
  /// When the first sample that is not there is due, in the stream's time base; nil where no index tells.
  var firstTime: Int64?

  /// Nil where there is none, and for a file that is far away, where each look is a request.
  static func found(in file: BoundedSource, _ structure: FileStructure, _ streams: StreamChoice)
    -> BlankContent?
  {
    guard !file.isFar, let stream = streams.video, let codec = stream.pointee.codecpar?.pointee.codec_id
    else {
      return nil
    }
    let sounds = streams.audios.compactMap { $0.pointee.codecpar?.pointee.codec_id }
    guard let iso = structure.iso else { return stretch(in: file, structure, codec, sounds) }
    if iso.external == true { return nil }
    if iso.fragments > 0 {
      // A fragment has the sound of all its pictures in one piece.
      let silence = zip(streams.audios, sounds).filter { !coded.contains($1) }.reduce(Int64(0)) {
        let run = iso.fragmentTable?.runs[UInt32(truncatingIfNeeded: $1.0.pointee.id)]
        return $0.addingClamped(run?.mostBytes ?? 0)
      }
      return stretch(in: file, structure, codec, sounds, silence: silence)
    }
    if let found = isPlain(codec) ? nil : samples(of: stream, in: file) { return found }
    for (sound, codec) in zip(streams.audios, sounds) where coded.contains(codec) {
      if var found = samples(of: sound, in: file) {
        // Its clock is another one.
        found.firstTime = nil
        return found
      }
    }
    return nil
  }

  var warning: MediaWarning {
    MediaWarning(
      .contentMissing,
      "bytes \(bytes.lowerBound) to \(bytes.upperBound) of it are zeros"
        + (isMissing
          ? ", as in a file that was not downloaded or copied to its end"
          : ", and nothing tells whether anything should be there"))
  }

  /// Places that are looked at, spread evenly, and the end.
  private static let looks: Int64 = 16
}

// MARK: By the index

extension BlankContent {
  /// Bytes of a sample that are looked at.
  private static let mostOfSample: Int64 = 4096
  /// Smaller ones say nothing.
  private static let leastSample = 8

  private static func samples(of stream: StreamChoice.Stream, in file: BoundedSource) -> BlankContent? {
    let last = Int64(avformat_index_get_entries_count(stream)) - 1
    guard last >= 0 else { return nil }
    func blank(_ number: Int64) -> ReelIndexEntry? {
      let entry = reel_index_entry(stream, Int32(clamping: number))
      guard entry.size >= leastSample, entry.position >= 0, entry.position < file.size else { return nil }
      let bytes = file.bytes(at: entry.position, count: Int(min(Int64(entry.size), mostOfSample)))
      return !bytes.isEmpty && bytes.allSatisfy { $0 == 0 } ? entry : nil
    }
    var good: Int64 = -1
    for look in 0...looks {
      let number = last * look / looks
      guard var found = blank(number) else {
        good = number
        continue
      }
      var missing = number
      while missing - good > 1 {
        let middle = good + (missing - good) / 2
        if let earlier = blank(middle) { (missing, found) = (middle, earlier) } else { good = middle }
      }
      let end = min(file.size, found.position.addingClamped(Int64(found.size)))
      return BlankContent(
        bytes: found.position..<max(found.position, end), isMissing: true, isOuter: false,
        firstTime: found.time)
    }
    return nil
  }

  /// Sound whose silence is not zeros.
  private static let coded: Set<AVCodecID> = [
    AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3,
    AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD, AV_CODEC_ID_OPUS, AV_CODEC_ID_VORBIS,
    AV_CODEC_ID_FLAC, AV_CODEC_ID_AMR_NB, AV_CODEC_ID_AMR_WB, AV_CODEC_ID_WMAV1, AV_CODEC_ID_WMAV2,
  ]

  /// Whether its black may be zeros: pixels that are stored as they are, or a codec that nobody knows.
  private static func isPlain(_ codec: AVCodecID) -> Bool {
    guard let properties = avcodec_descriptor_get(codec)?.pointee.props else { return true }
    let whole = AV_CODEC_PROP_INTRA_ONLY | AV_CODEC_PROP_LOSSLESS
    return properties & whole == whole
  }
}

// MARK: By the bytes alone

extension BlankContent {
  private static let window: Int64 = 512

  /// Zeros that have a meaning nowhere in a file of so many bytes; nil where they may.
  ///
  /// - Parameter silence: bytes of uncompressed sound that stand together.
  private static func least(
    _ container: MediaContainer, _ codec: AVCodecID, _ sounds: [AVCodecID], silence: Int64, of size: Int64
  ) -> Int64? {
    switch container {
    // Each packet has a header, and so few bytes.
    case .mpegTS, .m2ts: 2 * window
    // As many as a packet or a page has, twice.
    case .mpegPS, .ogg, .asf: 128 << 10
    case .mxf: nil
    default:
      if !predicted.contains(codec) {
        nil
      } else {
        // Silence is zeros, too, of as many seconds as stand together; and encoders fill each picture up to a constant
        // rate, so to its part of the file (ISO/IEC 14496-10, 7.4.2.10).
        sounds.allSatisfy { coded.contains($0) }
          ? min(1 << 20, max(16 << 10, size / looks)) : max(4 << 20, silence.addingClamped(window))
      }
    }
  }

  private static func stretch(
    in file: BoundedSource, _ structure: FileStructure, _ codec: AVCodecID, _ sounds: [AVCodecID],
    silence: Int64 = 0
  ) -> BlankContent? {
    guard silence <= mostSilence,
      let least = least(structure.container, codec, sounds, silence: silence, of: file.size),
      file.size > least,
      let zeros = zeros(in: file, atLeast: least, structure)
    else { return nil }
    let (isHead, isTail) = (zeros.lowerBound == 0, zeros.upperBound == file.size)
    return BlankContent(
      bytes: zeros, isMissing: isTail ? structure.counts(on: zeros, in: file) : !isHead,
      isOuter: isHead || isTail)
  }

  /// Pictures that are coded by what changes, and as large as that is.
  private static let predicted: Set<AVCodecID> = [
    AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1, AV_CODEC_ID_MPEG4,
    AV_CODEC_ID_MSMPEG4V1, AV_CODEC_ID_MSMPEG4V2, AV_CODEC_ID_MSMPEG4V3, AV_CODEC_ID_H263, AV_CODEC_ID_FLV1,
    AV_CODEC_ID_VP6, AV_CODEC_ID_VP6F, AV_CODEC_ID_THEORA, AV_CODEC_ID_VC1, AV_CODEC_ID_WMV1,
    AV_CODEC_ID_WMV2,
    AV_CODEC_ID_WMV3, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_RV30, AV_CODEC_ID_RV40,
  ]

  /// The first stretch of zeros in place of content that a look meets, of which `least` stand together: silence and
  /// filled-up pictures are zeros with headers between them. Beyond these it is taken to have no gaps.
  private static func zeros(
    in file: BoundedSource, atLeast least: Int64, _ structure: FileStructure
  ) -> Range<Int64>? {
    func isBlank(_ place: Int64) -> Bool {
      let bytes = file.bytes(at: place, count: Int(window))
      return !bytes.isEmpty && bytes.allSatisfy { $0 == 0 }
    }
    let places = (0...looks).map { (file.size - window) / looks * $0 } + [file.size - window]
    /// The place nearest to `good` that is blank, to within a window.
    func edge(_ blank: Int64, _ good: Int64) -> Int64 {
      var (blank, good) = (blank, good)
      while abs(blank - good) > window {
        let middle = good + (blank - good) / 2
        if isBlank(middle) { blank = middle } else { good = middle }
      }
      return blank
    }
    func stretch(at number: Int) -> Range<Int64> {
      let start = places[..<number].last { !isBlank($0) }.map { edge(places[number], $0) } ?? 0
      let before = file.bytes(at: max(0, start - window), count: Int(min(window, start)))
      let next = places[number...].first { !isBlank($0) }
      let end = next.map { edge(places[number], $0) + window } ?? file.size
      return (start - Int64(before.reversed().prefix { $0 == 0 }.count))..<max(start, end)
    }
    // How far there is nothing more to be found: zeros that are too few, or in a unit that is for nothing else.
    var passed: Int64 = 0
    for (number, place) in places.enumerated() where place >= passed && isBlank(place) {
      let run = run(around: place, in: file, upTo: least)
      var zeros = stretch(at: number)
      zeros = max(passed, zeros.lowerBound)..<max(passed, zeros.upperBound)
      if run.upperBound - run.lowerBound < least || zeros.upperBound - zeros.lowerBound < least {
        passed = run.upperBound
      } else if let end = structure.endWithoutMedia(at: zeros.lowerBound, in: file) {
        passed = end
      } else if isPadding(zeros, in: file) {
        passed = zeros.upperBound
      } else {
        return zeros
      }
    }
    return nil
  }

  /// Zeros that stand together before and after `place`, until there are `enough`.
  private static func run(around place: Int64, in file: BoundedSource, upTo enough: Int64) -> Range<Int64> {
    var (start, end) = (place, place)
    while end - start < enough {
      let bytes = file.bytes(at: end, count: Int(min(piece, enough - (end - start))))
      let zeros = bytes.prefix { $0 == 0 }.count
      end += Int64(zeros)
      if zeros < bytes.count || bytes.isEmpty { break }
    }
    while end - start < enough, start > 0 {
      let length = min(piece, start, enough - (end - start))
      let zeros = file.bytes(at: start - length, count: Int(length)).reversed().prefix { $0 == 0 }.count
      start -= Int64(zeros)
      if zeros < length { break }
    }
    return start..<end
  }

  private static let piece: Int64 = 64 << 10
  /// Where more may be silence, nothing is looked for: all of it would have to be read.
  private static let mostSilence: Int64 = 64 << 20

  /// Whether the zeros are what a unit holds that is for nothing else: `free` and `skip` boxes (ISO/IEC 14496-12, 8.1.2),
  /// `JUNK` chunks, `Void` elements (RFC 8794, 11.3.2).
  private static func isPadding(_ zeros: Range<Int64>, in file: BoundedSource) -> Bool {
    let reach = min(24, zeros.lowerBound)
    let before = file.bytes(at: zeros.lowerBound - reach, count: Int(reach))
    let names: [FourCharacterCode] = ["free", "skip", "wide", "JUNK", "junk"]
    if before.indices.contains(where: { names.contains(FourCharacterCode(before[$0...].prefix(4))) }) {
      return true
    }
    return before.indices.contains { place in
      guard before[place] == 0xEC,
        let element = EBMLElement(file, at: zeros.lowerBound - reach + Int64(place)), let end = element.end
      else { return false }
      return element.contents >= zeros.lowerBound && end >= zeros.upperBound - 2 * window
    }
  }
}

extension FileStructure {
  /// Where the outermost unit at `place` ends, if it is one that holds no media, such as an attachment.
  fileprivate func endWithoutMedia(at place: Int64, in file: BoundedSource) -> Int64? {
    iso.map { $0.endWithoutMedia(at: place) } ?? matroska?.endWithoutMedia(at: place, in: file)
  }

  /// Whether the file says that there is content in `range`, which goes on to its end.
  fileprivate func counts(on range: Range<Int64>, in file: BoundedSource) -> Bool {
    if let iso { return iso.end == file.size }
    if let matroska { return matroska.segmentEnd ?? 0 > range.lowerBound }
    if let avi { return avi.movie?.upperBound ?? 0 > range.lowerBound }
    if container == .flv { return FLVFile.metadata("filesize", of: file) ?? 0 > Double(range.lowerBound) }
    return container == .asf && truncated == false
  }
}
