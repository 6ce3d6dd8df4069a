/// A digest that only who has the key can make (RFC 2104).
package enum HMAC<Hash: HashFunction> {
  package static func authenticationCode(for bytes: some Sequence<UInt8>, using key: [UInt8]) -> [UInt8] {
    var block = key.count > Hash.blockSize ? Hash.hash(data: key) : key
    block += [UInt8](repeating: 0, count: Hash.blockSize - block.count)
    var inner = Hash()
    inner.update(data: block.map { $0 ^ 0x36 })
    inner.update(data: bytes)
    var outer = Hash()
    outer.update(data: block.map { $0 ^ 0x5C })
    outer.update(data: inner.finalize())
    return outer.finalize()
  }
}
