import CFFmpeg
import ReelCore
import ReelProbe

/// Digests of a file's streams, by FFmpeg's demuxer: what proves that two files hold the same.
///
/// No decoder is opened and no time is guessed: times are those that the container states, edit lists only as the shift of
/// a whole track, so that every packet counts.
package struct PacketDigests {
  /// Which streams do not count.
  package enum Exclusion: CaseIterable, Sendable {
    case nothing
    /// Data, but for time codes.
    case timedMetadata
    case data
  }
  private let limits: ReadingLimits
  private let mediaTimeOnly: Bool
  private let seed: UInt64

  /// - Parameters:
  ///   - limits: how much one file may cost.
  ///   - mediaTimeOnly: whether times count from the first packet of each stream on, and not how long a packet lasts
  ///     beside when it and the next one begin.
  ///   - seed: the same for files to be compared, and unknown to whoever made them: the digest (Murmur3) is not one that
  ///     withstands those who know it.
  package init(limits: ReadingLimits, mediaTimeOnly: Bool, seed: UInt64) {
    self.limits = limits
    self.mediaTimeOnly = mediaTimeOnly
    self.seed = seed
  }

  /// The digests of the streams, in their order.
  /// - Parameters:
  ///   - most: of each stream that counts, only so many packets count; nil for all of all.
  /// - Throws: what is said of files that can't be read.
  package func digests(
    descriptor: Int32, size: Int64, container: MediaContainer, without exclusion: Exclusion, most: [Int64]?
  ) throws(MendError) -> [StreamDigest] {
    reel_log_capture()
    av_max_alloc(max(0, limits.largestAllocation))
    let source = BoundedSource(.descriptor(descriptor), size: size, limits: limits)
    let option = mediaTimeOnly ? ("ignore_editlist", "1") : ("advanced_editlist", "0")
    let options = container.isISO ? [option.0: option.1] : [:]
    let input: OpenedInput
    do throws(OpenedInput.Failure) {
      input = try OpenedInput.open(
        source, demuxer: container.demuxer, decoding: .all, limits: limits, options: options)
    } catch {
      throw Self.unreadable(source)
    }
    input.context.pointee.flags |= AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN
    return try digests(of: input, source, exclusion, most)
  }

  private static func unreadable(_ source: BoundedSource) -> MendError {
    if source.stop == .deadline { return MendError(.timeout, "reading it took too long; it may be damaged") }
    let said = String(cString: reel_log_last_error())
    return MendError(.corrupt, "it can't be read" + (said.isEmpty ? "" : " (FFmpeg: \(said))"))
  }

  private static let noMemory = MendError(.memoryLimit, "there is no memory left to read it")

  private func digests(
    of input: borrowing OpenedInput, _ source: BoundedSource, _ exclusion: Exclusion, _ most: [Int64]?
  ) throws(MendError) -> [StreamDigest] {
    var streams: [StreamHash?] = []
    var counted = 0
    for stream in input.streams {
      guard !exclusion.covers(stream) else {
        streams.append(nil)
        continue
      }
      let limit = most.map { counted < $0.count ? $0[counted] : 0 }
      guard let hash = StreamHash(stream, seed: seed, most: limit, mediaTimeOnly: mediaTimeOnly)
      else { throw Self.noMemory }
      streams.append(hash)
      counted += 1
    }
    guard let packet = av_packet_alloc() else { throw Self.noMemory }
    var freed: UnsafeMutablePointer<AVPacket>? = packet
    defer { av_packet_free(&freed) }
    // A packet that can't be read, of a file that was cut off or has a damaged index, is not the last one; and the end of
    // the file is told of it as well.
    var failures = 0
    while failures <= (most == nil ? 10_000 : 100_000), !streams.allSatisfy({ $0?.isFull ?? (most != nil) }) {
      guard av_read_frame(input.context, packet) >= 0 else {
        if source.stop != nil { throw Self.unreadable(source) }
        failures += 1
        continue
      }
      if most == nil { failures = 0 }
      let index = Int(packet.pointee.stream_index)
      if streams.indices.contains(index) { streams[index]?.add(packet) }
      av_packet_unref(packet)
    }
    let chapters = StreamHash.chapters(of: input.context)
    return streams.compactMap { $0?.finished(chapters) }
  }
}

extension PacketDigests.Exclusion {
  fileprivate func covers(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    let isData = stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_DATA
    switch self {
    case .nothing: return false
    case .data: return isData
    case .timedMetadata:
      return isData && FourCharacterCode(codecTag: stream.pointee.codecpar.pointee.codec_tag) != "tmcd"
    }
  }
}
