import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { hostName } from '../host-name.ts'

export type Covers = (name: string) => boolean

const coverage = new WeakMap<Duplex, Covers>()

export function setCoverage(socket: Duplex, covers: Covers): void {
  coverage.set(socket, covers)
}

/**
 * Whether this connection may carry requests for a host (RFC 9110, 7.4): its certificate must cover the host. True
 * for connections without a certificate of the service, and for IP addresses and single labels, the service's names
 * in a local network.
 */
export function isCovered(socket: Duplex, header: string): boolean {
  const covers = coverage.get(socket)
  if (!covers) return true
  const name = hostName(header)
  return !name.includes('.') || name.startsWith('[') || isIP(name) !== 0 || covers(name)
}
