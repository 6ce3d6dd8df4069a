/// What can be mended in a file without altering its pictures or sound.
package enum Mend: String, CaseIterable, Hashable, Sendable, Codable {
  /// Moves the index before the media data.
  case faststart
  /// Writes a single index for the whole file, instead of one for each fragment.
  case unfragment
  /// Removes everything that reveals where the file was recorded.
  case location
  /// Removes everything that makers of devices and programs write for their own use.
  case privateTags = "private"
  /// Removes Content Credentials, which any other mend would invalidate.
  case credentials
  /// Makes the header state the duration, and adds an index so that players can seek.
  case duration
  /// Removes all tracks except those of pictures, sound and text.
  case data
  /// Makes a file that was cut off complete, up to its last complete picture.
  case salvage
  /// Changes the angle by which the picture is rotated.
  case rotation = "rotate"
  /// Changes the shape of the pixels.
  case sampleAspectRatio = "sar"
  /// Gives its name the extension of its actual format. The file itself stays as it is.
  case fileExtension = "extension"
}

/// The mends requested for a file.
package struct MendOptions: Hashable, Sendable {
  /// The requested mends; ``Mend/rotation`` and ``Mend/sampleAspectRatio`` need their values below.
  package var mends: Set<Mend>
  /// The rotation in clockwise degrees: 0, 90, 180 or 270.
  package var rotation: Int?
  /// The width of a pixel relative to its height.
  package var sampleAspectRatio: SampleAspectRatio?

  /// - Parameters: See the properties; giving a value also requests its mend.
  package init(
    _ mends: Set<Mend> = [], rotation: Int? = nil, sampleAspectRatio: SampleAspectRatio? = nil
  ) {
    self.mends = mends
    self.rotation = rotation
    self.sampleAspectRatio = sampleAspectRatio
    if rotation != nil { self.mends.insert(.rotation) }
    if sampleAspectRatio != nil { self.mends.insert(.sampleAspectRatio) }
  }
}

extension MendOptions {
  /// Returns those mends that a file with these facts may need; the mending itself examines the file more closely.
  /// - Parameter media: The facts of the file; nil if none are known.
  package func needed(by media: MediaInfo?, at path: SourcePath) -> MendOptions {
    guard let media else { return self }
    var needed = self
    needed.mends = mends.filter { isNeeded($0, by: media, at: path) }
    return needed
  }

  private func isNeeded(_ mend: Mend, by media: MediaInfo, at path: SourcePath) -> Bool {
    let isISO = media.container.isISO
    switch mend {
    case .faststart: return isISO && (media.fastStart != true || mends.contains(.unfragment))
    case .unfragment: return isISO && media.fragmented == true
    case .location: return isISO || media.hasLocation == true
    case .credentials: return media.contentCredentials != false
    case .privateTags, .data: return true
    // No fact states whether there is an index.
    case .duration: return media.container.isMatroska
    case .salvage: return media.truncated != false
    case .rotation:
      return media.video != nil
        && (media.video?.rotation ?? 0, media.video?.mirrored ?? false) != (rotation ?? 0, false)
    case .sampleAspectRatio:
      return media.video.map { $0.sampleAspectRatio?.ratio != sampleAspectRatio?.ratio } ?? false
    case .fileExtension:
      return path.claimedExtension.map { media.container.contradicts(claimedExtension: $0) } ?? false
    }
  }
}

/// Mends files, and proves each time that nothing else in them has changed.
package protocol MediaMender: Sendable {
  /// Mends `file`. Blocks.
  /// - Parameter output: An empty file, open for reading and writing; it stays open. If this throws, its content is
  ///   useless.
  /// - Throws: `notMendable`, `notProven`, `notWritten`, the errors for files that cannot be read, `cancelled`.
  func mend(
    _ file: SourceFile, _ options: MendOptions, into output: Int32, cancellation: CancellationFlag
  ) throws(MendError) -> MendOutcome
}

/// What was done to a file.
package struct MendOutcome: Hashable, Sendable {
  /// What was mended; empty if there was nothing to mend, in which case nothing was written.
  package let done: Set<Mend>
  /// The size of the mended file in bytes.
  package let size: Int64
  /// The number of packets in its video streams.
  package let pictures: Int64
  /// When its last picture or sound ends, in seconds, according to all packets; nil if none has a timestamp.
  package let end: Double?

  /// - Parameters: See the properties.
  package init(done: Set<Mend>, size: Int64, pictures: Int64, end: Double?) {
    self.done = done
    self.size = size
    self.pictures = pictures
    self.end = end
  }
}

