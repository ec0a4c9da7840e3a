import type { RetryPolicy } from '../sdk/retry.ts'
import type { Slipway } from '../sdk/slipway.ts'
import type { Transport } from '../sdk/transport.ts'
import type { Settings } from './settings.ts'
import type { CredentialStore } from './state/credentials.ts'
import type { SiteMemory } from './state/site-memory.ts'
import type { Launch } from './terminal/browser.ts'
import type { Streams, Terminal } from './terminal/terminal.ts'

export interface CommandOption {
  type: 'string' | 'boolean'
  short?: string
  /** The placeholder of the value in the help. */
  value?: string
  /** One sentence, without a full stop. */
  help: string
  /** Of an option that takes no value, although one is expected: how that is set. */
  instead?: string
  /** Whether it can be repeated. */
  multiple?: true
}

export type OptionValues = Record<string, string | string[] | boolean | undefined>

/** What a command works with beside its arguments. */
export interface CommandContext {
  cwd: string
  env: Record<string, string | undefined>
  platform: string
  version: string
  settings: Settings
  terminal: Terminal
  /** Those of `terminal`, for a command that speaks a protocol on them. */
  streams: Streams
  credentials: CredentialStore
  siteMemory: SiteMemory
  retryPolicy: RetryPolicy
  signal: AbortSignal
  launch: Launch
  /** Sends a request without a client. */
  send: Transport
  /** A client of a server. The key must belong to that server. */
  connect(server: string, key: string | undefined): Slipway
}

export type Run = (work: CommandContext, options: OptionValues, operands: string[]) => Promise<void>

/** One of the actions of a command, such as `domains add`. */
export interface Action {
  /** Operands after its name, such as `<domain>`. Others are refused. */
  operands: string
  run: Run
}

interface CommandBase {
  name: string
  /** Operands after the name, such as `[folder]`. Others are refused. */
  operands: string
  /** The words that the first operand can be, for completion. */
  choices?: readonly string[]
  /** Whether the first operand is a file or folder that exists. */
  readsFolder?: true
  /** One line for the list of commands. */
  summary: string
  /** A few sentences for the command's own help. */
  about: string
  options: Record<string, CommandOption>
}

export interface SimpleCommand extends CommandBase {
  actions?: undefined
  run: Run
}

/** Its first operand is the name of an action, by default `list`. */
export interface CommandOfActions extends CommandBase {
  actions: Record<string, Action>
  /** Operands of the action `add`: one in place of the name of an action suggests it. */
  addable?: RegExp
}

export type Command = SimpleCommand | CommandOfActions

export const SERVER_OPTION: CommandOption = {
  type: 'string',
  value: 'URL',
  help: 'Server to use (default: SLIPWAY_URL, then that of the folder, npx or the last sign-in)',
}

/** Of a command that gives a program access to an account: the state of a folder never chooses its server. */
export const SIGN_IN_SERVER_OPTION: CommandOption = {
  ...SERVER_OPTION,
  help: 'Server to use (default: SLIPWAY_URL, then that of npx or the last sign-in)',
}

export const SITE_OPTION: CommandOption = {
  type: 'string',
  value: 'SLUG',
  help: 'Site to use (default: SLIPWAY_SITE, then the one published from this folder)',
}

export const SECRETS_OPTION: CommandOption = {
  type: 'boolean',
  help: 'Include private keys and other known secrets; hidden ones need a line in .slipwayignore as well',
}

export const JSON_OPTION: CommandOption = { type: 'boolean', help: 'Print JSON on stdout, errors included' }

/** The options of a command about the account. */
export const ACCOUNT_OPTIONS = { json: JSON_OPTION, server: SERVER_OPTION }

/** The options of a command about a site. */
export const SITE_OPTIONS = { site: SITE_OPTION, ...ACCOUNT_OPTIONS }

export const YES_OPTION: CommandOption = {
  type: 'boolean',
  short: 'y',
  help: 'Skip the confirmation',
}

/** Prints a result: with `--json` as one JSON object, to which fields can be added later. */
export function printResult<Result extends object>(
  { terminal }: Pick<CommandContext, 'terminal'>,
  options: OptionValues,
  json: Result extends readonly unknown[] ? never : Result,
  text: () => void,
): void {
  if (options.json === true) terminal.printJson(json)
  else text()
}

/** Whether its value cannot be empty: an empty text removes the present one. */
export function mustHaveValue(option: CommandOption | undefined): boolean {
  return option?.value !== 'TEXT'
}

/** The value of a string option. */
export function stringOption(options: OptionValues, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}
