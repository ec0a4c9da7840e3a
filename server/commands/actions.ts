import { parseArgs } from 'node:util'
import type { SuspensionRequest } from '../../protocol/api/admin/moderation.schema.ts'
import { formatAlternatives } from '../../protocol/format.ts'
import { duration } from '../config/setting-types.ts'
import { DAY_SECONDS } from '../lib/time.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

export type Action = Command['run']

type Data = Awaited<ReturnType<CommandContext['openData']>>

interface Arguments {
  /** The first operand. */
  value: string
  options: Options
  /** Required of an action that takes one. */
  reason: string
  statement: SuspensionRequest
  /** Of `--for`. */
  seconds?: number
}

/** For programs one object in JSON, for people lines. */
type Output = [json: object, text: string | readonly string[]]

/** An action that reads its arguments, then opens the data, does one thing, and prints the result. */
export function dataAction(
  command: string,
  { takes = [], operands = [] }: { takes?: readonly OptionName[]; operands?: readonly string[] },
  run: (data: Data, given: Arguments) => Promise<Output>,
): Action {
  return async (context, args) => {
    const { values, options } = readOptions(command, args, { takes: [...takes, 'json'], operands })
    const { 'public-reason': publicReason, note } = options
    const reason = options.reason?.trim() ?? ''
    if (takes.includes('reason') && !reason) throw new UsageError(`${command} needs --reason TEXT.`)
    const seconds = options.for === undefined ? {} : { seconds: readSeconds(command, options.for) }
    const statement = { reason, ...(publicReason && { publicReason }), ...(note && { note }) }
    await using data = await context.openData()
    const given = { value: values[0] ?? '', options, reason, statement, ...seconds }
    const [json, text] = await run(data, given)
    for (const line of options.json ? [JSON.stringify(json)] : [text].flat()) context.print(line)
    return 0
  }
}

/** Runs the action of a command that the first argument names. UsageError without one, and for an unknown name. */
export function runAction(command: string, actions: Record<string, Action>): Action {
  return async (context, [verb, ...args]) => {
    const names = Object.keys(actions)
    if (verb === undefined) throw new UsageError(`${command} needs a command: ${formatAlternatives(names)}.`)
    if (!Object.hasOwn(actions, verb)) {
      const usable = formatAlternatives(names.map((name) => `${command} ${name}`))
      throw new UsageError(`Unknown command: ${command} ${verb}. Use ${usable}.`)
    }
    return actions[verb]!(context, args)
  }
}

const FLAGS = [
  ...(['force', 'json', 'without-secret', 'with-sessions'] as const),
  ...(['other-service', 'repair', 'remove', 'revoke', 'discard-lost-keys'] as const),
]
const TEXTS = [
  ...(['reason', 'public-reason', 'note', 'for', 'level', 'link', 'from', 'until'] as const),
  ...(['search', 'sort', 'limit', 'keep', 'parts', 'mail', 'nodes', 'out'] as const),
  ...(['to-data', 'to-database', 'to-blobs'] as const),
]

type Options = { [Name in (typeof FLAGS)[number]]?: boolean } & { [Name in (typeof TEXTS)[number]]?: string }

type OptionName = keyof Options

/** Arguments, any without `operands`, and options. UsageError for options that it does not take, and too many arguments. */
export function readOptions(
  command: string,
  args: readonly string[],
  { takes, operands }: { takes: readonly OptionName[]; operands?: readonly string[] },
): { values: string[]; options: Options } {
  const { values: options, positionals: values } = parse(command, args)
  const unknown = Object.keys(options).find((name) => !takes.includes(name as OptionName))
  if (unknown !== undefined) throw new UsageError(`${command} does not take --${unknown}.`)
  if (operands && values.length !== operands.length)
    throw new UsageError(
      operands.length > 0
        ? `${command} needs ${operands.join(' and ')}.`
        : `${command} takes options only: ${values.join(' ')}`,
    )
  return { values, options }
}

const LIFETIME = duration(60, [60, 365 * DAY_SECONDS], 'When a block ends.')

function readSeconds(command: string, given: string): number {
  try {
    return LIFETIME.read(given)
  } catch (error) {
    throw new UsageError(`${command}: --for=${given} is not allowed: ${(error as Error).message}.`)
  }
}

function parse(command: string, args: readonly string[]): { values: Options; positionals: string[] } {
  const types = { boolean: FLAGS, string: TEXTS }
  const options = Object.fromEntries(
    (['boolean', 'string'] as const).flatMap((type) => types[type].map((name) => [name, { type }])),
  )
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(`${command}: ${(error as Error).message.split('. ')[0]}.`)
  }
}
