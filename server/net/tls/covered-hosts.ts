import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'

/** Answers whether a certificate is for a host name in lower case. */
export type Covers = (name: string) => boolean

const coverage = new WeakMap<Duplex, Covers>()

/** Records which hosts the certificate of a connection is for. */
export function setCoverage(socket: Duplex, covers: Covers): void {
  coverage.set(socket, covers)
}

/**
 * Whether requests for a host may come over this connection (RFC 9110, 7.4): its certificate has to be for the host. True for
 * connections without a certificate of ours, and for addresses and single labels, by which machines of one network reach the
 * service.
 */
export function isCovered(socket: Duplex, header: string): boolean {
  const covers = coverage.get(socket)
  if (!covers) return true
  const name = header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
  return !name.includes('.') || name.startsWith('[') || isIP(name) !== 0 || covers(name)
}
