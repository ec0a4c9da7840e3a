import type { Duplex } from 'node:stream'

/** Whether what a client says on a connection came over TLS that ends here. */
export function isEncrypted(socket: Duplex): boolean {
  return (socket as Duplex & { encrypted?: boolean }).encrypted === true
}
