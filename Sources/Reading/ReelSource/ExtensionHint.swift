import ReelCore

/// What a name in a folder suggests before the file is opened.
enum ExtensionHint: Hashable, Sendable {
  /// Neither a video nor a folder to enter: hidden, AppleDouble, or left by an archiver.
  case ignored
  /// An unfinished download, a lock file, or a camera's low-resolution copy of a video. A folder with such a name is
  /// still a folder.
  case unfinished
  /// It has the extension of a container that Reel accepts.
  case media
  /// It has an extension that files of another kind share, such as `.ts`: the bytes decide.
  case shared
  /// There is something after such an extension, or before it, as programs put it there while they write.
  case doubtful
  /// The name suggests nothing: the bytes decide.
  case nothing

  init(of name: [UInt8]) {
    if Self.isIgnored(name) {
      self = .ignored
    } else if let claimed = SourcePath(bytes: name).claimedExtension {
      let isNone = UnfinishedName.extensions.contains(claimed) || Self.proxies.contains(claimed)
      self = isNone ? .unfinished : Self.claim(claimed, of: name)
    } else {
      self = .nothing
    }
  }

  /// GoPro's and DJI's low-resolution copies of each video, for their apps.
  private static let proxies: Set<String> = ["lrv", "lrf"]

  private static func claim(_ claimed: String, of name: [UInt8]) -> ExtensionHint {
    if AmbiguousExtension.extensions.contains(claimed) { return .shared }
    let stem = SourcePath(bytes: name.dropLast(claimed.utf8.count + 1))
    if MediaContainer.claimableExtensions.contains(claimed) {
      return UnfinishedName.isPart(stem) ? .doubtful : .media
    }
    return UnfinishedName.isMarked(stem) || UnfinishedName.isSuffixed(claimed) ? .doubtful : .nothing
  }

  /// Hidden names (AppleDouble's `._clip.mov` among them), Office's lock files, and the folder of AppleDouble
  /// files that macOS puts into ZIP archives.
  private static func isIgnored(_ name: [UInt8]) -> Bool {
    name.first == UInt8(ascii: ".") || name.starts(with: "~$".utf8) || name.elementsEqual("__MACOSX".utf8)
  }
}

/// How programs name files that are unfinished or set aside.
enum UnfinishedName {
  /// Extensions used by browsers, download managers, torrent clients and upload tools, and those of temporary and lock
  /// files.
  static let extensions: Set<String> = [
    // Browsers: Firefox, Chrome and its relatives, Safari, Opera.
    "part", "crdownload", "crswap", "download", "opdownload",
    // Download managers: aria2, wget, Free Download Manager, FlashGet, DownThemAll, Thunder, yt-dlp, MEGA, DC++.
    "aria2", "aria2__temp", "fdmdownload", "jc!", "dtapart", "xltd", "dap", "idapart", "ytdl", "mega",
    "dctmp",
    // Torrents: qBittorrent, µTorrent, BitComet, BitTorrent, Tixati, Vuze, Resilio.
    "!qb", "ut", "!ut", "ut!", "bc!", "!bt", "!tix", "az!", "!sync", "bts",
    // Transfers: rclone, WinSCP, tacit, FreeFileSync, GoodSync, Cyberduck, lftp, Sonarr and its relatives.
    "partial", "cyberducksegment", "lftp-pget-status", "partial~", "filepart", "tacitpart", "ffs_tmp",
    "_gstmp", "upload", "uploading", "downloading",
    "incomplete",
    "unfinished", "unconfirmed", "inprogress", "in-progress", "transferring", "copying", "writing",
    "recording",
    "tmp", "temp", "lock", "lck", "swp",
    // Suggested by `reel validate` for the second of two identical files.
    "duplicate",
  ]

  /// What programs that write to a file under its final name add to that name for another file, in which they keep their
  /// place until it is complete: aria2, lftp, axel.
  static let controls = [".aria2", ".lftp-pget-status", ".st"].map { Array($0.utf8) }

  /// The file whose writer keeps its place in a file of that name.
  static func subject(ofControl name: [UInt8]) -> [UInt8]? {
    controls.first { name.count > $0.count && name.suffix($0.count) == $0[...] }.map {
      Array(name.dropLast($0.count))
    }
  }

  /// Whether `claimed`, which contains no dot, is a container's extension with something after it: `mp4_exiftool_tmp`,
  /// `mp4~`, `mp4 (1)`.
  static func isSuffixed(_ claimed: String) -> Bool {
    let known = claimed.utf8.prefix { $0.isASCIIAlphanumeric }
    return known.count < claimed.utf8.count
      && MediaContainer.claimableExtensions.contains(String(decoding: known, as: UTF8.self))
  }

