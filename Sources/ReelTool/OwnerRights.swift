import Glibc

/// What is made may be kept from others by the umask, never from its owner.
enum OwnerRights {
  /// Under `umask 777` nobody could open the folders and files that are made, this process's next run neither.
  static func keep() {
    let mask = umask(0o077)
    umask(mask & ~0o700)
  }
}
