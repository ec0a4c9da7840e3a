import { randomBytes } from 'node:crypto'

const NAME = /^[0-9a-f]{4}-([0-9a-z]{8,9})-/

/**
 * A name for a new object: four random digits, by which engines spread objects over folders or partitions, the time of
 * its creation, and 48 random bits. An engine may choose the first digits.
 */
export function createObjectName(now: number, prefix = ''): string {
  const random = randomBytes(8).toString('hex')
  return `${prefix}${random.slice(prefix.length, 4)}-${now.toString(36).padStart(8, '0')}-${random.slice(4)}`
}

/** Milliseconds since 1970; 0 for objects of earlier versions of the service, whose names are hashes. */
export function objectCreatedAt(name: string): number {
  const [, time] = NAME.exec(name) ?? []
  return time === undefined ? 0 : Number.parseInt(time, 36)
}
