import Glibc
import ReelCore
import ReelIngest
import ReelSource

/// Where pictures go: to a file, a folder, or standard output.
package enum PictureTarget: Sendable {
  case file(SourcePath)
  case folder(SourcePath)
  case standardOutput

  /// Whether pictures go to standard output.
  package var isStandardOutput: Bool {
    if case .standardOutput = self { true } else { false }
  }

  /// Creates the folder unless it exists.
  fileprivate func prepare() throws(PictureRefusal) {
    guard case .folder(let path) = self, path.fileKind != S_IFDIR else { return }
    guard path.withCString({ mkdir($0, 0o777) }) == 0 else {
      throw PictureRefusal("\(path.text) can't be made: \(SystemError.last("mkdir").reason)")
    }
  }

  /// Returns the name that `file` should have, if its extension is known to be another format's.
  package static func name(insteadOf file: SourcePath) -> String? {
    guard let ending = file.claimedExtension, isOtherFormat(ending) else { return nil }
    return SourcePath(bytes: file.bytes.dropLast(ending.utf8.count)).text + "jpg"
  }

  /// Whether a file with this extension is known not to be a JPEG.
  private static func isOtherFormat(_ ending: String) -> Bool {
    otherFormats.contains(ending) || MediaContainer.claimableExtensions.contains(ending)
  }

  private static let otherFormats: Set<String> = [
    "apng", "arw", "avif", "avifs", "bmp", "cr2", "cr3", "dds", "dib", "dng", "emf", "eps", "exr", "gif",
    "hdr", "heic",
    "heics", "heif", "heifs", "hif", "icns", "ico", "j2c", "j2k", "jp2", "jpf", "jpm", "jpx", "jxl", "jxr",
    "nef", "orf",
    "pam", "pbm", "pcx", "pdf", "pgm", "png", "pnm", "ppm", "ps", "psb", "psd", "qoi", "raf", "rw2", "svg",
    "svgz", "tga",
    "tif", "tiff", "wbmp", "wdp", "webp", "wmf", "xbm", "xcf", "xpm",
  ]
}

