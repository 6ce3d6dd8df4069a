import NIOCore
import Synchronization

/// Extracts the video and the texts from a form as it comes.
final class FormReader: Sendable {
  private struct State {
    var parser: MultipartParser
    var words: [String: [UInt8]] = [:]
    var wordCount = 0
    /// The number of bytes that are not the video's.
    var otherCount = 0
    /// The name of the current part; nil for the video.
    var name: String?
    var hasVideo = false
    /// Whether bytes of the current file have come.
    var isFileBegun = false
  }
  /// The fields that are kept.
  private static let names: Set = ["author", "authorName", "caption", "music"]
  /// The most bytes of all texts together.
  private static let longestWords = 16_384
  /// The most bytes of all that is not the video: texts, headers, what is before and after.
  static let longestRest = 65_536
  private let state: Mutex<State>

  /// Nil for a body that is not a form.
  /// - Throws: a 400 for a form without a boundary.
  init?(contentType: String?) throws(Problem) {
    guard let boundary = try MultipartParser.boundary(of: contentType) else { return nil }
    state = Mutex(State(parser: MultipartParser(boundary: boundary)))
  }

  /// The bytes of the video among `bytes`.
  /// - Throws: a 400 for what is not a form, for more than one file, for a field that occurs twice, or for too much
  ///   else.
  func video(in bytes: ByteBuffer) throws(Problem) -> ByteBuffer {
    try state.withLock { state throws(Problem) in
      var video = ByteBuffer()
      for event in try state.parser.parse(bytes.readableBytesView) {
        switch event {
        case .part(let name, let isFile):
          (state.name, state.isFileBegun) = (isFile ? nil : name, false)
          if !isFile, Self.names.contains(name), state.words.updateValue([], forKey: name) != nil {
            throw .badRequest("the form has \(name) twice")
          }
        case .bytes(let bytes):
          guard let name = state.name else {
            // Browsers also send a file field without a chosen file, as an empty file.
            if !state.isFileBegun, state.hasVideo { throw .badRequest("a form may have one file") }
            (state.isFileBegun, state.hasVideo) = (true, true)
            video.writeBytes(bytes)
            continue
          }
          guard Self.names.contains(name) else { continue }
          state.words[name, default: []] += bytes
          state.wordCount += bytes.count
          guard state.wordCount <= Self.longestWords else {
            throw .badRequest("the words of the form are too long")
          }
        case .end: break
        }
      }
      state.otherCount += bytes.readableBytes - video.readableBytes
      guard state.otherCount <= Self.longestRest else {
        throw .badRequest("there is too much in the form beside its video")
      }
      return video
    }
  }

  /// - Throws: a 400 for a form that has no video, or no end.
  func check() throws(Problem) {
    try state.withLock { state throws(Problem) in
      guard state.parser.isAtEnd, state.hasVideo else {
        throw .badRequest("the form has no file, or is incomplete")
      }
    }
  }

  subscript(_ name: String) -> String? {
    state.withLock { $0.words[name].flatMap { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) } }
  }
}
