import CFFmpeg
import ReelCore

/// A part of a file's content that is nothing but zeros, as in a file whose space was allocated before it was
/// downloaded, copied or recovered, and then never filled. Its index, or what follows the zeros, is intact, but the
/// content is missing. No coded frame and no unit of a container begins with so many zeros; uncompressed pixels and
/// MXF's padding do.
struct BlankContent {
  /// A range in which zeros were found, not necessarily all of them.
  let bytes: Range<Int64>
  /// Whether the file shows that content should be there: by its index, its stated length, or what follows the zeros.
  let isMissing: Bool
  /// Whether the range starts at the beginning of the file, or reaches its end.
  let isOuter: Bool
  /// The time at which the first missing sample is due, in the stream's time base; nil if no index tells.
  var firstTime: Int64?

  /// Returns nil if there is none, and for a remote file, where each look would be a request.
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
      // A fragment stores the sound of all its pictures in one piece.
      let silence = zip(streams.audios, sounds).filter { !coded.contains($1) }.reduce(Int64(0)) {
        let run = iso.fragmentTable?.runs[UInt32(truncatingIfNeeded: $1.0.pointee.id)]
        return $0.addingClamped(run?.mostBytes ?? 0)
      }
      return stretch(in: file, structure, codec, sounds, silence: silence)
    }
    if let found = isPlain(codec) ? nil : samples(of: stream, in: file) { return found }
    for (sound, codec) in zip(streams.audios, sounds) where coded.contains(codec) {
      if var found = samples(of: sound, in: file) {
        // Its time base is not that of the video.
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
          ? ", as in a file that was not completely downloaded or copied"
          : "; it is unknown whether anything should be there"))
  }

  /// The number of steps between the places to look at, which are spread evenly from the beginning to the end.
  private static let looks: Int64 = 16
}

// MARK: By the index

extension BlankContent {
  /// The most bytes of a sample to look at.
  private static let mostOfSample: Int64 = 4096
  /// The smallest sample to look at: zeros in a shorter one mean nothing.
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

  /// Codecs of sound whose silence is not stored as zeros.
  private static let coded: Set<AVCodecID> = [
    AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3,
    AV_CODEC_ID_EAC3, AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD, AV_CODEC_ID_OPUS, AV_CODEC_ID_VORBIS,
    AV_CODEC_ID_FLAC, AV_CODEC_ID_AMR_NB, AV_CODEC_ID_AMR_WB, AV_CODEC_ID_WMAV1, AV_CODEC_ID_WMAV2,
  ]

  /// Whether the codec may store black as zeros: it is lossless and codes each picture by itself, or it is unknown.
  private static func isPlain(_ codec: AVCodecID) -> Bool {
    guard let properties = avcodec_descriptor_get(codec)?.pointee.props else { return true }
    let whole = AV_CODEC_PROP_INTRA_ONLY | AV_CODEC_PROP_LOSSLESS
    return properties & whole == whole
  }
}

// MARK: By the bytes alone

extension BlankContent {
  private static let window: Int64 = 512

  /// Returns the number of contiguous zeros that have no meaning anywhere in a file of `size` bytes; nil if any
  /// number may have one.
  ///
  /// - Parameter silence: bytes of uncompressed sound that are stored in one piece.
  private static func least(
    _ container: MediaContainer, _ codec: AVCodecID, _ sounds: [AVCodecID], silence: Int64, of size: Int64
  ) -> Int64? {
    switch container {
    // Each packet has a header, and holds only few bytes.
    case .mpegTS, .m2ts: 2 * window
    // Twice what a packet or a page can hold.
    case .mpegPS, .ogg, .asf: 128 << 10
    case .mxf: nil
    default:
      if !predicted.contains(codec) {
        nil
      } else {
        // Silence is zeros, too, for as many seconds of sound as are stored in one piece. Encoders also pad each
        // picture up to a constant rate, and so up to its share of the file (ISO/IEC 14496-10, 7.4.2.10).
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

  /// Codecs that code the changes between pictures, so that a picture is as large as these changes.
  private static let predicted: Set<AVCodecID> = [
    AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1, AV_CODEC_ID_MPEG4,
    AV_CODEC_ID_MSMPEG4V1, AV_CODEC_ID_MSMPEG4V2, AV_CODEC_ID_MSMPEG4V3, AV_CODEC_ID_H263, AV_CODEC_ID_FLV1,
    AV_CODEC_ID_VP6, AV_CODEC_ID_VP6F, AV_CODEC_ID_THEORA, AV_CODEC_ID_VC1, AV_CODEC_ID_WMV1,
    AV_CODEC_ID_WMV2,
    AV_CODEC_ID_WMV3, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_RV30, AV_CODEC_ID_RV40,
  ]

  /// Returns the first stretch of zeros in place of content that a look meets. At least `least` of them have to be
  /// contiguous, because silence and padded pictures are zeros with headers between them. The rest of the stretch is
  /// assumed to have no gaps.
  private static func zeros(
    in file: BoundedSource, atLeast least: Int64, _ structure: FileStructure
  ) -> Range<Int64>? {
    func isBlank(_ place: Int64) -> Bool {
      let bytes = file.bytes(at: place, count: Int(window))
      return !bytes.isEmpty && bytes.allSatisfy { $0 == 0 }
    }
    let places = (0...looks).map { (file.size - window) / looks * $0 } + [file.size - window]
    /// Returns the blank place nearest to `good`, to within a window.
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
    // The place up to which nothing more can be found: the zeros before it are too few, or lie in a unit without
    // media.
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

  /// Returns the contiguous zeros before and after `place`, until there are `enough`.
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
  /// The most bytes of sound in one piece. If there may be more silence, nothing is searched for, because all of it
  /// would have to be read.
  private static let mostSilence: Int64 = 64 << 20

  /// Whether the zeros are the contents of a unit that serves as padding: `free` and `skip` boxes (ISO/IEC 14496-12,
  /// 8.1.2), `JUNK` chunks, `Void` elements (RFC 8794, 11.3.2).
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
  /// Returns the end of the outermost unit at `place`, if that holds no media, such as an attachment.
  fileprivate func endWithoutMedia(at place: Int64, in file: BoundedSource) -> Int64? {
    iso.map { $0.endWithoutMedia(at: place) } ?? matroska?.endWithoutMedia(at: place, in: file)
  }

  /// Whether the file says that there is content in `range`, which reaches its end.
  fileprivate func counts(on range: Range<Int64>, in file: BoundedSource) -> Bool {
    if let iso { return iso.end == file.size }
    if let matroska { return matroska.segmentEnd ?? 0 > range.lowerBound }
    if let avi { return avi.movie?.upperBound ?? 0 > range.lowerBound }
    if container == .flv { return FLVFile.metadata("filesize", of: file) ?? 0 > Double(range.lowerBound) }
    return container == .asf && truncated == false
  }
}