/// The reason why no picture can be written there.
package struct PictureRefusal: ReelError {
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// Writes pictures, each completely or not at all.
///
/// In a folder, a picture replaces no other file, unless it may replace earlier pictures. In place of a named file, it
/// replaces an earlier picture. Anything that is not a JPEG is never replaced, nor is a source.
package struct PictureWriter {
  private let target: PictureTarget
  /// Takes a picture for standard output.
  private let output: @Sendable ([UInt8]) throws -> Void
  /// Whether pictures that are already in the folder are replaced.
  private let replacesPictures: Bool
  /// Names that this run has used in the folder.
  private var taken: Set<[UInt8]> = []
  /// The last number used, by the name before it.
  private var lastNumbers: [[UInt8]: Int] = [:]
  /// The files of which pictures are made.
  private var sources: Set<DirectoryIdentity> = []

  /// - Throws: ``PictureRefusal`` if the folder can't be created, or if the picture
  ///   must not replace what is in its place.
  package init(
    _ target: PictureTarget, replacesPictures: Bool, output: @escaping @Sendable ([UInt8]) throws -> Void
  ) throws(PictureRefusal) {
    (self.target, self.replacesPictures, self.output) = (target, replacesPictures, output)
    try target.prepare()
    if case .file(let path) = target { try checkReplaceable(path) }
  }

  /// The existing picture that a named target replaces, if any.
  package var replaced: SourcePath? {
    guard case .file(let path) = target, let status = path.fileStatus, status.st_mode & S_IFMT == S_IFREG,
      status.st_size > 0
    else { return nil }
    return path
  }

  /// Remembers a file of which a picture is made, so that it is never replaced.
  package mutating func spare(_ source: FileIdentity) {
    sources.insert(DirectoryIdentity(source))
  }

  /// Writes the picture of `source`, and returns where it is now.
  /// - Throws: `FileFailure` if this picture can't have its name, ``PictureRefusal`` if no other picture can be written
  ///   either, and what `output` throws.
  package mutating func write(_ bytes: [UInt8], of source: SourcePath) throws -> SourcePath {
    switch target {
    case .standardOutput:
      try output(bytes)
      return SourcePath("-")
    case .file(let path):
      try checkReplaceable(path)
      do throws(SystemError) { try Self.write(bytes, to: path) } catch { throw Self.failure(path, error) }
      return path
    case .folder(let folder):
      let path = folder.appending(name(for: source, in: folder))
      do throws(SystemError) {
        if try Self.place(bytes, at: path) { return path }
      } catch {
        guard error.isAboutName else { throw Self.failure(path, error) }
        throw FileFailure(code: "nameRefused", message: "\(path.text) can't be written: \(error.reason)")
      }
      // An earlier run made the same of this video.
      if Self.holds(path, bytes) { return path }
      try replace(path, with: bytes)
      return path
    }
  }

  /// Puts the picture in place of an earlier one.
  /// - Throws: as ``write(_:of:)``.
  private func replace(_ path: SourcePath, with bytes: [UInt8]) throws {
    guard let status = path.ownStatus, isPicture(path, status) else {
      throw FileFailure(
        code: "nameTaken", message: "\(path.text) already exists and is not a JPEG; name another folder")
    }
    guard replacesPictures else {
      throw FileFailure(
        code: "nameTaken",
        message:
          "\(path.text) already exists and is a different picture; name another folder, or use --force")
    }
    do throws(SystemError) { try Self.replace(path, bytes) } catch { throw Self.failure(path, error) }
  }

  // MARK: Names

  private static let ending = Array(".jpg".utf8)

  /// Returns `clip.jpg` for `clip.mp4`; if that is taken in this run, or is a source,
  /// `clip.mp4.jpg`, then `clip.mp4-2.jpg`.
  private mutating func name(for source: SourcePath, in folder: SourcePath) -> [UInt8] {
    let name = source.lastComponent.bytes
    let stem = source.claimedExtension.map { Array(name.dropLast($0.utf8.count + 1)) } ?? name
    let longest = longest(in: folder)
    let names = [Self.name(stem, "", longest), Self.name(name, "", longest)]
    func isFree(_ name: [UInt8]) -> Bool {
      !taken.contains(name) && !isSource(folder.appending(name).fileStatus)
    }
    var free = names.first(where: isFree) ?? []
    while free.isEmpty {
      let number = (lastNumbers[name] ?? 1) + 1
      lastNumbers[name] = number
      let other = Self.name(name, "-\(number)", longest)
      if isFree(other) { free = other }
    }
    taken.insert(free)
    return free
  }

  /// The most bytes of a name that the folder's file system allows; encrypted ones allow fewer than 255.
  private func longest(in folder: SourcePath) -> Int {
    var facts = statvfs()
    guard folder.withCString({ statvfs($0, &facts) }) == 0 else { return 255 }
    return Int(min(255, max(64, facts.f_namemax)))
  }

  /// Returns as much of the stem as leaves room for the rest, without splitting a character.
  private static func name(_ stem: [UInt8], _ number: String, _ longest: Int) -> [UInt8] {
    let rest = Array(number.utf8) + ending
    var stem = stem
    if stem.count + rest.count > longest {
      var end = longest - rest.count
      while end > 0, stem[end] & 0xC0 == 0x80 { end -= 1 }
      stem = Array(stem[..<end])
    }
    return stem + rest
  }

  // MARK: Existing files

  private func isSource(_ status: stat?) -> Bool {
    status.map { sources.contains(DirectoryIdentity($0)) } ?? false
  }

  /// Whether it is a regular file that is empty or begins like a JPEG, and is not a source.
  private func isPicture(_ path: SourcePath, _ status: stat) -> Bool {
    guard status.st_mode & S_IFMT == S_IFREG, !isSource(status) else { return false }
    return status.st_size == 0 || Self.bytes(of: path, atMost: 3) == [0xFF, 0xD8, 0xFF]
  }

  /// - Throws: ``PictureRefusal`` if a regular file is there that is not an earlier picture.
  private func checkReplaceable(_ path: SourcePath) throws(PictureRefusal) {
    guard let status = path.fileStatus, status.st_mode & S_IFMT == S_IFREG else { return }
    guard !isSource(status) else {
      throw PictureRefusal(
        "\(path.text) is one of the videos, which are never overwritten; choose another name")
    }
    guard isPicture(path, status) else {
      throw PictureRefusal(
        "\(path.text) already exists and is not a JPEG, so it is not overwritten; choose another name")
    }
  }

  private static func holds(_ path: SourcePath, _ bytes: [UInt8]) -> Bool {
    guard let status = path.ownStatus, status.st_mode & S_IFMT == S_IFREG,
      Int(status.st_size) == bytes.count
    else { return false }
    return self.bytes(of: path, atMost: bytes.count) == bytes
  }

  /// Returns the first bytes of a regular file; nil if it can't be read.
  private static func bytes(of path: SourcePath, atMost count: Int) -> [UInt8]? {
    try? path.opened(O_RDONLY | O_NONBLOCK | O_NOCTTY).readToEnd(limit: count)
  }

  // MARK: Writing

  /// Writes to a named file. A pipe or a device is written into, and a name that stands for one remains. If it is a
  /// symbolic link, its target is replaced.
  private static func write(_ bytes: [UInt8], to path: SourcePath) throws(SystemError) {
    let isRegular = path.fileKind.map { $0 == S_IFREG } ?? true
    let isLink = path.ownStatus.map { $0.st_mode & S_IFMT == S_IFLNK } ?? false
    if isRegular, !isLink { return try replace(path, bytes) }
    if isRegular, !path.mayBeDescriptor, let file = path.resolved { return try replace(file, bytes) }
    try fill(path, O_WRONLY | O_CREAT | O_NOCTTY | (isRegular ? O_TRUNC : 0), bytes)
  }

  /// Writes the file under a temporary name, and then moves it into place.
  private static func replace(_ path: SourcePath, _ bytes: [UInt8]) throws(SystemError) {
    let passing = passing(for: path)
    do throws(SystemError) {
      try fill(passing, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, bytes)
      try passing.rename(to: path)
    } catch {
      _ = passing.withCString { unlink($0) }
      throw error
    }
  }

  /// Writes the file under a temporary name, and then gives it a name that no file has.
  /// - Returns: false if there is a file of that name.
  private static func place(_ bytes: [UInt8], at path: SourcePath) throws(SystemError) -> Bool {
    guard path.ownStatus == nil else { return false }
    let passing = passing(for: path)
    defer { _ = passing.withCString { unlink($0) } }
    try fill(passing, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, bytes)
    do throws(SystemError) {
      try passing.takeName(path)
    } catch  where error.code == EEXIST {
      return false
    }
    return true
  }

  /// Returns an unused name beside `path`.
  private static func passing(for path: SourcePath) -> SourcePath {
    let folder = path.bytes.lastIndex(of: UInt8(ascii: "/")).map { Array(path.bytes[...$0]) } ?? []
    let number = UInt64.random(in: 0 ... .max)
    return SourcePath(bytes: folder + Array(".reel-\(String(number, radix: 36)).jpg".utf8))
  }

  private static func fill(_ path: SourcePath, _ flags: Int32, _ bytes: [UInt8]) throws(SystemError) {
    try path.opened(flags, mode: 0o666).write(all: bytes)
  }

  private static func failure(_ path: SourcePath, _ error: SystemError) -> PictureRefusal {
    PictureRefusal("\(path.text) can't be written: \(error.reason)")
  }
}

extension SystemError {
  /// Whether another name might be possible where this one was not.
  fileprivate var isAboutName: Bool { [ENAMETOOLONG, EINVAL, EILSEQ, EISDIR, ENOTDIR].contains(code) }
}
