import ReelCore

/// What it takes to make a file keep a rule. ``FixPlan`` combines the fixes for all rules that a file breaks into one
/// command.
package enum Fix: Hashable, Sendable {
  /// A command for the file as it is, and all that has to be done. ``FixCommand`` replaces its placeholders with names.
  case command(String)
  /// A command without placeholders.
  case ready(String)
  /// `reel mend` does it without loss.
  case mend(Mend)
  /// A raw stream is encoded into a container.
  case wrap
  /// The name gets the extension of the file's real format.
  case rename
  /// ffmpeg rewrites the file and changes these things.
  case convert(Conversion)

  /// Whether it is a command by itself, which can't be combined with another fix.
  var isWhole: Bool {
    switch self {
    case .command, .ready: true
    case .mend, .wrap, .rename, .convert: false
    }
  }
}

/// What ffmpeg has to change in a file.
package struct Conversion: Hashable, Sendable {
  /// Something that a rule refuses, to be replaced by something that it accepts.
  package enum Part: Hashable, Sendable {
    case container, videoCodec, pixels, audioCodec, channels, sampleRate
  }

  /// The filters for a picture, in the order in which they are applied.
  package enum Filter: Hashable, Sendable, Comparable {
    case toStandardRange
    case squarePixels
    case fit(width: Int, height: Int)
    case evenSides

    /// - Parameter hdr: the picture's dynamic range.
    func text(_ hdr: HDR?) -> String {
      switch self {
      case .toStandardRange:
        Self.input(hdr) + "zscale=t=linear:npl=100,tonemap=hable,"
          + "zscale=p=bt709:t=bt709:m=bt709,format=yuv420p"
      case .squarePixels: "scale=trunc(iw*sar/2)*2:trunc(ih/2)*2,setsar=1"
      case .fit(let width, let height):
        "scale=\(width):\(height):force_original_aspect_ratio=decrease:force_divisible_by=2,setsar=1"
      case .evenSides: "crop=trunc(iw/2)*2:trunc(ih/2)*2"
      }
    }

    /// If a file states only the transfer characteristics, zscale finds no conversion. Both kinds use BT.2020 (ITU-R
    /// BT.2100).
    private static func input(_ hdr: HDR?) -> String {
      switch hdr?.kind {
      case .pq?: "setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc,"
      case .hlg?: "setparams=color_primaries=bt2020:color_trc=arib-std-b67:colorspace=bt2020nc,"
      case .dolbyVision?, nil: ""
      }
    }
  }

  package var parts: Set<Part> = []
  package var filters: Set<Filter> = []
  /// Encodes the picture, whatever else is asked for.
  package var encodesVideo = false
  /// The highest number of frames per second.
  package var rate: Double?
  package var hasConstantRate = false
  /// The highest number of bits per second, including sound.
  package var bitRate: Int64?
  /// The largest size in bytes.
  package var bytes: Int64?
  /// The longest duration in seconds.
  package var seconds: Double?
  package var addsSilence = false
  package var dropsMetadata = false

  init(_ parts: Part...) { self.parts = Set(parts) }

  init(_ change: (inout Conversion) -> Void) { change(&self) }

  mutating func add(_ other: Conversion) {
    parts.formUnion(other.parts)
    filters.formUnion(other.filters)
    encodesVideo = encodesVideo || other.encodesVideo
    rate = Self.least(rate, other.rate)
    hasConstantRate = hasConstantRate || other.hasConstantRate
    bitRate = Self.least(bitRate, other.bitRate)
    bytes = Self.least(bytes, other.bytes)
    seconds = Self.least(seconds, other.seconds)
    addsSilence = addsSilence || other.addsSilence
    dropsMetadata = dropsMetadata || other.dropsMetadata
  }

  private static func least<Value: Comparable>(_ one: Value?, _ other: Value?) -> Value? {
    [one, other].compactMap(\.self).min()
  }

  var changesPictures: Bool {
    encodesVideo || !filters.isEmpty || parts.contains(.pixels) || parts.contains(.videoCodec) || rate != nil
      || hasConstantRate || isLimited || cutsClosely
  }

  var changesSound: Bool {
    addsSilence || !parts.isDisjoint(with: [.audioCodec, .channels, .sampleRate]) || isLimited || cutsClosely
  }

  var isLimited: Bool { bitRate != nil || bytes != nil }

  /// Copied frames last a little beyond the cut.
  private var cutsClosely: Bool { seconds.map { $0 < 2 } ?? false }
}

extension HDR {
  /// Whether no filter in ffmpeg can restore the picture's colors: Dolby Vision without a base layer that other players
  /// can show.
  var hasColoursOfItsOwn: Bool { kind == .dolbyVision && profile == 5 }
}

extension Mend {
  /// The flag of `reel mend` for it.
  package var flag: String {
    switch self {
    case .faststart: "--faststart"
    case .unfragment: "--unfragment"
    case .location: "--strip-location"
    case .privateTags: "--strip-private"
    case .credentials: "--drop-credentials"
    case .duration: "--duration"
    case .data: "--drop-data"
    case .salvage: "--salvage"
    case .rotation: "--rotate"
    case .sampleAspectRatio: "--sar"
    case .fileExtension: "--fix-extension"
    }
  }
}
