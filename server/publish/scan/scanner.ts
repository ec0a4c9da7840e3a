import type { Readable } from 'node:stream'

/** A file of a version that is to be scanned. */
export interface ScannedFile {
  path: string
  hash: string
  size: number
  contentType: string
  open(): Promise<Readable>
}

/** Why a version is refused. */
export interface Refusal {
  /** Of the refused file; undefined when the scanner does not say which. */
  path: string | undefined
  reason: string
}

/** Examines contents. */
export interface Scanner {
  /** Identifies it in stored verdicts. */
  readonly name: string
  /** Identifies all of a file that the verdict depends on; 64 hexadecimal characters. */
  identify(file: Omit<ScannedFile, 'open'>): string
  /** The refusal of the first file that it refuses. Rejects when it fails, and when `signal` is aborted. */
  scan(files: readonly ScannedFile[], signal: AbortSignal): Promise<Refusal | undefined>
}
