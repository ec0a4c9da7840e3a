import { createHash, hash as hashOnce } from 'node:crypto'

/** Bytes of a piece of content, but the last. Content up to this size has no pieces: its own hash verifies it. */
export const PIECE_BYTES = 2 ** 20

export const HASH_BYTES = 32

/** Bytes of the table that follows content of this size: the SHA-256 of each piece. Its SHA-256 is `piecesHash`. */
export function tableBytes(size: number): number {
  return size <= PIECE_BYTES ? 0 : Math.ceil(size / PIECE_BYTES) * HASH_BYTES
}

/** Bytes of the content of an object with its table: the reverse of `tableBytes`. */
export function contentBytes(objectBytes: number): number {
  if (objectBytes <= PIECE_BYTES) return objectBytes
  return objectBytes - Math.ceil(objectBytes / (PIECE_BYTES + HASH_BYTES)) * HASH_BYTES
}

export function buildTable(content: Buffer): Buffer {
  const hasher = new PieceHasher()
  hasher.update(content)
  return hasher.table()
}

export function hashTable(table: Buffer): string | null {
  return table.length === 0 ? null : hashOnce('sha256', table)
}

export class PieceHasher {
  readonly #hashes: Buffer[] = []
  #piece = createHash('sha256')
  #pieceBytes = 0

  update(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + PIECE_BYTES - this.#pieceBytes)
      this.#piece.update(part)
      this.#pieceBytes += part.length
      at += part.length
      if (this.#pieceBytes === PIECE_BYTES) this.#endPiece()
    }
  }

  /** The table of all content; empty for content of up to one piece. */
  table(): Buffer {
    if (this.#pieceBytes > 0) this.#endPiece()
    return this.#hashes.length > 1 ? Buffer.concat(this.#hashes) : Buffer.alloc(0)
  }

  #endPiece(): void {
    this.#hashes.push(this.#piece.digest())
    this.#piece = createHash('sha256')
    this.#pieceBytes = 0
  }
}
