import { duration } from '../config/setting-types.ts'
import { DAY_SECONDS } from '../lib/time.ts'
import { COMMAND_LINE } from '../store/tables/administration.ts'
import type { BlockKind } from '../store/tables/moderation.ts'
import { type Action, dataAction, readOptions, requireReason, runAction } from './actions.ts'
import { type Command, UsageError } from './command.ts'

const OPERAND: Record<BlockKind, string> = { network: 'a network', hash: 'a SHA-256' }

export const block: Command = {
  usage: [
    [
      'block network add NETWORK --reason TEXT',
      'refuse publishing and the API to a network, such as 192.0.2.0/24; also --for TIME, --force',
    ],
    [
      'block hash add SHA256 --reason TEXT',
      'stop serving and accepting a file, wherever it is published; also --for TIME',
    ],
    ['block network|hash remove VALUE', 'end a block'],
    ['block network|hash list', 'list the blocks'],
  ],
  run: runAction('block', {
    network: runAction('block network', actions('network')),
    hash: runAction('block hash', actions('hash')),
  }),
}

const LIFETIME = duration(60, [60, 365 * DAY_SECONDS], 'When a block ends.')

function actions(kind: BlockKind): Record<string, Action> {
  const operands = [OPERAND[kind]]
  return {
    add: (context, args) => add(kind, context, args),
    remove: dataAction(`block ${kind} remove`, { operands }, async (data, { value }) => {
      await data.blocks.remove(COMMAND_LINE, kind, value)
      return [{ kind, value }, `${value} is not blocked.`]
    }),
    list: dataAction(`block ${kind} list`, {}, async (data) => {
      const blocks = await data.blocks.list(kind)
      const lines = blocks.map(
        ({ value, expiresAt, reason }) => `${value}  ${expiresAt ?? 'no end'}  ${reason}`,
      )
      return [{ blocks }, lines]
    }),
  }
}

async function add(kind: BlockKind, ...[context, args]: Parameters<Action>): Promise<number> {
  const command = `block ${kind} add`
  const takes = ['reason', 'for', 'json', ...(kind === 'network' ? (['force'] as const) : [])] as const
  const { values, options } = readOptions(command, args, { takes, operands: [OPERAND[kind]] })
  const reason = requireReason(command, options)
  const seconds = readSeconds(command, options.for)
  await using data = await context.openData()
  const request = { kind, value: values[0]!, reason, seconds, force: options.force }
  const added = await data.blocks.add(COMMAND_LINE, request)
  context.print(options.json ? JSON.stringify(added) : `${added.value} is blocked.`)
  return 0
}

function readSeconds(command: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  try {
    return LIFETIME.read(given)
  } catch (error) {
    throw new UsageError(`${command}: --for=${given} is not allowed: ${(error as Error).message}.`)
  }
}
