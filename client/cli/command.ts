import type { Patience } from '../sdk/retry.ts'
import type { Slipway } from '../sdk/slipway.ts'
import type { Keyring } from './memory/keyring.ts'
import type { SiteMemory } from './memory/site-memory.ts'
import type { Settings } from './settings.ts'
import type { Launch } from './terminal/browser.ts'
import type { Terminal } from './terminal/terminal.ts'

export interface Option {
  type: 'string' | 'boolean'
  short?: string
  /** What stands for the value in the help. */
  value?: string
  /** One sentence, without a full stop. */
  help: string
}

export type Values = Record<string, string | boolean | undefined>

/** What a command works with, beside its own words. */
export interface Workplace {
  cwd: string
  env: Record<string, string | undefined>
  platform: string
  version: string
  settings: Settings
  terminal: Terminal
  keyring: Keyring
  sites: SiteMemory
  patience: Patience
  signal: AbortSignal
  launch: Launch
  /** A client of a server. The key must be that server's own. */
  connect(server: string, key: string | undefined): Slipway
}

export interface Command {
  name: string
  /** What comes after the name, such as `[folder]`. */
  operands: string
  /** How many operands there may be. */
  most: number
  /** One line for the list of commands. */
  summary: string
  /** A few sentences for the command's own help. */
  about: string
  options: Record<string, Option>
  run(work: Workplace, options: Values, operands: string[]): Promise<void>
}

export const SERVER_OPTION: Option = {
  type: 'string',
  value: 'URL',
  help: 'The server; else SLIPWAY_URL, the one remembered, or http://localhost:8080',
}

export const SITE_OPTION: Option = {
  type: 'string',
  value: 'SLUG',
  help: 'The site; else the one that was published from here',
}

export const JSON_OPTION: Option = { type: 'boolean', help: 'Print JSON' }

/** The text of a string option. */
export function text(options: Values, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}
