import type { Duplex } from 'node:stream'

/** Whether bytes of a connection arrived over TLS that this process terminates. */
export function isTls(socket: Duplex): boolean {
  return (socket as Duplex & { encrypted?: boolean }).encrypted === true
}
