import CFFmpeg
import ReelCore
import ReelProbe

/// The digests of a file's streams, read with FFmpeg's demuxer. They prove that two files hold the same.
///
/// No decoder is opened and no time is guessed. Times are those that the container states. Edit lists only shift a
/// whole track, so that every packet counts.
package struct PacketDigests {
  private let limits: ReadingLimits
  private let options: StreamDigest.Options

  /// - Parameter limits: the limits on reading one file.
  package init(limits: ReadingLimits, options: StreamDigest.Options) {
    (self.limits, self.options) = (limits, options)
  }

  /// Returns the digests of the streams, in their order.
  /// - Throws: the errors of files that can't be read.
  package func digests(
    descriptor: Int32, size: Int64, container: MediaContainer
  ) throws(MendError) -> [StreamDigest] {
    reel_log_capture()
    av_max_alloc(max(0, limits.largestAllocation))
    let source = BoundedSource(.descriptor(descriptor), size: size, limits: limits)
    let digests = try digests(of: open(source, container, withEdits: !options.mediaTimeOnly), source)
    guard options.mediaTimeOnly else { return digests }
    // The edit lists decide which of two streams begins first.
    let again = BoundedSource(.descriptor(descriptor), size: size, limits: limits)
    let starts = try starts(of: open(again, container, withEdits: true), again)
    guard starts.count == digests.count else { throw unreadable(again) }
    return zip(digests, starts).map { digest, start in
      StreamDigest(
        kind: digest.kind, packets: digest.packets, digest: digest.digest, start: start, end: digest.end)
    }
  }

  private func open(
    _ source: BoundedSource, _ container: MediaContainer, withEdits: Bool
  ) throws(MendError) -> OpenedInput {
    let option = withEdits ? ("advanced_editlist", "0") : ("ignore_editlist", "1")
    let input = try rethrowing(as: { _ in unreadable(source) }) { () throws(OpenedInput.Failure) in
      try OpenedInput.open(
        source, demuxer: container.demuxer, decoding: .all, limits: limits,
        options: container.isISO ? [option.0: option.1] : [:])
    }
    input.context.pointee.flags |= AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN
    return input
  }

  /// The largest number of packets that are decoded before the one that is shown first.
  private static let reordered: Int64 = 16

  /// Returns the first presentation time of each stream that counts, in nanoseconds.
  private func starts(
    of input: borrowing OpenedInput, _ source: BoundedSource
  ) throws(MendError) -> [Int64?] {
    var first: [(shown: ShownTime, left: Int64)?] = []
    var counted = 0
    for stream in input.streams {
      guard !isLeftOut(stream) else {
        first.append(nil)
        continue
      }
      let limit = options.most.map { counted < $0.count ? $0[counted] : 0 } ?? .max
      first.append((ShownTime(), min(limit, Self.reordered)))
      counted += 1
    }
    try eachPacket(of: input, source, isDone: { first.allSatisfy { $0?.left ?? 0 <= 0 } }) { packet in
      let index = Int(packet.pointee.stream_index)
      guard first.indices.contains(index), first[index]?.left ?? 0 > 0 else { return }
      first[index]?.shown.add(packet.pointee)
      first[index]?.left -= 1
    }
    return zip(input.streams, first).compactMap { stream, first in
      first.map { $0.shown.start(stream.pointee.time_base) }
    }
  }

  private func isLeftOut(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
    options.exclusion.covers(stream) || !options.metadataCounts && StreamHash.isManifest(stream)
  }

  private func unreadable(_ source: BoundedSource) -> MendError {
    // The whole file is read here, so an exhausted budget does not mean that its header asks for too much.
    if source.stop != .budget, let stopped = FileMender(limits: limits).stopped(source) { return stopped }
    let said = String(cString: reel_log_last_error())
    return MendError(.corrupt, "it can't be read" + (said.isEmpty ? "" : " (FFmpeg: \(said))"))
  }

  private static let noMemory = MendError(.memoryLimit, "there is no memory left to read it")

  private func digests(
    of input: borrowing OpenedInput, _ source: BoundedSource
  ) throws(MendError) -> [StreamDigest] {
    var streams: [StreamHash?] = []
    var (counted, lacksMemory) = (0, false)
    let context = input.context
    // Some demuxers find streams as they read.
    func follow() {
      while streams.count < Int(context.pointee.nb_streams), !lacksMemory {
        guard let stream = context.pointee.streams?[streams.count], !isLeftOut(stream) else {
          streams.append(nil)
          continue
        }
        let limit = options.most.map { counted < $0.count ? $0[counted] : 0 }
        let hash = StreamHash(
          stream, seed: options.seed, most: limit, mediaTimeOnly: options.mediaTimeOnly,
          shapeCounts: options.shapeCounts, metadataCounts: options.metadataCounts)
        lacksMemory = hash == nil
        streams.append(hash)
        counted += 1
      }
    }
    follow()
    let mayFindMore = context.pointee.ctx_flags & AVFMTCTX_NOHEADER != 0
    try eachPacket(
      of: input, source,
      isDone: { lacksMemory || !mayFindMore && streams.allSatisfy { $0?.isFull ?? (options.most != nil) } },
      mostFailures: options.most.map { _ in 100_000 }
    ) { packet in
      follow()
      let index = Int(packet.pointee.stream_index)
      if streams.indices.contains(index) { streams[index]?.add(packet) }
    }
    guard !lacksMemory else { throw Self.noMemory }
    let chapters = StreamHash.chapters(of: input.context)
    return streams.compactMap { $0?.finished(chapters) }
  }

  /// - Parameter mostFailures: the largest number of failed reads in all; if nil, of consecutive ones.
  private func eachPacket(
    of input: borrowing OpenedInput, _ source: BoundedSource, isDone: () -> Bool, mostFailures: Int? = nil,
    _ body: (UnsafeMutablePointer<AVPacket>) -> Void
  ) throws(MendError) {
    guard let packet = av_packet_alloc() else { throw Self.noMemory }
    var freed: UnsafeMutablePointer<AVPacket>? = packet
    defer { av_packet_free(&freed) }
    // In a file that was cut off or has a damaged index, a packet that can't be read need not be the last one, though
    // FFmpeg reports the end of the file for it, too.
    var failures = 0
    while failures <= mostFailures ?? 10_000, !isDone() {
      guard av_read_frame(input.context, packet) >= 0 else {
        if source.stop != nil { throw unreadable(source) }
        failures += 1
        continue
      }
      if mostFailures == nil { failures = 0 }
      body(packet)
      av_packet_unref(packet)
    }
  }
}

extension StreamDigest.Options.Exclusion {
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
