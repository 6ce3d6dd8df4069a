import CFFmpeg
import Glibc

/// A file that FFmpeg has opened over a ``BoundedSource``, with only the demuxer it was told to use. FFmpeg gets no
/// file name, no protocol and no other file.
package struct OpenedInput: ~Copyable {
  /// FFmpeg's own error code.
  package struct Failure: Error {
    package let code: Int32
  }

  /// FFmpeg's context, valid as long as this value exists.
  package let context: UnsafeMutablePointer<AVFormatContext>
  private let input: UnsafeMutablePointer<AVIOContext>
  /// Retained here because the callbacks hold only its address.
  private let source: BoundedSource

  private init(
    adopting context: UnsafeMutablePointer<AVFormatContext>, _ input: UnsafeMutablePointer<AVIOContext>,
    _ source: BoundedSource
  ) {
    self.context = context
    self.input = input
    self.source = source
  }

  /// Opens a file.
  ///
  /// - Parameter options: options of the demuxer.
  /// - Throws: ``Failure`` if the demuxer does not accept the file, or memory is short.
  package static func open(
    _ source: BoundedSource, demuxer: String, decoding video: CodecAllowList.Video, limits: ReadingLimits,
    options: [String: String] = [:]
  ) throws(Failure) -> OpenedInput {
    guard let input = makeInput(over: source) else { throw Failure(code: reel_error_no_memory) }
    guard let format = av_find_input_format(demuxer),
      let prepared = prepare(input, source, format, CodecAllowList.option(for: demuxer, video), limits)
    else {
      free(input)
      throw Failure(code: reel_error_no_memory)
    }
    // On failure FFmpeg frees the context and clears the pointer.
    var opened: UnsafeMutablePointer<AVFormatContext>? = prepared
    var dictionary: OpaquePointer?
    defer { av_dict_free(&dictionary) }
    for (key, value) in options { av_dict_set(&dictionary, key, value, 0) }
    let result = avformat_open_input(&opened, "", format, &dictionary)
    guard result >= 0, let opened else {
      free(input)
      throw Failure(code: result)
    }
    let made = OpenedInput(adopting: opened, input, source)
    for stream in made.streams { nameCodec(of: stream) }
    return made
  }

  /// Sets the rate of Opus, which is always the same. FFmpeg computes a packet's duration from the rate that the
  /// container claims.
  func nameRates() {
    for stream in streams where stream.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_OPUS {
      stream.pointee.codecpar.pointee.sample_rate = Int32(OpusHeader.sampleRate)
    }
  }

  /// Sets the codec of a sample entry whose name FFmpeg does not know: `dav1` is AV1 with Dolby Vision.
  private static func nameCodec(of stream: UnsafeMutablePointer<AVStream>) {
    guard let parameters = stream.pointee.codecpar, parameters.pointee.codec_id == AV_CODEC_ID_NONE,
      parameters.pointee.codec_type == AVMEDIA_TYPE_VIDEO,
      FourCharacterCode(codecTag: parameters.pointee.codec_tag) == "dav1"
    else { return }
    parameters.pointee.codec_id = AV_CODEC_ID_AV1
  }

  deinit {
    var closing: UnsafeMutablePointer<AVFormatContext>? = context
    avformat_close_input(&closing)
    Self.free(input)
  }

  /// The streams, in the order of the file.
  package var streams: [UnsafeMutablePointer<AVStream>] {
    guard let list = context.pointee.streams else { return [] }
    return (0..<Int(context.pointee.nb_streams)).compactMap { list[$0] }
  }

  /// The bytes that FFmpeg reads ahead at a time.
  private static let bufferSize = 32_768

  private static func makeInput(over source: BoundedSource) -> UnsafeMutablePointer<AVIOContext>? {
    guard let buffer = av_malloc(bufferSize) else { return nil }
    let address = Unmanaged.passUnretained(source).toOpaque()
    let input = avio_alloc_context(
      buffer.assumingMemoryBound(to: UInt8.self), Int32(bufferSize), 0, address, readCallback, nil,
      seekCallback)
    if input == nil { av_free(buffer) }
    return input
  }

  private static func prepare(
    _ input: UnsafeMutablePointer<AVIOContext>, _ source: BoundedSource,
    _ format: UnsafePointer<AVInputFormat>, _ decoders: String, _ limits: ReadingLimits
  ) -> UnsafeMutablePointer<AVFormatContext>? {
    guard let context = avformat_alloc_context() else { return nil }
    context.pointee.pb = input
    context.pointee.interrupt_callback = AVIOInterruptCB(
      callback: interruptCallback, opaque: Unmanaged.passUnretained(source).toOpaque())
    context.pointee.probesize = max(32, limits.probeBytes)
    context.pointee.max_streams = Int32(clamping: limits.streams)
    context.pointee.format_whitelist = av_strdup(format.pointee.name)
    context.pointee.codec_whitelist = av_strdup(decoders)
    context.pointee.protocol_whitelist = av_strdup("none")
    reel_forbid_opening(context)
    return context
  }

  /// Frees the I/O context and its current buffer, which need not be the original one: FFmpeg may have replaced it.
  private static func free(_ input: UnsafeMutablePointer<AVIOContext>) {
    av_freep(&input.pointee.buffer)
    var freed: UnsafeMutablePointer<AVIOContext>? = input
    avio_context_free(&freed)
  }
}

private func source(at address: UnsafeMutableRawPointer) -> BoundedSource {
  Unmanaged<BoundedSource>.fromOpaque(address).takeUnretainedValue()
}

private func readCallback(
  _ address: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int32
) -> Int32 {
  guard let address, let buffer, count > 0 else { return reel_error_argument }
  let source = source(at: address)
  let room = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
  guard let got = source.read(into: room, at: source.position) else {
    return source.stop == .deadline ? reel_error_exit : reel_error_io
  }
  source.position += Int64(got)
  return got == 0 ? reel_error_eof : Int32(got)
}

private func seekCallback(_ address: UnsafeMutableRawPointer?, _ offset: Int64, _ whence: Int32) -> Int64 {
  guard let address else { return Int64(reel_error_argument) }
  let source = source(at: address)
  let base: Int64
  switch whence & ~reel_seek_force {
  case reel_seek_size: return source.size
  case SEEK_SET: base = 0
  case SEEK_CUR: base = source.position
  case SEEK_END: base = source.size
  default: return Int64(reel_error_argument)
  }
  let (target, overflow) = base.addingReportingOverflow(offset)
  guard !overflow, target >= 0 else { return Int64(reel_error_argument) }
  source.position = target
  return target
}

private func interruptCallback(_ address: UnsafeMutableRawPointer?) -> Int32 {
  guard let address else { return 0 }
  return source(at: address).isOverdue() ? 1 : 0
}