/// Evidence that a stream is the same in two files: its number of packets, and a digest of its parameters and of
/// the times, flags and bytes of each packet, in order.
package struct StreamDigest: Hashable, Sendable {
  /// The kind of content in the stream.
  package enum Kind: CaseIterable, Sendable {
    case video, audio, subtitle, data, attachment, unknown
  }
  /// What is included in the digests of a file.
  package struct Options: Hashable, Sendable {
    /// Which streams are excluded.
    package enum Exclusion: CaseIterable, Sendable {
      case nothing
      /// Data streams other than timecodes.
      case timedMetadata
      case data
    }
    package let exclusion: Exclusion
    /// For each included stream, how many packets are included; nil for all.
    package let most: [Int64]?
    /// Whether times are relative to the first packet of each stream, and packet durations are ignored.
    package let mediaTimeOnly: Bool
    /// Whether the rotation of the pictures and the shape of their pixels are included.
    package let shapeCounts: Bool
    /// Whether covers are included completely, and attached Content Credentials at all; otherwise only the pixels
    /// of covers are.
    package let metadataCounts: Bool
    /// The same for files that are compared, and unknown to whoever made them: the digest (XXH3) does not withstand
    /// an attacker who knows the seed.
    package let seed: UInt64

    /// - Parameters: See the properties.
    package init(
      exclusion: Exclusion, most: [Int64]?, mediaTimeOnly: Bool, shapeCounts: Bool,
      metadataCounts: Bool, seed: UInt64
    ) {
      self.exclusion = exclusion
      self.most = most
      self.mediaTimeOnly = mediaTimeOnly
      self.shapeCounts = shapeCounts
      self.metadataCounts = metadataCounts
      self.seed = seed
    }
  }
  /// The length of a digest in bytes.
  package static let length = 16

  package let kind: Kind
  package let packets: Int64
  /// The digest, of ``length`` bytes.
  package let digest: [UInt8]
  /// The earliest presentation time of a packet, in nanoseconds; nil if no packet has one.
  package let start: Int64?
  /// The end of the packet that is presented last, in nanoseconds. A packet without a duration is assumed to last
  /// as long as the one before it.
  package let end: Int64?

  /// - Parameters: See the properties.
  package init(kind: Kind, packets: Int64, digest: [UInt8], start: Int64?, end: Int64?) {
    self.kind = kind
    self.packets = packets
    self.digest = digest
    self.start = start
    self.end = end
  }

  /// Whether the packets of both streams are the same.
  package func holdsTheSame(as other: StreamDigest) -> Bool {
    (kind, packets, digest) == (other.kind, other.packets, other.digest)
  }
}

/// Why a file was not mended. The error concerns only this file, except for the codes of
/// ``PosterError/Code/isInstallation``.
package struct MendError: ReelError, Hashable, Sendable {
  /// Error codes for programs.
  package enum Code: String, Sendable, CaseIterable {
    /// The requested mend is impossible for such a file.
    case notMendable
    /// The mended file does not have the same content as the source, or lacks what was requested.
    case notProven
    /// The disk is full, or the file could not be written.
    case notWritten
    /// A file with this name already exists, and is not replaced.
    case nameTaken
    /// The mended file's name has the extension of a different format.
    case nameRefused
    /// The file cannot be read; see ``ProbeError/Code``.
    case notMedia, playlist, unsupported, truncated, indexMissing, corrupt, empty, lfsPointer, externalMedia
    /// The file cannot be read; see ``ProbeError/Code``.
    case sourceChanged, unreadable
    /// The file cannot be read; see ``ProbeError/Code``.
    case timeout, memoryLimit, crashed, sandboxViolation, implausible
    /// The file cannot be read, and neither can any other.
    case workerMissing, workerBroken, isolationUnavailable
    /// The file cannot be read, for a reason that says nothing about the file.
    case tooManyOpenFiles, noReader
    /// The run was cancelled.
    case cancelled

    /// Whether every other file would fail in the same way, so that the run ends.
    package var isInstallation: Bool { ProbeError.Code(rawValue: rawValue)?.isInstallation ?? false }
  }
  package let code: Code
  /// What went wrong and what to do, without the file's name; one sentence for people.
  package var message: String { text.description }
  /// ``message``, with the settings that it names kept as values.
  package let text: ErrorMessage
  /// A further mend that would help, if one is known.
  package let remedy: Mend?

  /// - Parameter text: Follows the file's name when it is shown.
  package init(_ code: Code, _ text: ErrorMessage, remedy: Mend? = nil) {
    self.code = code
    self.text = text
    self.remedy = remedy
  }

  /// Creates an error whose message is plain text and names no setting.
  @_disfavoredOverload
  package init(_ code: Code, _ message: String, remedy: Mend? = nil) {
    self.init(code, ErrorMessage(message), remedy: remedy)
  }

  /// Creates an error with the code and text of the probe error for a file that cannot be read.
  package init(_ error: ProbeError) {
    self.init(Code(rawValue: error.code.rawValue) ?? .unreadable, error.text)
  }
}
