import CReel
import Glibc
import ReelCore
import Synchronization

extension FileDisposal {
  /// A folder that files go to.
  struct Folder {
    let directory: DirectoryHandle

    init(_ directory: DirectoryHandle) { self.directory = directory }

    /// - Throws: `notFound` and the like when it is not there.
    init(_ path: SourcePath) throws(SourceError) {
      directory = try PathLookup.find(path.bytes, from: nil, links: .follow).openDirectory()
    }

    /// Gives `name` of `from` the name `other` here.
    /// - Throws: EEXIST where that is taken.
    func take(_ name: [UInt8], from: DirectoryHandle, as other: [UInt8]) throws(SystemError) {
      guard let old = try? PathBytes(name), let new = try? PathBytes(other) else {
        throw SystemError(code: EINVAL, call: "rename")
      }
      let (source, target) = (from.descriptor.rawValue, directory.descriptor.rawValue)
      do throws(SystemError) {
        _ = try retryingInterrupts("renameat2") {
          reel_rename_without_replacing(source, old.characters, target, new.characters)
        }
      } catch {
        // Not every file system knows it: there a second name takes its place.
        guard error.code == EINVAL || error.code == ENOSYS else { throw error }
        _ = try retryingInterrupts("linkat") {
          linkat(source, old.characters, target, new.characters, 0)
        }
        _ = try retryingInterrupts("unlinkat") { unlinkat(source, old.characters, 0) }
      }
    }

    /// Calls `body` with `name`, and with that and a number as long as the name is taken.
    func firstFree(
      _ name: [UInt8], _ body: ([UInt8]) throws(SystemError) -> Void
    ) throws(SystemError) -> [UInt8] {
      let dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 ? $0 : nil } ?? name.count
      for number in 0..<100_000 {
        let other = number == 0 ? name : Array(name[..<dot] + "-\(number)".utf8 + name[dot...])
        do throws(SystemError) {
          try body(other)
          return other
        } catch {
          guard error.code == EEXIST else { throw error }
        }
      }
      throw SystemError(code: EEXIST, call: "rename")
    }

    /// Writes a text, in place of one that is there.
    func write(_ text: String, named name: [UInt8]) throws(SourceError) {
      let path = try PathBytes(name)
      do throws(SystemError) {
        let file = Descriptor(
          adopting: try retryingInterrupts("openat") {
            openat(
              directory.descriptor.rawValue, path.characters,
              O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o644)
          })
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
          let count = try retryingInterrupts("write") {
            rest.withUnsafeBytes { Glibc.write(file.rawValue, $0.baseAddress, $0.count) }
          }
          rest = rest.dropFirst(count)
        }
      } catch {
        throw FileDisposal.failure(error, "explained")
      }
    }
  }

  /// A copy that is not done, under a hidden name that the next attempt at the same file takes over.
  final class Draft: StagingArea {
    let name: [UInt8]
    private let directory: DirectoryHandle
    private let path: PathBytes
    private let file: DraftFile
    /// Whether it has become the copy.
    var isNamed: Bool {
      get { file.isNamed.withLock { $0 } }
      set { file.isNamed.withLock { $0 = newValue } }
    }

    init(of name: [UInt8], in directory: DirectoryHandle) throws(SourceError) {
      self.name = Array(".reel-moving-".utf8) + name
      self.directory = directory
      path = try PathBytes(self.name)
      let (folder, characters) = (directory.descriptor.rawValue, path.characters)
      do throws(SystemError) {
        unlinkat(folder, characters, 0)
        let opened = try retryingInterrupts("openat") {
          openat(folder, characters, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        }
        file = DraftFile(Descriptor(adopting: opened))
      } catch {
        throw FileDisposal.failure(error, "moved")
      }
    }

    deinit {
      if !isNamed { unlinkat(directory.descriptor.rawValue, path.characters, 0) }
    }

    func makeFile() throws(UploadError) -> any StagedFile { file }

    /// Gives it the times and the mode of the original, and waits until it is on its disk.
    func finish(
      like status: FileStatus, in folder: DirectoryHandle, _ original: [UInt8]
    ) throws(SourceError) {
      var facts = stat()
      let source = try PathBytes(original)
      let number = file.descriptor
      do throws(SystemError) {
        _ = try retryingInterrupts("fstatat") {
          fstatat(folder.descriptor.rawValue, source.characters, &facts, AT_SYMLINK_NOFOLLOW)
        }
        fchmod(number, facts.st_mode & 0o777)
        futimens(number, [facts.st_atim, facts.st_mtim])
        _ = try retryingInterrupts("fsync") { fsync(number) }
      } catch {
        throw FileDisposal.failure(error, "moved")
      }
    }
  }
}

extension FileIdentity {
  /// Whether it is this file with these bytes, as far as that is seen: a new name changes the time of the last change.
  func isSameFile(as other: FileIdentity) -> Bool {
    device == other.device && inode == other.inode && size == other.size && modifiedAt == other.modifiedAt
  }
}

private final class DraftFile: StagedFile {
  private let file: Descriptor
  let isNamed = Mutex(false)

  init(_ file: Descriptor) { self.file = file }

  var descriptor: Int32 { file.rawValue }
  var mayBecomeObject: Bool { false }

  func seal() {}

  func failure(_ code: Int32, _ task: String) -> UploadError {
    UploadError(.storeFull, "could not \(task) (\(SystemError(code: code, call: "").reason))")
  }
}