  /// Whether a name without its extension contains a container's extension, or a mark of an unfinished file:
  /// `clip.mp4`, `clip.mp4.dropbox`, `clip.mp4f3a1.part`.
  static func isMarked(_ stem: SourcePath) -> Bool {
    var rest = stem
    while let mark = rest.claimedExtension {
      if MediaContainer.claimableExtensions.contains(mark) || isSuffixed(mark) || extensions.contains(mark) {
        return true
      }
      rest = SourcePath(bytes: rest.bytes.dropLast(mark.utf8.count + 1))
    }
    return false
  }

  /// Whether a folder of that name is what a program makes of one unfinished file: Safari's `clip.mp4.download`,
  /// Cyberduck's `clip.mp4.cyberducksegment`, macOS's `clip.mp4.sb-1a2b3c4d-x7Q2`, the parts of an upload that Nextcloud
  /// joins in the end.
  static func isFolder(_ name: [UInt8]) -> Bool {
    let path = SourcePath(bytes: name)
    if path.text.prefixMatch(of: /web-file-upload-[0-9a-f]{16}/) != nil { return true }
    guard let claimed = path.claimedExtension, extensions.contains(claimed) || claimed.hasPrefix("sb-") else {
      return false
    }
    return SourcePath(bytes: name.dropLast(claimed.utf8.count + 1)).claimedExtension.map(
      MediaContainer.claimableExtensions.contains) ?? false
  }

  /// What programs put before a video's extension while they write it; none of these is a word of a title.
  private static let marks: Set<String> = [
    "temp", "tmp", "partial", "incomplete", "uploading", "downloading", "transcoding", "inprogress",
    "in-progress", "crdownload",
  ]

  /// Whether a name without its extension says that the file is being written: `clip.tmp`, or a part that yt-dlp merges
  /// and then removes: `clip.temp`, `clip.f137`, `clip.fhls-720`.
  static func isPart(_ stem: SourcePath) -> Bool {
    guard let mark = stem.claimedExtension else { return false }
    if marks.contains(mark) { return true }
    guard mark.first == "f" else { return false }
    let format = mark.dropFirst()
    let digits = format.prefix { $0.isASCII && $0.isNumber }
    if !digits.isEmpty { return digits.count == format.count || format.dropFirst(digits.count).first == "-" }
    return ["hls-", "dash-", "http-"].contains { format.hasPrefix($0) }
  }
}

/// Folders for discarded files, and those that a system keeps for itself, such as those of second versions of videos.
enum TrashFolder {
  /// In lower case, as Windows and SMB ignore case.
  private static let names: Set<String> = [
    // Synology, QNAP, Windows, macOS on a server, Linux; then Buffalo, NetApp, Nextcloud, SABnzbd.
    "#recycle", "@recycle", "@recently-snapshot", "#snapshot", "@eadir", "@tmp", "@sharebin", "@transcode",
    "$recycle.bin", "recycler", "recycled", "system volume information", "msocache",
    "network trash folder", "temporary items", "thevolumesettingsfolder", "lost+found",
    "@download", "@sharesnap", "@snapshots", "@deleted", "@__thumb", "recycle bin", "recycle.bin",
    "config.msi",
    "$extend", "$winreagent", "trashbox", "~snapshot", "files_trashbin", "files_versions", "__admin__",
  ]

  /// The beginnings of names that continue with a number or the name of the contents: SABnzbd's and NZBGet's, older
  /// QNAP's and Thecus'.
  private static let prefixes = ["_unpack_", "_failed_", "network recycle bin", "_nas_recycle"]

  /// Whether a folder holds what is elsewhere a second time: the small copies that Sony's cameras make, what Plex has
  /// converted, and what Photos, Final Cut Pro and iMovie make of originals in their libraries.
  static func holdsSecondVersions(_ name: [UInt8], at path: SourcePath) -> Bool {
    var parents: [String] {
      WorkingFolder.canonical(path).bytes.split(separator: UInt8(ascii: "/")).dropLast().map {
        String(decoding: $0, as: UTF8.self).lowercased()
      }
    }
    switch String(decoding: name, as: UTF8.self).lowercased() {
    case "plex versions": return true
    case "sub": return parents.last == "m4root"
    case "renders", "derivatives":
      let last = parents.suffix(2)
      return last.last == "resources" && last.first?.hasSuffix(".photoslibrary") == true
    case "render files", "transcoded media":
      return parents.contains { $0.hasSuffix(".fcpbundle") || $0.hasSuffix(".imovielibrary") }
    default: return false
    }
  }

  /// Whether a folder of this name is one of them. SABnzbd and NZBGet unpack in `_UNPACK_NAME`, and chkdsk puts what it
  /// finds into `FOUND.000`.
  static func isOne(_ name: [UInt8]) -> Bool {
    let lower = String(decoding: name, as: UTF8.self).lowercased()
    if names.contains(lower) { return true }
    if lower == "_unpack" || prefixes.contains(where: lower.hasPrefix) { return true }
    return lower.hasPrefix("found.") && lower.utf8.count == 9
      && lower.utf8.suffix(3).allSatisfy { (0x30...0x39).contains($0) }
  }
}
