import { isIPv4 } from 'node:net'

/** The header of the PROXY protocol, version 1, for a client with port 4711. */
export function version1(client: string): Buffer {
  const [family, server] = isIPv4(client) ? ['TCP4', '192.0.2.1'] : ['TCP6', '2001:db8::1']
  return Buffer.from(`PROXY ${family} ${client} ${server} 4711 443\r\n`)
}

interface Version2Options {
  /** Version and command; PROXY by default. */
  command?: number
  /** Family and transport; that of the client by default. */
  family?: number
  /** Size of addresses and ports. */
  addressBytes?: number
  extensionBytes?: number
}

/** The same in version 2. */
export function version2(client: string, options: Version2Options = {}): Buffer {
  const isShort = isIPv4(client)
  const { command = 0x21, family = isShort ? 0x11 : 0x21, extensionBytes = 0 } = options
  const { addressBytes = isShort ? 12 : 36 } = options
  const address = isShort
    ? Buffer.from(client.split('.').map(Number))
    : Buffer.from(
        expandIPv6(client)
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      )
  const ports = Buffer.alloc(4)
  ports.writeUInt16BE(4711, 0)
  ports.writeUInt16BE(443, 2)
  const addresses = Buffer.concat([address, Buffer.alloc(address.length), ports]).subarray(0, addressBytes)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(addresses.length + extensionBytes)
  return Buffer.concat([
    Buffer.from('\r\n\r\n\0\r\nQUIT\n'),
    Buffer.of(command, family),
    length,
    addresses,
    // Extensions of the type NOOP.
    Buffer.alloc(extensionBytes, 4),
  ])
}

function expandIPv6(address: string): string[] {
  const [head = '', tail = ''] = address.split('::')
  const start = head.split(':')
  const end = tail.split(':')
  return [...start, ...Array<string>(8 - start.length - end.length).fill('0'), ...end]
}
