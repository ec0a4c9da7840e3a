import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findNearest } from '../../protocol/nearest.ts'
import { UsageError } from './cli-error.ts'
import {
  type Command,
  type CommandOfActions,
  type CommandOption,
  JSON_OPTION,
  mustHaveValue,
  type OptionValues,
  type Run,
  SITE_OPTION,
} from './command.ts'

/** All commands in the order of the help. Each is loaded on demand. */
export const COMMANDS: Record<string, () => Promise<Command>> = {
  publish: async () => (await import('./publish.ts')).publish,
  settings: async () => (await import('./site-settings.ts')).settings,
  open: async () => (await import('./open.ts')).open,
  sites: async () => (await import('./sites.ts')).sites,
  link: async () => (await import('./link.ts')).link,
  versions: async () => (await import('./versions.ts')).versions,
  restore: async () => (await import('./restore.ts')).restore,
  previews: async () => (await import('./previews.ts')).previews,
  feedback: async () => (await import('./feedback.ts')).feedback,
  promote: async () => (await import('./promote.ts')).promote,
  rollback: async () => (await import('./rollback.ts')).rollback,
  diff: async () => (await import('./diff.ts')).diff,
  pull: async () => (await import('./pull.ts')).pull,
  visits: async () => (await import('./visits.ts')).visits,
  domains: async () => (await import('./domains.ts')).domains,
  people: async () => (await import('./people.ts')).people,
  claim: async () => (await import('./claim.ts')).claim,
  delete: async () => (await import('./delete.ts')).remove,
  trash: async () => (await import('./trash.ts')).trash,
  undelete: async () => (await import('./undelete.ts')).undelete,
  keys: async () => (await import('./keys.ts')).keys,
  login: async () => (await import('./login.ts')).login,
  logout: async () => (await import('./logout.ts')).logout,
  whoami: async () => (await import('./whoami.ts')).whoami,
  trust: async () => (await import('./trust.ts')).trust,
  mcp: async () => (await import('./mcp.ts')).mcp,
  completion: async () =>
    (await import('./completion.ts')).completion({ commands: COMMANDS, aliases: ALIASES }),
  help: async () =>
    (await import('./help.ts')).help({ commands: COMMANDS, aliases: ALIASES, find: findCommand }),
}

/** Other names of commands, as other programs of this kind call them. */
export const ALIASES: Record<string, string> = {
  deploy: 'publish',
  list: 'sites',
  ls: 'sites',
  rm: 'delete',
  download: 'pull',
  init: 'link',
}

const HELP: CommandOption = { type: 'boolean', short: 'h', help: 'Show help for this command' }

export interface ParsedArgs {
  options: OptionValues
  operands: string[]
  /** That of the command, or of its action. */
  run: Run
}

/** The command of this name. Throws a UsageError with a suggestion. */
export async function findCommand(name: string, program: string): Promise<Command> {
  const canonical = Object.hasOwn(ALIASES, name) ? ALIASES[name]! : name
  const load = Object.hasOwn(COMMANDS, canonical) ? COMMANDS[canonical] : undefined
  if (load) return load()
  if (name === 'logs') {
    const hint = `To see requests, referrers and missing pages: ${program} visits`
    throw new UsageError('Static sites have no logs', hint)
  }
  const near = findNearest(name, [...Object.keys(COMMANDS), ...Object.keys(ALIASES)])
  const { settings } = await import('./site-settings.ts')
  const meant = near ?? (Object.hasOwn(settings.options, name) ? `settings --${name}` : undefined)
  throw new UsageError(
    `Unknown command "${name}"`,
    meant ? `Did you mean: ${program} ${meant}` : `See: ${program} help`,
  )
}

export function isCommand(name: string): boolean {
  return Object.hasOwn(COMMANDS, name) || Object.hasOwn(ALIASES, name)
}

/** Names of options, as other programs of this kind call them. */
const OTHER_OPTIONS: Record<string, string> = { expires: 'ttl', expiry: 'ttl', 'expires-in': 'ttl' }

