import type { PublishWarning } from '../client/wire.ts'

/** One path of `_headers` with its lines, checked: serving it can no longer fail. */
export interface HeaderRule {
  /** Of the file, from 1. */
  line: number
  /** A path that begins with a slash; `*` matches anything, `:name` one segment. */
  path: string
  /** The host that a rule with a full address is for, lower case, without port; it may have `*` and `:name` too. */
  host?: string
  /** In the order of the file; a name may come several times. */
  set: [name: string, value: string][]
  /** Names to take away, lower case. */
  remove: string[]
}

export interface ParsedHeaders {
  rules: HeaderRule[]
  warnings: PublishWarning[]
}
