import { createHash } from 'node:crypto'

export function text(characters: string): Buffer {
  return Buffer.from(characters, 'utf8')
}

/** Bytes that do not compress, the same in every run. */
export function noise(length: number): Buffer {
  return createHash('shake256', { outputLength: length }).update('slipway').digest()
}