/** Parses the arguments of a command. Throws a UsageError for unknown and surplus ones. */
export function parseCommandLine(
  command: Command,
  args: string[],
  { program, cwd }: { program: string; cwd: string },
): ParsedArgs {
  const see = `See: ${program} help ${command.name}`
  const options: Command['options'] = { json: JSON_OPTION, ...command.options, help: HELP }
  const { tokens, ...parsed } = parseOptions(options, args, see)
  const values = parsed.values as OptionValues
  const positionals = values.help === true ? [] : parsed.positionals
  // An unset variable of a script must not mean this folder or its site.
  if (positionals.includes(''))
    throw new UsageError(`An argument is empty. ${describeOperands(command)}`, see)
  const empty = tokens.find(
    (token) => token.kind === 'option' && token.value === '' && mustHaveValue(options[token.name]),
  )
  if (empty?.kind === 'option') throw new UsageError(needsValue(empty.name, options), see)
  /** An option that takes no value, directly before this operand. */
  const findOptionBefore = (operand: number) => {
    const at = tokens.filter(({ kind }) => kind === 'positional')[operand]!.index
    const before = tokens.find(({ index }) => index === at - 1)
    return before?.kind === 'option' && before.value === undefined
      ? { typed: args[at - 1]!, instead: options[before.name]?.instead }
      : undefined
  }
  const [first] = positionals
  if (command.readsFolder && first !== undefined && !existsSync(resolve(cwd, first))) {
    const option = findOptionBefore(0)
    if (option) {
      const hint = option.instead ?? `There is no file or folder ${first} to ${command.name}`
      throw new UsageError(`${option.typed} takes no value`, hint, see)
    }
  }
  const isAction = command.actions !== undefined
  const { run, ...taking } = command.actions ? findAction(command, positionals[0], program, see) : command
  const operands = isAction ? positionals.slice(1) : positionals
  const max = listOperands(taking).length
  const more = operands[max]
  if (more !== undefined) {
    const { typed, instead } = findOptionBefore(positionals.length - operands.length + max) ?? {}
    if (instead !== undefined) throw new UsageError(`${typed} takes no value`, instead, see)
    const hints =
      max === 0 && command.options.site?.value === SITE_OPTION.value
        ? [`Did you mean: --site ${more}`, see]
        : [see]
    throw new UsageError(`Unexpected argument "${more}". ${describeOperands(taking)}`, ...hints)
  }
  return { options: values, operands, run }
}

/** The action of this name, with its full name. Throws a UsageError with a suggestion. */
function findAction(
  { name, actions, addable }: CommandOfActions,
  typed = 'list',
  program: string,
  see: string,
): { name: string; operands: string; run: Run } {
  const action = Object.hasOwn(actions, typed) ? actions[typed] : undefined
  if (action) return { ...action, name: `${name} ${typed}` }
  const near = addable?.test(typed) ? `add ${typed}` : findNearest(typed, Object.keys(actions))
  const hints = near === undefined ? [] : [`Did you mean: ${program} ${name} ${near}`]
  throw new UsageError(`Unknown action "${typed}"`, ...hints, see)
}

function listOperands({ operands }: Pick<Command, 'operands'>): string[] {
  return operands.match(/[^[\]<> ]+/g) ?? []
}

function describeOperands(command: Pick<Command, 'name' | 'operands'>): string {
  const nouns = listOperands(command).map((noun) => `one ${noun}`)
  return `${command.name} takes ${nouns.join(' and ') || 'no arguments'}.`
}

function parseOptions(options: Record<string, CommandOption>, args: string[], see: string) {
  try {
    return parseArgs({ args, options: options as never, allowPositionals: true, strict: true, tokens: true })
  } catch (error) {
    const { message } = error as Error
    const hint = suggestOption(message, options)
    throw new UsageError(formatParseError(message, options), ...(hint === undefined ? [] : [hint]), see)
  }
}

/** What an unknown option, or one with a value that takes none, may have meant. */
function suggestOption(message: string, options: Record<string, CommandOption>): string | undefined {
  const [, valueless = ''] = /^Option '(?:-\w, )?--([\w-]+)' does not take an argument/.exec(message) ?? []
  if (valueless !== '') return options[valueless]?.instead
  const [, unknown = ''] = /^Unknown option '--([^']+)'/.exec(message) ?? []
  const other = Object.hasOwn(OTHER_OPTIONS, unknown) ? OTHER_OPTIONS[unknown]! : unknown
  const meant = Object.hasOwn(options, other) ? other : findNearest(unknown, Object.keys(options))
  return meant === undefined ? undefined : `Did you mean: --${meant}`
}

/** Translates an error of Node's parser. With "=" a value may begin with a dash. */
function formatParseError(message: string, options: Record<string, CommandOption>): string {
  const [, name = ''] = /^Option '.*?--([\w-]+)\b.*' argument (?:missing|is ambiguous)/.exec(message) ?? []
  return options[name]?.value ? needsValue(name, options) : message.split('. ')[0]!
}

function needsValue(name: string, options: Record<string, CommandOption>): string {
  return `--${name} needs a value: --${name}=${options[name]!.value}`
}
