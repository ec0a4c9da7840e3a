import type { Readable } from 'node:stream'

export interface ScannedFile {
  path: string
  hash: string
  size: number
  contentType: string
  open(): Promise<Readable>
}

export interface Refusal {
  /** Undefined when the scanner does not name the file. */
  path: string | undefined
  reason: string
}

export interface Scanner {
  /** Identifies the scanner in stored verdicts. */
  readonly name: string
  /** Identifies all that the verdict depends on; 64 hexadecimal characters. */
  identify(file: Omit<ScannedFile, 'open'>): string
  /** The refusal of the first file that it refuses. Rejects when it fails, and when `signal` is aborted. */
  scan(files: readonly ScannedFile[], signal: AbortSignal): Promise<Refusal | undefined>
}
