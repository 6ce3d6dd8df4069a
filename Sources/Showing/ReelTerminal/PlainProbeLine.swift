import ReelCore
import ReelIngest

/// The line of a probed file, assembled without an encoder, which would cost a fifth of all that a file costs `reel`
/// apart from its reader. It is exactly what the encoder would write, and is used only if no text needs an escape.
struct PlainProbeLine {
  private var line: [UInt8] = []
  private var isPlain = true

  /// The line and its newline; nil if the encoder has to write it.
  static func text(of document: ProbedFile) -> String? {
    guard case .success(let report) = document.result, document.path.bytes.allSatisfy({ $0 < 0x80 }) else {
      return nil
    }
    var line = PlainProbeLine()
    line.line.reserveCapacity(1200)
    line.add(report, document)
    return line.isPlain ? String(decoding: line.line, as: UTF8.self) : nil
  }

  private mutating func add(_ report: ProbeReport, _ document: ProbedFile) {
    put(#"{"media":"#)
    add(report.media, isMismatch: document.extensionMismatch)
    put(#","ok":true"#)
    add("path", document.path.bytes)
    let probe = report.provenance
    put(#","probe":{"ffmpeg":"#)
    add(text: probe.ffmpeg.utf8)
    add("isolation", probe.isolation.rawValue)
    add("method", probe.method.rawValue)
    put("}}\n")
  }

  private mutating func add(_ media: MediaInfo, isMismatch: Bool) {
    put(#"{"artist":"#)
    addValue(media.artist)
    put(#","audio":["#)
    for (index, audio) in media.audio.enumerated() {
      put(index == 0 ? #"{"channels":"# : #",{"channels":"#)
      addValue(audio.channels)
      add("codec", audio.codec)
      add("sampleRate", audio.sampleRate)
      put("}")
    }
    put("]")
    add("bitRate", media.bitRate)
    add("container", media.container.rawValue)
    add("contentCredentials", media.contentCredentials)
    add("contentIdentifier", media.contentIdentifier)
    add("contentType", media.container.contentType)
    add("createdAt", media.createdAt.map { ISOTime.text($0, .secondsOrMilliseconds) })
    add("duration", media.duration)
    add("durationSource", media.durationSource?.rawValue)
    add("encrypted", media.encrypted)
    add("extension", media.container.fileExtension)
    add("extensionMismatch", isMismatch)
    add("external", media.external)
    add("fastStart", media.fastStart)
    add("fragmented", media.fragmented)
    add("hasCover", media.hasCover)
    add("hasLocation", media.hasLocation)
    add("presentDuration", media.presentDuration)
    add("size", media.size)
    add("title", media.title)
    add("truncated", media.truncated)
    put(#","video":"#)
    if let video = media.video { add(video) } else { put("null") }
    put(#","warnings":["#)
    for (index, warning) in media.warnings.enumerated() {
      put(index == 0 ? #"{"code":"# : #",{"code":"#)
      add(text: warning.code.rawValue.utf8)
      add("fact", warning.fact)
      add("measured", warning.measured)
      add("message", warning.message)
      add("stated", warning.stated)
      put("}")
    }
    put("]}")
  }

  private mutating func add(_ video: VideoFacts) {
    put(#"{"bitDepth":"#)
    addValue(video.bitDepth)
    add("bitRate", video.bitRate)
    add("chroma", video.chroma)
    add("codec", video.codec)
    add("frameRate", video.frameRate?.description)
    add("hasCover", video.hasCover)
    add("hasSamples", video.hasSamples)
    put(#","hdr":"#)
    if let hdr = video.hdr {
      put(#"{"kind":"#)
      add(text: hdr.kind.rawValue.utf8)
      add("profile", hdr.profile)
      put("}")
    } else {
      put("null")
    }
    add("height", video.height)
    add("mirrored", video.mirrored)
    add("pixelFormat", video.pixelFormat)
    add("profile", video.profile)
    add("rotation", video.rotation)
    add("sampleAspectRatio", video.sampleAspectRatio?.description)
    add("storedHeight", video.storedHeight)
    add("storedWidth", video.storedWidth)
    add("streams", video.streams)
    add("variableFrameRate", video.variableFrameRate)
    add("width", video.width)
    put("}")
  }

  // MARK: Keys and values

  private mutating func put(_ text: StaticString) {
    text.withUTF8Buffer { line += $0 }
  }

  private mutating func put(key: StaticString) {
    put(",\"")
    put(key)
    put("\":")
  }

  private mutating func add(_ key: StaticString, _ value: String?) {
    put(key: key)
    addValue(value)
  }

  private mutating func add(_ key: StaticString, _ bytes: [UInt8]) {
    put(key: key)
    add(text: bytes)
  }

  private mutating func add(_ key: StaticString, _ value: (some BinaryInteger)?) {
    put(key: key)
    addValue(value)
  }

  private mutating func add(_ key: StaticString, _ value: Bool?) {
    put(key: key)
    switch value {
    case true?: put("true")
    case false?: put("false")
    case nil: put("null")
    }
  }

  private mutating func add(_ key: StaticString, _ value: MediaWarning.Value?) {
    switch value {
    case .number(let number): add(key, number)
    case .text(let text): add(key, text)
    case nil: add(key, nil as String?)
    }
  }

  private mutating func add(_ key: StaticString, _ value: Double?) {
    put(key: key)
    guard let value else { return put("null") }
    // Where the encoder uses no exponent, it writes numbers as Swift does, but whole numbers without a fraction.
    guard value.isFinite, abs(value) < 1e15, abs(value) >= 1e-4 || value == 0, value.sign == .plus else {
      isPlain = false
      return
    }
    if value == value.rounded() { line += "\(Int64(value))".utf8 } else { line += "\(value)".utf8 }
  }

  private mutating func addValue(_ value: String?) {
    if let value { add(text: value.utf8) } else { put("null") }
  }

  private mutating func addValue(_ value: (some BinaryInteger)?) {
    if let value { line += "\(value)".utf8 } else { put("null") }
  }

  private mutating func add(text: some Collection<UInt8>) {
    isPlain = isPlain && PlainEventLine.isPlain(text)
    put("\"")
    line += text
    put("\"")
  }
}
